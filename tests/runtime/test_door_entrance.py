"""The function of Python that stands before a door."""

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest

from polysched.runtime.door import Door
from polysched.runtime.door_entrance import NAME, Entrance, entrance


@pytest.mark.unguarded
def test_it_knows_no_call_before_the_door_is_open() -> None:
    door = Door(4)
    kept = door.enter
    assert kept.__name__ == NAME.decode()
    assert kept(None, np.zeros(3), None) is None
    assert kept() is None


def test_it_stays_the_same_when_the_door_opens() -> None:
    door = Door(4)
    kept = door.enter
    assert door._table is None or door._table.entrance.function
    assert door.enter is kept
    assert kept(None, np.zeros(3), None) is None


def test_it_runs_what_stands_in_the_memory() -> None:
    memory: Any = np.zeros(ctypes.sizeof(Entrance), np.uint8)
    place = Entrance.from_buffer(memory)
    enter = entrance(place, memory)
    assert enter(1, 2) is None

    def count(own: object, _: object, given: int) -> tuple[object, int]:
        return own, given

    types = (ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)
    code = ctypes.PYFUNCTYPE(ctypes.py_object, *types)(count)
    place.function = ctypes.cast(code, ctypes.c_void_p).value
    own, given = enter(1, 2, 3)
    assert own is memory
    assert given == 3


def test_it_keeps_the_memory_and_lets_go_of_it() -> None:
    memory: Any = np.zeros(ctypes.sizeof(Entrance), np.uint8)
    kept = weakref.ref(memory)
    enter = entrance(Entrance.from_buffer(memory), memory)
    del memory
    gc.collect()
    assert kept() is not None
    del enter
    gc.collect()
    assert kept() is None
