"""The built-in function of Python through which calls come to a door.

It is there before the door is open, so that whoever keeps it need not look it up again: what it
runs is a word in the door's memory, which at first is that of a function that knows no call.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any, cast

from numpy.typing import NDArray

NAME = b"enter"
_FASTCALL = 0x0080


class Entrance(ctypes.Structure):
    """``PyMethodDef`` of Python's C API, and behind it the letters of the name.

    The function looks there at every call and when it is let go, after which it lets go of the
    memory that this is a part of.
    """

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_void_p),
        ("letters", ctypes.c_char * 8),
    )


def entrance(place: Entrance, memory: NDArray[Any]) -> Callable[..., Any]:
    """The function that runs ``place.function`` with ``memory``; one that knows no call at first.

    Args:
        place: a part of the memory.
        memory: of the door.
    """
    if sys.implementation.name != "cpython":
        return _unknown
    place.letters = NAME
    place.name = ctypes.addressof(place) + Entrance.letters.offset
    place.function = ctypes.cast(cast(Any, _CLOSED), ctypes.c_void_p).value
    place.flags = _FASTCALL
    arguments = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, *arguments)
    new = prototype(("PyCFunction_NewEx", ctypes.pythonapi))
    return cast(Callable[..., Any], new(ctypes.addressof(place), memory, None))


def _unknown(*_: Any) -> None:
    """No call is known."""


_CLOSED = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t)(
    _unknown
)
if sys.implementation.name == "cpython":
    # A function of Python may be called when this module is gone.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(_CLOSED))
