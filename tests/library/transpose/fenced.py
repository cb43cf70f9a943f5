"""Arrays between pages that may not be touched: what reads or writes outside ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)
_NOTHING = 0


class Fenced:
    """Memory with a forbidden page before and one behind; keep it as long as its arrays."""

    def __init__(self, size: int) -> None:
        self.inside = -(-max(size, 1) // PAGE) * PAGE
        self.memory = mmap.mmap(-1, self.inside + 2 * PAGE)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        for page in (self.start, self.start + PAGE + self.inside):
            failed = _LIBC.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), _NOTHING)
            if failed:
                raise OSError(ctypes.get_errno(), "mprotect")

    def array(self, shape: tuple[int, ...], dtype: npt.DTypeLike, *, at_end: bool) -> Any:
        """An array directly behind the first forbidden page, or directly before the last."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        offset = PAGE + (self.inside - size if at_end else 0)
        return np.frombuffer(self.memory, np.uint8, size, offset).view(dtype).reshape(shape)


def fenced(
    shape: tuple[int, ...], dtype: npt.DTypeLike, *, at_end: bool
) -> tuple[Fenced, np.ndarray[Any, Any]]:
    """An array of its own memory."""
    memory = Fenced(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    return memory, memory.array(shape, dtype, at_end=at_end)
