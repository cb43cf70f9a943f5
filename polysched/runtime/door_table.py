"""The memory of a door (:mod:`polysched.runtime.door`): a table of kinds of calls.

Python writes it and machine code reads it, so every structure stands here twice: as ctypes has it,
and in LLVM's language.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysched.ir.core.strides import elements_spanned
from polysched.runtime.door_entrance import Entrance
from polysched.runtime.numpy_memory import ALIGNED, WRITEABLE

MOST_ARRAYS = 8
"""Arrays of a call that goes through a door, at most."""

MOST_RANK = 6
"""Dimensions of each of them, at most."""

MOST_ARGUMENTS = 16
"""Words that the machine code of a kernel takes, at most."""

PROBES = 4
"""Neighboring slots in which a kind of call may be kept."""

TYPES = f"""\
; element type, rank, flags that it needs, whether it is written, bytes, extents, strides
%array = type {{ ptr, i64, i64, i64, i64, [{MOST_RANK} x i64], [{MOST_RANK} x i64] }}
; key, arrays, option, what is kept alive, allocate, its arguments, code, pointers, position of the
; number of threads or -1, result, whether it is short, sources of the pointers, arguments, arrays
%entry = type {{ i64, i64, ptr, ptr, ptr, ptr, ptr, i64, i64, i64, i64,
                [{MOST_ARRAYS} x i64], [{MOST_ARGUMENTS} x i64], [{MOST_ARRAYS} x %array] }}
; type of arrays, None, running calls (of others, of doors), cores, slots less one, numpy's
; ``PyArray_Empty`` or null, entries
%door = type {{ ptr, ptr, ptr, i64, i64, ptr, [0 x %entry] }}
"""
"""The structures in LLVM's language."""


class ArrayOfKind(ctypes.Structure):
    """An array of a kind: ``%array``."""

    _fields_ = (
        ("element", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("flags", ctypes.c_int64),
        ("is_written", ctypes.c_int64),
        ("bytes", ctypes.c_int64),
        ("extents", ctypes.c_int64 * MOST_RANK),
        ("strides", ctypes.c_int64 * MOST_RANK),
    )


class Kind(ctypes.Structure):
    """A kind of call: ``%entry``. A ``key`` of 0 is that of no call."""

    _fields_ = (
        ("key", ctypes.c_int64),
        ("arrays", ctypes.c_int64),
        ("option", ctypes.c_void_p),
        ("kept", ctypes.c_void_p),
        ("allocate", ctypes.c_void_p),
        ("allocate_arguments", ctypes.c_void_p),
        ("code", ctypes.c_void_p),
        ("pointers", ctypes.c_int64),
        ("threads_at", ctypes.c_int64),
        ("result", ctypes.c_int64),
        ("is_short", ctypes.c_int64),
        ("sources", ctypes.c_int64 * MOST_ARRAYS),
        ("values", ctypes.c_int64 * MOST_ARGUMENTS),
        ("array", ArrayOfKind * MOST_ARRAYS),
    )


@functools.cache
def table_of(slots: int) -> type[Any]:
    """The memory of a door: ``%door`` with so many kinds, and its function of Python."""

    class Table(ctypes.Structure):
        _fields_ = (
            ("array_type", ctypes.c_void_p),
            ("none", ctypes.c_void_p),
            ("running", ctypes.c_void_p),
            ("cores", ctypes.c_int64),
            ("mask", ctypes.c_int64),
            ("empty", ctypes.c_void_p),
            ("kinds", Kind * slots),
            ("entrance", Entrance),
        )

    return Table


def given_array(array: NDArray[Any], is_written: bool) -> ArrayOfKind:
    """What an array has to be like to be of the same kind."""
    return ArrayOfKind(
        element=id(array.dtype),
        rank=array.ndim,
        flags=ALIGNED | (WRITEABLE if is_written else 0),
        is_written=is_written,
        bytes=elements_spanned(array.shape, array.strides) + array.itemsize - 1,
        extents=array.shape,
        strides=array.strides,
    )


def new_array(allocate: Callable[..., NDArray[Any]], arguments: tuple[Any, ...]) -> ArrayOfKind:
    """What ``numpy.empty`` is to make, where it is what allocates; else nothing."""
    match arguments:
        case (tuple() as shape, np.dtype() as element) if (
            allocate is np.empty and len(shape) <= MOST_RANK
        ):
            return ArrayOfKind(element=id(element), rank=len(shape), extents=shape)
    return ArrayOfKind()
