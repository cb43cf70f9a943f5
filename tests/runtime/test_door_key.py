"""The number of a kind of call."""

from typing import Any

import numpy as np
import pytest

from polysched.runtime import door as door_module
from polysched.runtime.door import Door
from polysched.runtime.door_table import MOST_RANK


def key(option: Any, *arrays: Any) -> int:
    table = Door(4)._table
    if table is None:
        pytest.skip("this Python has no doors")
    return door_module._key(table, option, arrays)


A, B = np.zeros((3, 5), np.float32), np.zeros((5, 2), np.float32)


def test_calls_of_one_kind_have_one() -> None:
    assert key(None, A, B, None) == key(None, A + 1, B + 1, None) != 0


@pytest.mark.parametrize(
    "call",
    [
        (1, A, B, None),
        (None, A, B),
        (None, A, B, np.zeros((3, 2), np.float32)),
        (None, B, A, None),
        (None, A.astype("f8"), B, None),
        (None, A[:2], B, None),
        (None, A[0], B, None),
    ],
    ids=["option", "count", "output", "order", "type", "extent", "rank"],
)
def test_another_kind_has_another(call: tuple[Any, ...]) -> None:
    assert key(*call) not in {0, key(None, A, B, None)}


@pytest.mark.parametrize(
    "array", [None, 3.0, [1, 2], np.float32(1), np.zeros((1,) * (MOST_RANK + 1))]
)
def test_what_is_no_array_for_a_door_has_none(array: Any) -> None:
    assert key(None, array, B) == 0
