from itertools import pairwise

import pytest

from polysched.plot.frame import frame
from polysched.plot.picture import picture
from polysched.plot.view import View
from polysched.schedule.schedule import Schedule
from tests.plot.pictures import legal_grid, one_dimension, two_statements
from tests.support.kernels import grid, shuffle


def test_all_dots_are_within_the_limits() -> None:
    for shown in (legal_grid(), two_statements(), one_dimension()):
        placed = frame(shown)
        for dot in shown.dots:
            for value, (low, high) in zip(
                placed.position(dot.statement, dot.place), placed.limits, strict=True
            ):
                assert low < value < high


def test_a_statement_alone_stands_at_its_places() -> None:
    placed = frame(legal_grid())
    assert placed.position("S", (2, 3)) == (2, 3)
    assert placed.is_even


def test_statements_stand_beside_each_other() -> None:
    placed = frame(two_statements())
    first, second = placed.position("P", (1, 1)), placed.position("C", (1, 1))
    assert first[0] < 1 < second[0]
    assert first[1] > 1 > second[1]


def test_statements_of_one_dimension_are_rows_from_the_top() -> None:
    shown = picture(Schedule(shuffle(4)))
    placed = frame(shown)
    assert placed.rows == ("strided", "reversed")
    assert placed.position("strided", (2,)) == (2, 0)
    assert placed.position("reversed", (2,)) == (2, -1)


@pytest.mark.parametrize("shape", [(1, 1), (2, 90), (90, 2), (60, 60), (1, 9000)])
def test_figures_fit_on_a_screen(shape: tuple[int, int]) -> None:
    placed = frame(picture(Schedule(grid(*shape)), View(dimensions=("i", "j"))))
    assert 6 <= placed.size[0] <= 13
    assert 2 <= placed.size[1] <= 10
    assert 2 <= placed.dot <= 18


def test_dots_shrink_with_the_number_of_places() -> None:
    sizes = [frame(picture(Schedule(grid(size, size)))).dot for size in (8, 32, 64, 96)]
    assert all(larger > smaller for larger, smaller in pairwise(sizes))
