"""How numpy's arrays lie in memory: their flags, their fields, and the function that makes one.

Machine code looks there. ``PyArrayObject_fields`` and the table of functions of numpy's C API are
part of its binary interface. Both are tried before they are relied on.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

# numpy's documented bits of `ndarray.flags.num`.
C_CONTIGUOUS, F_CONTIGUOUS, ALIGNED, WRITEABLE = 0x0001, 0x0002, 0x0100, 0x0400

NDARRAY = """\
; reference count, type, data, rank, extents, strides, base, element type, flags
%ndarray = type { i64, ptr, i64, i32, ptr, ptr, ptr, ptr, i32 }
"""
"""An array in LLVM's language."""


class Ndarray(ctypes.Structure):
    """The same as :data:`NDARRAY`."""

    _fields_ = (
        ("references", ctypes.c_int64),
        ("type", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int32),
        ("extents", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("base", ctypes.c_void_p),
        ("element", ctypes.c_void_p),
        ("flags", ctypes.c_int32),
    )


def arrays_are_known() -> bool:
    """Whether numpy's arrays are laid out as the machine code takes it."""
    sample = np.zeros((3, 5, 7), np.int16)[1:, ::2]
    found = Ndarray.from_address(id(sample))
    # What is not this type has other things, perhaps no pointers, in the places that follow.
    return (
        found.type == id(np.ndarray)
        and found.data == sample.ctypes.data
        and found.rank == sample.ndim
        and found.element == id(sample.dtype)
        and found.flags == sample.flags.num
        and tuple(found.extents[: sample.ndim]) == sample.shape
        and tuple(found.strides[: sample.ndim]) == sample.strides
    )


_PYARRAY_EMPTY = 184
"""Its position in the table of functions."""


def address_of_empty() -> int | None:
    """The address of ``PyArray_Empty``, which ``numpy.empty`` calls; None where it is not found.

    It takes the rank, the address of the extents, the type of the elements, a reference to which it
    takes over, and 0 for row-major order.
    """
    table: Any = getattr(sys.modules.get("numpy._core._multiarray_umath"), "_ARRAY_API", None)
    if table is None:
        return None
    prototype = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    found = prototype(("PyCapsule_GetPointer", ctypes.pythonapi))(table, None)
    address = ctypes.c_void_p.from_address(found + 8 * _PYARRAY_EMPTY).value
    assert address is not None
    shape, element = (3, 5), np.dtype(np.int16)
    new = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int
    )(address)
    extents = (ctypes.c_int64 * len(shape))(*shape)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(element))  # it is taken over
    made = new(len(shape), ctypes.addressof(extents), element, 0)
    return address if made.shape == shape and made.dtype == element else None
