"""Weighted sums and intervals: golden forms, and agreement with evaluation at random points."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysched.ir.core.printing import format_expression
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Constant, Expression, Index, Parameter, as_expression
from polysched.ir.expr.functions import equal, maximum, minimum, not_equal, select
from polysched.ir.expr.linear import intersection, interval, linear_form, simplify
from polysched.ir.expr.linear_form import UNBOUNDED, Interval, LinearForm

i, j, n = Index("i"), Index("j"), Parameter("n")
KNOWN: dict[str, Interval] = {"i": (0, 7), "j": (0, 3), "n": (1, None)}


def shown(expression: Expression, known: dict[str, Interval] = KNOWN) -> str:
    return format_expression(simplify(expression, known))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (2 * (i + 1) - i - 2, "i"),
        (i - i, "0"),
        ((8 * n + i) // 8, "n"),
        ((8 * n + i) % 8, "i"),
        ((64 * n + 8 * j + i) // 8, "8*n + j"),
        ((6 * n + 2 * j) // 4, "(3*n + j)//2"),
        ((8 * n + i) // 16, "n//2"),
        ((8 * n + i + 8) // 16, "(n + 1)//2"),
        ((8 * n + i + 1) // 16, "(8*n + i + 1)//16"),
        ((8 * n + 2 * i) // 16, "(4*n + i)//8"),
        (i % 8 + i // 8, "i"),
        (minimum(i, 9), "i"),
        (minimum(i, 7), "i"),
        (minimum(i, 6), "min(i, 6)"),
        (maximum(i, j - 4), "i"),
        (minimum(n, n + 1), "n"),
        (select(as_expression(i) < 8, i, n), "i"),
        (select(as_expression(i) < 0, i, n), "n"),
        (-(1 - i), "i - 1"),
        (n * 3 - 3 * n + 4, "4"),
    ],
)
def test_simplified(expression: Expression, expected: str) -> None:
    assert shown(expression) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (as_expression(i) < 8, True),
        (as_expression(i) < 0, False),
        (as_expression(i) <= 7, True),
        (i >= n + 7, False),
        (equal(i, 8), False),
        (not_equal(i, 8), True),
        (equal(i - i, 0), True),
        ((i < 8) & (j < 4), True),
        ((i < 8) | (i < n), True),
        (~(i < 8), False),
    ],
)
def test_known_conditions(condition: Expression, expected: bool) -> None:
    found = simplify(condition, KNOWN)
    assert isinstance(found, Constant)
    assert found.value is expected


def test_open_conditions_keep_what_is_open() -> None:
    assert shown((i < 4) & (j < 4)) == "i < 4"
    assert shown((i < 4) | (j < 0)) == "i < 4"


def test_a_literal_condition_stays_a_condition() -> None:
    assert simplify(Constant(True), {}) == Constant(True)
    assert isinstance(simplify(Constant(True), {}), Constant)
    found = simplify(simplify(as_expression(i) < 8, KNOWN), KNOWN)
    assert isinstance(found, Constant)
    assert found.value is True


def test_literal_value_of_an_index() -> None:
    assert linear_form(i + 1, {"i": (4, 4)}) == LinearForm((), 5)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (2 * i - j, (-3, 14)),
        (n + i, (1, None)),
        (-n, (None, -1)),
        (i // 3, (0, 2)),
        (minimum(n, 5), (1, 5)),
        (maximum(n, 5), (5, None)),
    ],
)
def test_interval(expression: Expression, expected: Interval) -> None:
    assert interval(linear_form(expression, KNOWN), KNOWN) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (minimum(n, 4 * j + 4) - 4 * j, (None, 4)),
        (4 * j - minimum(n, 4 * j + 4), (-4, None)),
        (maximum(n, 4 * j) - n, (0, None)),
        (n - maximum(n - 3, 4 * j), (None, 3)),
        (minimum(n, minimum(4 * j + 4, n + 1)) - 4 * j, (None, 4)),
    ],
)
def test_interval_of_a_minimum_in_which_the_rest_cancels(
    expression: Expression, expected: Interval
) -> None:
    assert interval(linear_form(expression, {}), {}) == expected


def test_intersection() -> None:
    assert intersection((0, None), (None, 7)) == (0, 7)
    assert intersection((0, 9), (2, 7)) == (2, 7)
    assert intersection(UNBOUNDED, UNBOUNDED) == UNBOUNDED


def test_forms_as_expressions() -> None:
    form = linear_form(2 * i + 3 * j + 4, {})
    assert linear_form(form.expression(), {}) == form
    assert form.times(2).plus(form, -2) == LinearForm((), 0)


LEAVES = st.sampled_from([Parameter("a"), Parameter("b"), Parameter("c")]) | st.integers(-9, 9).map(
    as_expression
)


def _grown(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.tuples(inner, inner).map(lambda two: two[0] + two[1]),
        st.tuples(inner, inner).map(lambda two: two[0] - two[1]),
        st.tuples(inner, st.integers(-4, 4)).map(lambda two: two[0] * two[1]),
        st.tuples(inner, st.integers(1, 8)).map(lambda two: two[0] // two[1]),
        st.tuples(inner, st.integers(1, 8)).map(lambda two: two[0] % two[1]),
        st.tuples(inner, inner).map(lambda two: minimum(*two)),
        st.tuples(inner, inner).map(lambda two: maximum(*two)),
        st.tuples(inner, inner, inner).map(lambda three: select(three[0] < three[1], *three[1:])),
    )


@given(st.recursive(LEAVES, _grown, max_leaves=8), st.tuples(*[st.integers(-3, 3)] * 3))
def test_simplifying_keeps_the_value_wherever_the_intervals_hold(
    expression: Expression, low: tuple[int, int, int]
) -> None:
    known: dict[str, Interval] = {
        name: (first, first + 2) for name, first in zip("abc", low, strict=True)
    }
    simple = simplify(expression, known)
    least, greatest = interval(linear_form(expression, known), known)
    for values in itertools.product(*(range(first, first + 3) for first in low)):
        parameters = dict(zip("abc", values, strict=True))
        value = evaluate(expression, parameters)
        assert evaluate(simple, parameters) == value
        assert least is None or least <= value
        assert greatest is None or value <= greatest


@given(st.recursive(LEAVES, _grown, max_leaves=6), st.recursive(LEAVES, _grown, max_leaves=6))
def test_simplified_conditions_hold_where_they_did(left: Expression, right: Expression) -> None:
    known: dict[str, Interval] = {"a": (-1, 1), "b": (0, 2), "c": (0, None)}
    for condition in (left < right, left <= right, equal(left, right), not_equal(left, right)):
        simple = simplify(condition, known)
        for values in itertools.product((-1, 0, 1), (0, 1, 2), (0, 1, 5, 40)):
            parameters = dict(zip("abc", values, strict=True))
            assert evaluate(simple, parameters) == evaluate(condition, parameters)


def test_the_form_of_an_expression_is_found_once() -> None:
    expression = 4 * i - j + 3
    assert linear_form(expression, {}) is linear_form(expression, {})
    assert linear_form(expression, {"j": (2, 2)}) == LinearForm(((i, 4),), 1)


def test_an_expression_that_a_form_is_written_as_has_that_form() -> None:
    form = linear_form(i - 2 * j + n, {})
    written = form.expression()
    again = linear_form(written, {})
    assert again == LinearForm(((i, 1), (n, 1), (j, -2)), 0)
    assert again == linear_form(i + n - 2 * j, {})
