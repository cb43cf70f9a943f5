import islpy as isl
import pytest

from polysched.errors import ScheduleError
from polysched.ir.expr.affine import from_pw_aff
from polysched.ir.expr.expressions import Constant
from polysched.schedule.buffers.footprint import (
    element_column,
    extent,
    from_tiles,
    iteration_range,
    lowest_subscript,
)

TOUCHED = "{ [tile, x, y] : 0 <= tile < 4 and 8tile - 1 <= x <= 8tile + 8 and 0 <= y <= tile }"
FOOTPRINT = from_tiles(isl.Set(TOUCHED), 1)


def test_the_box_of_a_tile() -> None:
    assert element_column(FOOTPRINT, 1).is_equal(isl.Map("{ [t] -> [y] : 0 <= y <= t < 4 }"))
    lowest = [lowest_subscript(FOOTPRINT, position, ("tile",)) for position in range(2)]
    assert [str(from_pw_aff(one)) for one in lowest] == ["((8 * tile) - 1)", "0"]
    extents = [extent(FOOTPRINT, one, position, "") for position, one in enumerate(lowest)]
    assert extents == [Constant(10), Constant(4)]


def test_the_iterations_of_the_innermost_loop() -> None:
    touched = isl.Set("{ [i, j, x] : 0 <= i < 9 and i <= j < i + 3 and x = j }")
    first, count = iteration_range(from_tiles(touched, 2), ("i", "j"), "j")
    assert (str(from_pw_aff(first)), count) == ("i", Constant(3))


def test_no_bound() -> None:
    footprint = from_tiles(isl.Set("{ [tile, x] : x >= tile }"), 1)
    lowest = lowest_subscript(footprint, 0, ("tile",))
    with pytest.raises(ScheduleError, match="x has none"):
        extent(footprint, lowest, 0, "x has none")


def test_a_gap_at_the_start_of_a_tile_gives_no_cases() -> None:
    space = "[n] -> { [j, b] -> [v] : 0 <= j < n and 0 <= v < n and 8b <= v < 8b + 8 and v != j }"
    footprint = isl.Map(space)
    lowest = lowest_subscript(footprint, 0, ("j", "b"))
    assert lowest.n_piece() == 1
    assert str(extent(footprint, lowest, 0, "unbounded")) == "8"


def test_a_partial_first_tile_gives_no_cases() -> None:
    footprint = isl.Map(
        "[n] -> { [k, b] -> [v] : 0 <= b and 0, k - 8b <= v < 8, n - 8b and 0 <= k < n }"
    )
    lowest = lowest_subscript(footprint, 0, ("k", "b"))
    assert str(from_pw_aff(lowest)) == "0"
    assert extent(footprint, lowest, 0, "unbounded") == Constant(8)


def test_tiles_that_begin_apart_keep_their_cases() -> None:
    footprint = isl.Map(
        "{ [b] -> [v] : b = 0 and 0 <= v < 4; [b] -> [v] : b = 1 and 50 <= v < 54 }"
    )
    lowest = lowest_subscript(footprint, 0, ("b",))
    assert lowest.n_piece() == 2
    assert str(extent(footprint, lowest, 0, "unbounded")) == "4"


def test_pieces_without_a_common_lower_bound_keep_their_cases() -> None:
    footprint = isl.Map("[n] -> { [i] -> [x] : 0 <= i < n and (x = i or x = n + 2 - i) }")
    lowest = lowest_subscript(footprint, 0, ("i",))
    assert lowest.n_piece() == 2
    assert str(extent(footprint, lowest, 0, "unbounded")) == "(n + 3)"
