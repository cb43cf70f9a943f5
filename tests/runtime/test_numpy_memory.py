import ctypes
import sys

import numpy as np
import pytest

from polysched.runtime import numpy_memory
from polysched.runtime.numpy_memory import Ndarray, address_of_empty, arrays_are_known


def test_arrays_lie_as_they_are_taken_to() -> None:
    assert arrays_are_known()
    array = np.zeros((3, 4), np.int16)
    found = Ndarray.from_address(id(array))
    assert (found.data, found.rank) == (array.ctypes.data, 2)
    assert tuple(found.strides[:2]) == array.strides


def test_another_layout_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shifted(ctypes.Structure):
        _fields_ = (("more", ctypes.c_int64), *Ndarray._fields_)

    monkeypatch.setattr(numpy_memory, "Ndarray", Shifted)
    assert not arrays_are_known()


def test_the_function_that_makes_arrays() -> None:
    assert address_of_empty() is not None


def test_a_numpy_without_a_table_of_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy._core._multiarray_umath")
    assert address_of_empty() is None
