from itertools import permutations

import numpy as np
import pytest

from polysched.errors import CallError
from polysched.library.transpose.axes import Movement, checked_axes, simplest


@pytest.mark.parametrize(
    ("shape", "order", "expected"),
    [
        ((3, 4), (1, 0), Movement((3, 4), (1, 0))),
        ((2, 5, 6, 7), (0, 3, 1, 2), Movement((2, 30, 7), (0, 2, 1))),
        ((2, 7, 5, 6), (0, 2, 3, 1), Movement((2, 7, 30), (0, 2, 1))),
        ((1, 5, 6, 7), (0, 3, 1, 2), Movement((30, 7), (1, 0))),
        ((3, 1, 4), (2, 1, 0), Movement((3, 4), (1, 0))),
        ((3, 4, 5), (2, 1, 0), Movement((3, 4, 5), (2, 1, 0))),
        ((3, 4, 5), (0, 1, 2), Movement((60,), (0,))),
        ((1, 1), (1, 0), Movement((), ())),
    ],
)
def test_simplest(shape: tuple[int, ...], order: tuple[int, ...], expected: Movement) -> None:
    assert simplest(shape, order) == expected


def test_the_elements_move_to_the_same_places() -> None:
    for shape in ((2, 3, 4, 5), (1, 3, 1, 2), (2, 1, 3, 3)):
        array = np.arange(np.prod(shape)).reshape(shape)
        for order in permutations(range(4)):
            found = simplest(shape, order)
            moved = array.reshape(found.shape).transpose(found.order)
            np.testing.assert_array_equal(moved.ravel(), array.transpose(order).ravel())


def test_copies() -> None:
    assert simplest((3, 4), (0, 1)).is_copy
    assert simplest((3, 1), (1, 0)).is_copy
    assert not simplest((3, 4), (1, 0)).is_copy


def test_checked_axes() -> None:
    assert checked_axes((0, -1, 1), 3) == (0, 2, 1)
    assert checked_axes(np.array([1, 0]), 2) == (1, 0)  # type: ignore[arg-type]
    assert checked_axes([np.int8(-1), 0], 2) == (1, 0)  # type: ignore[list-item]


@pytest.mark.parametrize("axes", [(0,), (0, 0), (0, 2), (1, -3), 1, ("a", "b"), (True, False)])
def test_no_axes(axes: object) -> None:
    with pytest.raises(CallError) as caught:
        checked_axes(axes, 2)  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"transpose: axes={axes!r}; expected each of the axes 0 to 1 once, since the array has 2 "
        "dimensions"
    )
