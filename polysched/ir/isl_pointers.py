"""Where islpy's objects hold isl's pointers, which islpy does not say.

The header of an islpy object is followed by a word of nanobind's (``nb_inst`` in its source). The
lower half of this word is an offset, the upper half are flags. If the flag *direct* is set, isl's
pointer lies at that offset from the object. Else the address of isl's pointer lies there. C++
objects that are close enough to their Python object are direct, which those of threads often are.

That this is so is seen by objects that must hold equal pointers. Otherwise nothing is known.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import islpy as isl

from polysched.ir.own_memory import memory_at

WORDS = (ctypes.c_int64 * 2**44).from_address(0)
"""The memory of this process. Reading a word that is not mapped ends the process."""

_HEADER_BYTES = 16
"""Every Python object begins with its reference count and its type."""

_DIRECT = 4


class UnknownPointerError(Exception):
    """An object does not hold isl's pointer in one of the known ways."""


@dataclass(frozen=True)
class Layout:
    """How islpy's objects hold their pointers.

    Attributes:
        usual: the word behind the header of most results.
        flags: the flags that objects in good order may have.
    """

    usual: int
    flags: frozenset[int]

    def slot_finder(self) -> Callable[[Any], int]:
        """The function that says which of `WORDS` holds isl's pointer of an islpy object.

        It raises `UnknownPointerError` if the object is not as expected.
        """
        words, usual, flags = WORDS, self.usual, self.flags

        def slot(value: Any) -> int:
            at = (id(value) + _HEADER_BYTES) >> 3
            word = words[at]
            if word == usual:
                return words[at + 1] >> 3
            if word >> 32 not in flags:
                raise UnknownPointerError
            place = id(value) + _offset(word)
            return (place if word >> 32 & _DIRECT else words[place >> 3]) >> 3

        return slot


def _offset(word: int) -> int:
    """The lower half as a signed number."""
    return (word & 0xFFFF_FFFF ^ 0x8000_0000) - 0x8000_0000


def find_layout() -> Layout | None:
    """How islpy's objects hold their pointers; None if they do not as expected.

    A copy of an isl object is the same object with one more reference, so an islpy object and its
    copies hold the same pointer.
    """
    if (
        sys.implementation.name != "cpython"
        or sys.byteorder != "little"
        or object.__basicsize__ != _HEADER_BYTES
    ):
        return None
    samples = (isl.Set("{ [i] : 0 <= i < 9 }"), isl.Val(7), isl.PwAff("{ [i] -> [i] }"))
    flags, pointers = set(), set()
    for made in samples:
        same = (made, made.copy(), made.copy())
        held = {_held_safely(value) for value in same}
        if len(held) != 1 or 0 in held:
            return None
        pointers |= held
        first, *others = (_word_at(id(value) + _HEADER_BYTES) >> 32 for value in same)
        flags.add((first, *{other & ~_DIRECT for other in others}))
    if len(flags) != 1 or len(pointers) != len(samples):
        return None
    inside, *outside = flags.pop()
    if len(outside) != 1 or not inside & _DIRECT:
        return None
    usual = outside[0] << 32 | _HEADER_BYTES + 8
    return Layout(usual, frozenset((inside, outside[0], outside[0] | _DIRECT)))


def _held_safely(value: Any) -> int:
    """What is held where isl's pointer should be; 0 where there is no memory."""
    word = _word_at(id(value) + _HEADER_BYTES)
    place = id(value) + _offset(word)
    return _word_at(place if word >> 32 & _DIRECT else _word_at(place))


def _word_at(address: int) -> int:
    return int.from_bytes(memory_at(address, 8), "little")
