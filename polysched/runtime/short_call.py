"""The shortest way from Python into a kernel: a function of machine code that takes numpy arrays.

A call of a small kernel takes as long as what Python does around it. Where types and shapes are
known to be right, what is left to look at are the addresses: a few instructions, if they are made
here and not in Python. So this is one of CPython's built-in functions, made at run time from LLVM's
language; it relies on no more of memory's layout than :func:`is_possible` has tried.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache
from string import Template
from typing import Any

import numpy as np

from polysched.machine.description import Machine
from polysched.runtime.cache import default_cache
from polysched.runtime.jit import Entry, NativeFunction, compile_once
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.pipeline import CompileOptions

ShortCall = Callable[..., bool]
"""Takes numpy arrays in the kernel's order, and says whether it has computed."""

_SYMBOL = "polysched_short_call"
_FASTCALL = 0x0080  # CPython's METH_FASTCALL: arguments as an array and their number
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_CLASS = object.__basicsize__ - _POINTER
_DATA = object.__basicsize__
_FIRST_ITEM = tuple.__basicsize__
_FIRST_BYTE = bytes.__basicsize__ - 1

_RECORD = ("array_class", "truth_of", "save_thread", "restore_thread", "kernel")
"""What stands in the function's record before the lengths, a word each."""


def short_call(kernel: CompiledKernel, lengths: Sequence[int]) -> ShortCall | None:
    """A function of numpy arrays that computes a kernel without parameters on one thread.

    It does not look at types, shapes, strides or flags: these have to be as the kernel declares
    them. It computes nothing, and returns False, if the last array, which is written, may overlap
    another, if there is no memory for the kernel's workspace, or if something else than so many
    objects of class ``numpy.ndarray`` is given. The GIL is released while the kernel runs.

    Args:
        kernel: has one output, the last of its arrays.
        lengths: the bytes from the first element of each array to the end of the last.

    Returns:
        the function, which keeps the kernel's code; None where this Python has none of the sort.
    """
    if not is_possible():
        return None
    native = _native(len(lengths), kernel.machine)
    words = {
        "array_class": id(np.ndarray),
        "truth_of": _address(ctypes.pythonapi.PyBool_FromLong),
        "save_thread": _address(ctypes.pythonapi.PyEval_SaveThread),
        "restore_thread": _address(ctypes.pythonapi.PyEval_RestoreThread),
        "kernel": _address(kernel.native.call),
    }
    record = struct.pack(
        f"={len(_RECORD) + len(lengths)}q", *(words[name] for name in _RECORD), *lengths
    )
    method = _Method(b"short_call", _address(native.call), _FASTCALL, None)
    # What the function needs is its 'self', so that it lives as long as the function.
    kept = (record, method, native, kernel.native)
    function: ShortCall = _new_function()(ctypes.addressof(method), kept, None)
    return function


@cache
def is_possible() -> bool:
    """Whether objects lie in memory as the machine code takes them to: tried on a few."""
    if sys.implementation.name != "cpython" or _POINTER != 8:
        return False
    arrays = (np.empty(3), np.empty((2, 5), np.int8)[:, 1:], np.empty(()))
    record = b"a record of a few bytes"
    return (
        all(
            _word(array, _CLASS) == id(np.ndarray) and _word(array, _DATA) == array.ctypes.data
            for array in arrays
        )
        and _word((record, None), _FIRST_ITEM) == id(record)
        and ctypes.string_at(id(record) + _FIRST_BYTE, len(record)) == record
    )


def _word(value: Any, offset: int) -> int:
    return ctypes.c_int64.from_address(id(value) + offset).value


def _address(function: Any) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found


class _Method(ctypes.Structure):
    """CPython's ``PyMethodDef``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    )


@cache
def _new_function() -> Callable[[int, object, None], ShortCall]:
    arguments = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, *arguments)
    return prototype(("PyCFunction_NewEx", ctypes.pythonapi))


@cache
def _native(count: int, machine: Machine) -> NativeFunction:
    entry = Entry(_SYMBOL, pointers=2, integers=1)
    return compile_once(_text(count), entry, machine, CompileOptions(), default_cache())


def _text(count: int) -> str:
    """The function's LLVM IR for so many arrays."""
    places, last = range(count), count - 1
    words = dict.fromkeys(_RECORD, "ptr") | {f"length_{at}": "i64" for at in places}
    lines = [
        _BEGIN.substitute(symbol=_SYMBOL, item=_FIRST_ITEM, byte=_FIRST_BYTE),
        *(_WORD.substitute(name=n, at=at, type=t) for at, (n, t) in enumerate(words.items())),
        _COUNT.substitute(count=count),
        *(_ARGUMENT.substitute(at=at, next=at + 1, type=_CLASS, data=_DATA) for at in places),
        *(
            _APART.substitute(at=at, now=count + at, next=count + at + 1, last=last)
            for at in range(last)
        ),
        _CALL.substitute(now=count + last, passed=", ".join(f"i64 %data_{at}" for at in places)),
    ]
    return "".join(lines)


# Where nothing has been refused, "step_1" follows "step_0", and so on.
_BEGIN = Template("""\
define ptr @$symbol(ptr %self, ptr %arguments, i64 %count) {
  %first_item = getelementptr i8, ptr %self, i64 $item
  %bytes = load ptr, ptr %first_item
  %record = getelementptr i8, ptr %bytes, i64 $byte
""")

_WORD = Template("""\
  %place_of_$name = getelementptr i64, ptr %record, i64 $at
  %$name = load $type, ptr %place_of_$name, align 1
""")

_COUNT = Template("""\
  %is_count = icmp eq i64 %count, $count
  br i1 %is_count, label %step_0, label %refused
refused:
  %no = call ptr %truth_of(i64 0)
  ret ptr %no
""")

_ARGUMENT = Template("""\
step_$at:
  %argument_$at = getelementptr ptr, ptr %arguments, i64 $at
  %array_$at = load ptr, ptr %argument_$at
  %class_place_$at = getelementptr i8, ptr %array_$at, i64 $type
  %class_$at = load ptr, ptr %class_place_$at
  %is_array_$at = icmp eq ptr %class_$at, %array_class
  br i1 %is_array_$at, label %is_one_$at, label %refused
is_one_$at:
  %data_place_$at = getelementptr i8, ptr %array_$at, i64 $data
  %data_$at = load i64, ptr %data_place_$at
  br label %step_$next
""")

_APART = Template("""\
step_$now:
  %distance_$at = sub i64 %data_$at, %data_$last
  %nearest_$at = sub i64 0, %length_$at
  %is_before_$at = icmp sle i64 %distance_$at, %nearest_$at
  %is_behind_$at = icmp sge i64 %distance_$at, %length_$last
  %is_apart_$at = or i1 %is_before_$at, %is_behind_$at
  br i1 %is_apart_$at, label %step_$next, label %refused
""")

_CALL = Template("""\
step_$now:
  %thread = call ptr %save_thread()
  %status = call i32 %kernel($passed)
  call void %restore_thread(ptr %thread)
  %is_done = icmp eq i32 %status, 0
  %done = zext i1 %is_done to i64
  %answer = call ptr %truth_of(i64 %done)
  ret ptr %answer
}
""")
