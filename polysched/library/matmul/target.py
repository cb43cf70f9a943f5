"""Call target of a plain product, for library functions that have their own call cache."""

from __future__ import annotations

from polysched.library.matmul.dispatch import cached_dispatch, operand_key
from polysched.library.matmul.epilogue import PLAIN
from polysched.library.matmul.shapes import NumpyArray
from polysched.runtime.call_cache import CallTarget


def matmul_target(
    a: NumpyArray, b: NumpyArray, threads: int | None, out: NumpyArray | None = None
) -> CallTarget | None:
    """The call target of ``matmul(a, b, out, threads=threads)``; the result is the last array.

    None if an argument has to be prepared in Python. Without ``out`` the result is a new array.
    """
    result = None if out is None or out.flags.c_contiguous else operand_key(out)
    return cached_dispatch(operand_key(a), operand_key(b), threads, PLAIN, None, result).direct_call
