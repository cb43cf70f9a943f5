import islpy as isl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysched.ir.core.conditions import conditions_of, context_text
from polysched.ir.expr.evaluate import evaluate


def test_each_constraint_is_a_condition() -> None:
    context = isl.Set("[N, M] -> { : N >= 1 and M <= N + 4 and N mod 4 = 0 }")
    texts = {condition.text for condition in conditions_of(context)}
    assert texts == {"N >= 1", "N + 4 >= M", "4 * (N // 4) == N"}


def test_no_constraints_no_conditions() -> None:
    assert conditions_of(isl.Set("[N] -> { : }")) == ()
    assert conditions_of(isl.Set("{ : }")) == ()


@pytest.mark.parametrize(
    "text",
    [
        "[N, M] -> { : N >= 1 and M <= N + 4 and N mod 4 = 0 }",
        "[N, M] -> { : N >= 5 or N + M <= -2 }",
        "[N, M] -> { : 2N = M + 1 }",
        "[N, M] -> { : (exists a : N = 3a + 1) or M = 7 }",
        "[N, M] -> { : }",
    ],
)
@given(n=st.integers(-12, 12), m=st.integers(-12, 12))
def test_conditions_hold_exactly_in_the_context(text: str, n: int, m: int) -> None:
    context = isl.Set(text)
    point = isl.Set(f"[N, M] -> {{ : N = {n} and M = {m} }}")
    values = {"N": n, "M": m}
    held = all(evaluate(c.expression, values) for c in conditions_of(context))
    assert held == (not context.intersect(point).is_empty())


def test_text_without_isl() -> None:
    assert context_text(isl.Set("[n, m] -> { : n >= 1 and m <= 4 }")) == "n >= 1 and m <= 4"
    assert context_text(isl.Set("[n, m] -> { : n >= 5 or (n = 0 and m = 0) }")) in (
        "n == 0 and m == 0 or n >= 5",
        "m == 0 and n == 0 or n >= 5",
        "n >= 5 or n == 0 and m == 0",
        "n >= 5 or m == 0 and n == 0",
    )
    assert context_text(isl.Set("[n] -> { : }")) == ""
    assert context_text(isl.Set("[n] -> { : 1 = 0 }")) == "False"
