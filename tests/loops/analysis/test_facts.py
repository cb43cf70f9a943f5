"""Facts at a point of the loops: what they imply holds at every point where they do."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysched.ir.expr.expressions import Constant, Expression, Index
from polysched.ir.expr.functions import equal, maximum, minimum
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import LinearForm
from polysched.loops.analysis.facts import Facts
from tests.loops.programs import loop, n

a, b, c = Index("a"), Index("b"), Index("c")
COEFFICIENTS = st.integers(-4, 4)
FORMS = st.builds(
    lambda terms, constant: LinearForm(
        tuple((Index(name), value) for name, value in zip("abc", terms, strict=True) if value),
        constant,
    ),
    st.tuples(COEFFICIENTS, COEFFICIENTS, COEFFICIENTS),
    st.integers(-9, 9),
)


def form(expression: Expression) -> LinearForm:
    return linear_form(expression, {})


def value(of: LinearForm, point: dict[str, int]) -> int:
    return of.constant + sum(factor * point[str(atom)] for atom, factor in of.terms)


@given(st.lists(FORMS, max_size=4), FORMS, st.booleans())
def test_what_facts_imply_holds_where_they_do(
    facts: list[LinearForm], claim: LinearForm, is_bounded: bool
) -> None:
    known = dict.fromkeys("abc", (-3, 3)) if is_bounded else {}
    point = Facts(known).with_forms(facts)
    holds, fails = point.holds(claim), point.fails(claim)
    for values in product(range(-3, 4), repeat=3):
        at = dict(zip("abc", values, strict=True))
        if all(value(fact, at) <= 0 for fact in facts):
            assert not (holds and value(claim, at) > 0)
            assert not (fails and value(claim, at) <= 0)


def test_integers_between_multiples() -> None:
    """The last tile of eight reaches ``n``, and a block of 24 ends before: the tile comes later."""
    facts = Facts({}).with_forms([form(n - 8 * a - 7), form(24 * b + 24 - n)])
    assert facts.holds(form(3 * b + 3 - a))
    assert not facts.holds(form(3 * b + 4 - a))


def test_bounds_of_loops_around_are_facts() -> None:
    inside = Facts({}).inside(loop("a", 0, (n + 7) // 8)).inside(loop("b", a, minimum(n, a + 4)))
    assert inside.holds(form(8 * a - n + 1))
    assert inside.holds(form(a - b))
    assert inside.holds(form(b - n + 1))
    assert inside.fails(form(a + 4 - b))
    assert not inside.holds(form(a + 1 - b))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (a < b, Constant(True)),
        (b <= a, Constant(False)),
        (equal(a, b), Constant(False)),
        (equal(a, 0) & equal(b, 0), Constant(False)),
        ((a < b) & (c < 4), c < 4),
        (c < 4, c < 4),
        (equal(c // 2, a), equal(c // 2, a)),
    ],
)
def test_conditions(condition: Expression, expected: Expression) -> None:
    facts = Facts({}).where(a + 1 <= b)
    assert str(facts.decide(condition)) == str(expected)


def test_a_condition_implied_by_the_ones_before_it() -> None:
    facts = Facts({"a": (0, None), "b": (0, None)}).where(8 * a + b >= 1)
    assert facts.decide(equal(a, 0) & equal(b, 0)) == Constant(False)


def test_bounds_that_others_imply_go() -> None:
    facts = Facts({"n": (0, None)}).where(16 * a + 16 <= n)
    assert (
        str(facts.end(minimum(minimum(n - 2, 16 * a + 15) + 1, 8 * b)))
        == str(minimum(16 * a + 16, 8 * b))
        or str(facts.end(minimum((n + 7) // 8, n // 8))) == "(n // 8)"
    )
    assert str(facts.end(maximum(0, 16 * a + 16 - n))) == "0"
    assert str(facts.end(minimum(4, b))) == "min(4, b)"
