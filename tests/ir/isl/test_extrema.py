import islpy as isl
import pytest

from polysched.ir.isl.extrema import as_int, greatest, least


def test_bounds_of_a_union() -> None:
    points = isl.Set("{ [i, j] : 3 <= i <= 9 and j = 2i; [i, j] : i = 1 and 30 <= j <= 31 }")
    assert (least(points, 0), greatest(points, 0)) == (1, 9)
    assert (least(points, 1), greatest(points, 1)) == (6, 31)


def test_a_part_without_integer_points_does_not_count() -> None:
    """What isl's own function gets wrong for this set."""
    points = isl.Set(
        "{ [a, b, c] : a = 1 and b <= 1 and 0 < c < b; [a, b, c] : a = 1 and b = 1 and c = 1 }"
    )
    assert (least(points, 1), greatest(points, 1)) == (1, 1)


@pytest.mark.parametrize("text", ["{ [i] : false }", "{ [i] : i <= 3 }", "[N] -> { [i] : i > N }"])
def test_none_without_a_least_value(text: str) -> None:
    assert least(isl.Set(text), 0) is None


def test_none_without_a_greatest_value() -> None:
    assert greatest(isl.Set("{ [i] : i >= 3 }"), 0) is None
    assert greatest(isl.Set("[N] -> { [i] : 0 <= i <= N }"), 0) is None


@pytest.mark.parametrize(
    "number", [0, 1, -7, 2**31, -(2**31), 2**32 - 1, 1 - 2**32, 2**32, -(2**63), 2**70, -(2**70)]
)
def test_integers_of_any_size_are_read(number: int) -> None:
    assert as_int(isl.Val(str(number))) == number
