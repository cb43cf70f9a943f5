"""Location of isl's pointers in islpy's objects, which islpy does not document.

After the header of an islpy object comes a word of nanobind's (``nb_inst`` in its source). Its
lower half is an offset, its upper half holds flags. If the flag *direct* is set, isl's pointer is
stored at that offset from the object; otherwise the address of isl's pointer is stored there. A C++
object is direct if it is close enough to its Python object, which is often the case in threads.

The layout is verified with objects that must hold equal pointers. If the check fails, the layout
counts as unknown.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import islpy as isl

from polysched.ir.isl.own_memory import memory_at

WORDS = (ctypes.c_int64 * 2**44).from_address(0)
"""The memory of this process as words. Reading an unmapped word crashes the process."""

HEADER_BYTES = 16
"""Size of the header of a Python object: reference count and type."""

_DIRECT = 4


class UnknownPointerError(Exception):
    """The layout of an islpy object is not one of the known ones."""


@dataclass(frozen=True)
class Layout:
    """Layout of islpy's objects.

    Attributes:
        usual: the word after the header of most results.
        flags: the valid values of the word's upper half.
    """

    usual: int
    flags: frozenset[int]

    def slot_finder(self) -> Callable[[Any], int]:
        """Return a function from an islpy object to the index in `WORDS` of its isl pointer.

        The function raises `UnknownPointerError` if the object's layout is unknown.
        """
        words, usual, flags = WORDS, self.usual, self.flags

        def slot(value: Any) -> int:
            at = (id(value) + HEADER_BYTES) >> 3
            word = words[at]
            if word == usual:
                return words[at + 1] >> 3
            if word >> 32 not in flags:
                raise UnknownPointerError
            address = id(value) + _offset(word)
            return (address if word >> 32 & _DIRECT else words[address >> 3]) >> 3

        return slot


def _offset(word: int) -> int:
    """The lower half of the word as a signed number."""
    return (word & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000


def find_layout() -> Layout | None:
    """Determine the layout of islpy's objects; None if the check fails.

    Copying an isl object only increments its reference count, so an islpy object and its copies
    must hold the same pointer, and different objects must hold different ones.
    """
    if (
        sys.implementation.name != "cpython"
        or sys.byteorder != "little"
        or object.__basicsize__ != HEADER_BYTES
    ):
        return None
    samples = (isl.Set("{ [i] : 0 <= i < 9 }"), isl.Val(7), isl.PwAff("{ [i] -> [i] }"))
    flags, pointers = set(), set()
    for sample in samples:
        same = (sample, sample.copy(), sample.copy())
        pointers_of_same = {_held_safely(value) for value in same}
        if len(pointers_of_same) != 1 or 0 in pointers_of_same:
            return None
        pointers |= pointers_of_same
        first, *others = (_word_at(id(value) + HEADER_BYTES) >> 32 for value in same)
        flags.add((first, *{other & ~_DIRECT for other in others}))
    if len(flags) != 1 or len(pointers) != len(samples):
        return None
    inside, *outside = flags.pop()
    if len(outside) != 1 or not inside & _DIRECT:
        return None
    usual = outside[0] << 32 | HEADER_BYTES + 8
    return Layout(usual, frozenset((inside, outside[0], outside[0] | _DIRECT)))


def _held_safely(value: Any) -> int:
    """Read isl's pointer without the risk of a crash; 0 if the memory is not mapped."""
    word = _word_at(id(value) + HEADER_BYTES)
    address = id(value) + _offset(word)
    return _word_at(address if word >> 32 & _DIRECT else _word_at(address))


def _word_at(address: int) -> int:
    return int.from_bytes(memory_at(address, 8), "little")
