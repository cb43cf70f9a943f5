import islpy as isl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.evaluate import evaluate
from polysched.runtime.signature import conditions_of, signature_of, tuple_text


def test_temporaries_are_no_arguments(saxpy) -> None:
    signature = signature_of(saxpy.kernel)
    assert signature.array_names == ("x", "y", "out")
    assert signature.required_names == ("x", "y")
    assert signature.parameters == ("n",)


def test_text(rows: Kernel) -> None:
    text = "rows(x: f32[N, H + 2], out: f64[N, 2 * H], total: i32[N], N, H)"
    assert str(signature_of(rows)) == text


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


def test_tuples_are_written_as_python_does() -> None:
    assert tuple_text([]) == "()"
    assert tuple_text(["a"]) == "(a,)"
    assert tuple_text(["a", "b"]) == "(a, b)"
