"""Linear forms: arithmetic that agrees with the sums' values, and forms of expressions."""

from hypothesis import given
from hypothesis import strategies as st

from polysched.ir.expr.expressions import Index, Parameter
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import LinearForm

i, j, n = Index("i"), Index("j"), Parameter("n")

ATOMS = tuple(map(Index, "abcd"))

_COEFFICIENTS = st.dictionaries(st.sampled_from(ATOMS), st.integers(-3, 3).filter(bool), max_size=4)
_SUMS = st.builds(
    lambda terms, constant: LinearForm(tuple(terms.items()), constant),
    _COEFFICIENTS,
    st.integers(-5, 5),
)


def value(form: LinearForm, point: tuple[int, ...]) -> int:
    at = dict(zip(ATOMS, point, strict=True))
    return form.constant + sum(
        coefficient * at[atom] for atom, coefficient in form.terms if isinstance(atom, Index)
    )


@given(_SUMS, _SUMS, st.integers(-3, 3), st.tuples(*[st.integers(-9, 9)] * 4))
def test_the_value_of_a_sum_is_the_sum_of_the_values(
    left: LinearForm, right: LinearForm, factor: int, point: tuple[int, ...]
) -> None:
    total = left.plus(right, factor)
    assert value(total, point) == value(left, point) + factor * value(right, point)
    assert value(left.times(factor), point) == factor * value(left, point)
    assert value(left.plus(7, factor), point) == value(left, point) + 7 * factor
    assert all(coefficient for _, coefficient in total.terms)
    assert left.plus(right).ordered_terms == right.plus(left).ordered_terms


def test_a_form_without_terms_is_constant() -> None:
    assert not LinearForm(((i, 2), (n, -1)), 5).is_constant
    assert LinearForm((), 5).is_constant


def test_values_in_the_place_of_indices() -> None:
    form = linear_form(4 * i + j + n, {})
    values = {"i": linear_form(j + 3, {}), "k": linear_form(n, {})}
    assert form.with_values(values) == LinearForm(((j, 5), (n, 1)), 12)
    assert form.with_values({"k": LinearForm((), 1)}) is form
    assert linear_form(i - j, {}).with_values({"i": linear_form(j, {})}) == LinearForm((), 0)


def test_the_atoms_of_one_value_become_numbers() -> None:
    form = linear_form(4 * i + j + n, {})
    assert form.where({"i": (2, 2), "n": (5, 5), "j": (0, 3)}) == LinearForm(((j, 1),), 13)
    assert form.where({"i": (0, 7), "n": (1, None)}) is form


def test_which_indices_a_form_uses() -> None:
    assert linear_form(i + n, {}).uses({"i"})
    assert linear_form((i + n) // 3, {}).uses({"i", "j"})
    assert not linear_form(i - i + n // 3, {}).uses({"i", "n"})


def test_a_form_without_one_index() -> None:
    form = linear_form(n + 4 * i + j, {})
    assert form.without("i") == (LinearForm(((j, 1), (n, 1)), 0), 4)
    assert form.without("k") == form.without(None) == (LinearForm(form.ordered_terms, 0), 0)
