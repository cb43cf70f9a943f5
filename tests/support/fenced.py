"""Arrays that end where the process may access no further memory."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from polysched.ir.semantics.memory import AnyArray

_NONE, _READ_WRITE = 0, 3
_PRIVATE_ANONYMOUS = 0x22
_FAILED = ctypes.c_void_p(-1).value


@contextmanager
def fenced(array: AnyArray) -> Iterator[tuple[int, AnyArray]]:
    """Copy an array to memory whose end no access may pass, also if the array is empty.

    Yields:
        The address of the first element, and the copy.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    page = mmap.PAGESIZE
    inside = -(-array.nbytes // page) * page
    start = libc.mmap(
        None, ctypes.c_size_t(inside + page), _NONE, _PRIVATE_ANONYMOUS, -1, ctypes.c_long(0)
    )
    assert start not in (None, _FAILED)
    if inside:
        assert not libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(inside), _READ_WRITE)
    address = start + inside - array.nbytes
    copy = np.empty(0, array.dtype)
    if array.size:
        memory = (ctypes.c_char * array.nbytes).from_address(address)
        copy = np.frombuffer(memory, array.dtype)
        copy[...] = array
    try:
        yield address, copy
    finally:
        libc.munmap(ctypes.c_void_p(start), ctypes.c_size_t(inside + page))
