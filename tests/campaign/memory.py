"""Arguments between guard pages: an access outside of an array ends the process."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.campaign.description import Array
from tests.campaign.executing import Oracle

_PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_CANARY = 0xA5
_NO_ACCESS = 0


class Guarded:
    """Bytes that end where a page without access begins, or begin where one ends."""

    def __init__(self, size: int, *, at_end: bool) -> None:
        pages = max(1, -(-size // _PAGE))
        self._map = mmap.mmap(-1, (pages + 2) * _PAGE)
        self._all = np.frombuffer(self._map, np.uint8)
        self._all[:] = _CANARY
        start = _PAGE + (pages * _PAGE - size if at_end else 0)
        self._base = self._all.ctypes.data
        self._pages, self._range = pages, (start, start + size)
        self.bytes = self._all[start : start + size]
        self._protect(_NO_ACCESS)

    def _protect(self, how: int) -> None:
        for page in (0, self._pages + 1):
            if _LIBC.mprotect(self._base + page * _PAGE, _PAGE, how):
                raise OSError(ctypes.get_errno(), "mprotect")

    def is_intact(self) -> bool:
        """Whether nothing was written beside the bytes."""
        start, end = self._range
        inside = self._all[_PAGE : (self._pages + 1) * _PAGE]
        rest = np.concatenate([inside[: start - _PAGE], inside[end - _PAGE :]])
        return bool((rest == _CANARY).all())

    def close(self) -> None:
        """Give the pages back; arrays that look at them are gone by then."""
        self._protect(mmap.PROT_READ | mmap.PROT_WRITE)


def numpy_type(dtype: str) -> np.dtype[Any]:
    if dtype == "bool":
        return np.dtype(np.bool_)
    return np.dtype(f"{dtype[0]}{int(dtype[1:]) // 8}")


def _bit_offsets(array: Array, shape: tuple[int, ...]) -> tuple[list[int], int]:
    """The first bit of every element in row-major order, and the number of bytes."""
    bits = array.bits
    count = int(np.prod(shape, dtype=int))
    if array.rows == "padded" and len(shape) > 1:
        row = -(-shape[-1] * bits // 8) * 8
        rows = count // shape[-1] if shape[-1] else 0
        total = int(np.prod(shape[:-1], dtype=int)) * row // 8
        return [r * row + k * bits for r in range(rows) for k in range(shape[-1])], total
    return [k * bits for k in range(count)], -(-count * bits // 8)


class Argument:
    """One argument in memory: written from a dictionary, read back into one."""

    def __init__(self, array: Array, oracle: Oracle, sizes: Mapping[str, int], at_end: bool):
        self._array = array
        self.shape = oracle.shape(array.name, sizes)
        self._places = list(np.ndindex(*self.shape))
        if array.is_packed:
            self._offsets, size = _bit_offsets(array, self.shape)
            self.memory = Guarded(size, at_end=at_end)
            self.view: Any = self.memory.bytes
            if array.rows == "padded" and len(self.shape) > 1:
                row = -(-self.shape[-1] * array.bits // 8)
                self.view = self.view.reshape(*self.shape[:-1], row)
            return
        dtype = numpy_type(array.type)
        if array.strides is None:
            size = dtype.itemsize * int(np.prod(self.shape, dtype=int))
            self.memory = Guarded(size, at_end=at_end)
            self.view = self.memory.bytes.view(dtype).reshape(self.shape)
            return
        strides = tuple(oracle.number(one, sizes) for one in array.strides)
        spans = ((n - 1) * s for n, s in zip(self.shape, strides, strict=True))
        size = dtype.itemsize * (0 if 0 in self.shape else 1 + sum(spans))
        self.memory = Guarded(size, at_end=at_end)
        self.view = np.lib.stride_tricks.as_strided(
            self.memory.bytes.view(dtype),
            self.shape,
            tuple(s * dtype.itemsize for s in strides),
        )

    def fill(self, values: Mapping[tuple[int, ...], Any]) -> None:
        self._store(values)
        self._before = self.memory.bytes.copy()
        self._filled = values

    def _store(self, values: Mapping[tuple[int, ...], Any]) -> None:
        if not self._array.is_packed:
            for place in self._places:
                self.view[place] = values[place]
            return
        bits = self._array.bits
        whole = int.from_bytes(self.memory.bytes.tobytes(), "little")
        mask = (1 << bits) - 1
        for place, offset in zip(self._places, self._offsets, strict=True):
            whole &= ~(mask << offset)
            whole |= (values[place] & mask) << offset
        size = len(self.memory.bytes)
        self.memory.bytes[:] = np.frombuffer(whole.to_bytes(size, "little"), np.uint8)

    def values(self) -> dict[tuple[int, ...], Any]:
        if not self._array.is_packed:
            return {place: self.view[place].item() for place in self._places}
        bits, signed = self._array.bits, self._array.type[0] == "i"
        whole = int.from_bytes(self.memory.bytes.tobytes(), "little")
        found = {}
        for place, offset in zip(self._places, self._offsets, strict=True):
            value = whole >> offset & (1 << bits) - 1
            found[place] = value - (1 << bits) if signed and value >> (bits - 1) else value
        return found

    def close(self) -> bool:
        """Whether nothing beside the elements was written; the memory is gone afterwards."""
        self._store(self._filled)
        unchanged = bool((self.memory.bytes == self._before).all())
        intact = self.memory.is_intact()
        self.memory.close()
        return intact and unchanged
