"""Inequalities over boxes: never too tight, and as tight as digits of a number need."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from polysched.loops.scan.inequalities import AffineExpr, Box, System, not_negative, tightened


def total(constant: int, *terms: tuple[int, int]) -> AffineExpr:
    return AffineExpr(terms, constant)


def value(sum_: AffineExpr, point: tuple[int, ...]) -> int:
    return sum_.constant + sum(factor * point[variable] for variable, factor in sum_.terms)


def points(inequalities: tuple[AffineExpr, ...], box: Box) -> set[tuple[int, ...]]:
    ranges = [range(low, high + 1) for low, high in box.values()]
    return {
        point for point in product(*ranges) if all(value(one, point) >= 0 for one in inequalities)
    }


FACTORS = st.integers(-4, 4).filter(bool)
SUMS = st.builds(
    lambda factors, constant: AffineExpr(tuple(sorted(factors.items())), constant),
    st.dictionaries(st.integers(0, 2), FACTORS, max_size=3),
    st.integers(-12, 12),
)
BOXES = st.lists(st.tuples(st.integers(-4, 0), st.integers(0, 4)), min_size=3, max_size=3).map(
    lambda ends: dict(enumerate(ends))
)


@given(SUMS, BOXES)
def test_least_and_greatest(sum_: AffineExpr, box: Box) -> None:
    values = [value(sum_, point) for point in points((), box)]
    assert (sum_.least(box), sum_.greatest(box)) == (min(values), max(values))


@given(st.lists(SUMS, max_size=4), BOXES)
def test_tightening_keeps_all_points(inequalities: list[AffineExpr], box: Box) -> None:
    wanted = points(tuple(inequalities), box)
    found = tightened(inequalities, box)
    if found is None:
        assert not wanted
    else:
        assert points(found.inequalities, found.box) == wanted


@given(SUMS, BOXES)
def test_smaller_numbers_say_the_same(sum_: AffineExpr, box: Box) -> None:
    assert points((not_negative(sum_),), box) == points((sum_,), box)


@given(st.lists(SUMS, max_size=3), BOXES, SUMS)
def test_a_value_in_the_place_of_a_variable(
    inequalities: list[AffineExpr], box: Box, given_value: AffineExpr
) -> None:
    value_of_2 = given_value.without(2)
    system = System(tuple(inequalities), box).with_value(2, value_of_2)
    wanted = {
        point[:2]
        for point in points(tuple(inequalities), box)
        if point[2] == value(value_of_2, point)
    }
    found = set() if system is None else points(system.inequalities, system.box)
    assert found == wanted


def test_delinearize_are_tight() -> None:
    """Of 4*i + j <= 10 with j from 0 to 3 the last i is 2."""
    found = tightened([total(10, (0, -4), (1, -1))], {0: (0, 99), 1: (0, 3)})
    assert found == System((total(10, (0, -4), (1, -1)),), {0: (0, 2), 1: (0, 3)})


def test_what_the_box_implies_is_gone() -> None:
    found = tightened([total(11, (0, -4), (1, -1))], {0: (0, 2), 1: (0, 3)})
    assert found == System((), {0: (0, 2), 1: (0, 3)})


def test_carried_a_range() -> None:
    system = System((total(10, (0, -4), (1, -1)),), {0: (0, 2), 1: (0, 3)})
    last = system.within(0, 2, 5)
    assert last is not None
    assert last.box == {0: (2, 2), 1: (0, 2)}
    assert system.within(0, 3, 5) is None
    assert system.within(0, -1, 7) is system


def test_a_variable_at_its_extremes() -> None:
    sum_, box = total(1, (0, 2), (1, -3)), {0: (0, 5), 1: (0, 4)}
    assert sum_.at_extreme([1], box, greatest=False) == total(-11, (0, 2))
    assert sum_.at_extreme([0, 1], box, greatest=True) == total(11)
