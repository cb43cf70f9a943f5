"""The machine code of a plain product, for callers that have their own call cache."""

from __future__ import annotations

from polysched.library.matmul.dispatch import cached_dispatch, operand_key
from polysched.library.matmul.epilogue import PLAIN
from polysched.library.matmul.shapes import NumpyArray
from polysched.runtime.door import Target


def matmul_target(
    a: NumpyArray, b: NumpyArray, threads: int | None, out: NumpyArray | None = None
) -> Target | None:
    """The machine code that ``matmul(a, b, out, threads=threads)`` runs; the result comes last.

    None if an argument has to be prepared in Python. Without ``out`` the result is a new array.
    """
    result = None if out is None or out.flags.c_contiguous else operand_key(out)
    return cached_dispatch(operand_key(a), operand_key(b), threads, PLAIN, None, result).direct_call
