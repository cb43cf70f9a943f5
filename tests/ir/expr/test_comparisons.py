import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysched.ir.expr.comparisons import comparison_text, display, parameter_names, solve, without
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Expression, Parameter, as_expression
from polysched.ir.expr.functions import maximum
from polysched.ir.expr.linear import linear_form

N, M = Parameter("N"), Parameter("M")

leaves = st.one_of(st.sampled_from([N, M]), st.integers(-5, 5).map(as_expression))


def _grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    literal = st.integers(-4, 4)
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a - b, inner, inner),
        st.builds(lambda a, c: c * a, inner, literal),
        st.builds(lambda a, c: a * c, inner, literal),
        st.builds(lambda a: -a, inner),
        st.builds(lambda a, c: a // c, inner, st.integers(1, 4)),
        st.builds(maximum, inner, inner),
    )


@given(st.recursive(leaves, _grow, max_leaves=12), st.integers(-99, 99), st.integers(-99, 99))
def test_the_form_has_the_value_of_the_expression(expression: Expression, n: int, m: int) -> None:
    values = {"N": n, "M": m}
    form = linear_form(expression, {})
    total = sum(c * evaluate(term, values) for term, c in form.terms) + form.constant
    assert total == evaluate(expression, values)
    assert 0 not in dict(form.terms).values()


def test_equal_terms_are_collected() -> None:
    form = linear_form(2 * (N + M) - N - N * 1 + 3, {})
    assert form.terms == ((M, 2),)
    assert form.constant == 3


def test_parameters_inside_terms_are_found() -> None:
    assert parameter_names(linear_form(M + N // 2, {})) == {"N", "M"}
    assert parameter_names(linear_form(as_expression(4), {})) == frozenset()


def test_solve_inverts_a_linear_form() -> None:
    form = linear_form(2 * N + M, {})
    rest = evaluate(without(form, "N"), {"M": 5})
    assert rest == 5
    assert solve(form, 11, "N", rest) == 3
    assert solve(form, 12, "N", rest) is None


@pytest.mark.parametrize(
    ("expression", "equality", "text"),
    [
        (N - 1, False, "N >= 1"),
        (100 - N, False, "N <= 100"),
        (100 - N - M, False, "N + M <= 100"),
        (N - M + 4, False, "N + 4 >= M"),
        (N - 2 * M - 4, False, "N >= (2 * M) + 4"),
        (M + 1 - 2 * N, True, "M + 1 == 2 * N"),
        (N + 0, False, "N >= 0"),
    ],
)
def test_comparisons_read_well(expression: Expression, equality: bool, text: str) -> None:
    assert comparison_text(linear_form(expression, {}), equality=equality) == text


def test_display_drops_the_outer_parentheses_only() -> None:
    assert display(N + 2) == "N + 2"
    assert display((N + 2) * 3) == "(N + 2) * 3"
    assert display(-N) == "-N"
    assert display(N) == "N"
    assert display(maximum(N, M)) == "max(N, M)"
