"""``matmul(a, b)`` on numpy arrays: planned, proved and compiled once for each kind of call."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.library.matmul.route import NumpyArray, Operand, Route, Shape, route
from polysched.runtime.plan import ALIGNED, C_CONTIGUOUS, WRITEABLE
from polysched.runtime.views import as_array

_ROUTES = 512
_WRITABLE_MATRIX = C_CONTIGUOUS | ALIGNED | WRITEABLE


def matmul(a: Any, b: Any, out: Any = None, *, threads: int | None = None) -> NumpyArray:
    """The matrix product of two arrays.

    Operands have the shapes that ``numpy.matmul`` takes: matrices, vectors, stacks of as many
    matrices, or a stack and one matrix ``b``. Both have the same type of elements, float32,
    float64 or a signed integer; products of int8 and of int16 are summed in int32. NaN and infinity
    go the way of the plain loops, whose sums are taken in any order. An empty sum is 0.

    The first call of a kind plans, proves and compiles, some 0.2 s, less if the code is on disk. A
    transposed view of a contiguous matrix is read as it is; any other view that is not contiguous
    is copied first. ``out`` has to be contiguous, and must not overlap the operands.

    Args:
        a: the left operand.
        b: the right operand.
        out: where the product goes; by default a new array.
        threads: how many threads may run; by default as many as there are usable cores.

    Returns:
        the product, ``out`` if it was given.

    Raises:
        CallError: an argument does not fit; nothing has been written then.
    """
    if type(a) is not np.ndarray or type(b) is not np.ndarray:
        a, b = as_array(a, "matmul: array 'a'"), as_array(b, "matmul: array 'b'")
    found = _route(a.dtype, a.shape, a.flags.num, b.dtype, b.shape, b.flags.num, threads)
    if out is None:
        out = np.empty(found.shape, found.dtype)
    else:
        _require_output(out, found)
    found.run(a, b, out)
    return out  # type: ignore[no-any-return]


@lru_cache(maxsize=_ROUTES)
def _route(
    a_dtype: np.dtype[Any],
    a_shape: Shape,
    a_flags: int,
    b_dtype: np.dtype[Any],
    b_shape: Shape,
    b_flags: int,
    threads: int | None,
) -> Route:
    return route(Operand(a_dtype, a_shape, a_flags), Operand(b_dtype, b_shape, b_flags), threads)


def _require_output(out: Any, found: Route) -> None:
    """Check what the kernel, which may see it in another shape, does not.

    Raises:
        CallError: it is no array of the result's shape and type, or not contiguous.
    """
    if not isinstance(out, np.ndarray):
        raise CallError(f"matmul: out is of type {type(out).__name__}; expected a numpy array")
    if out.shape != found.shape:
        raise CallError(f"matmul: out has shape {out.shape}; expected {found.shape}")
    if out.dtype != found.dtype:
        raise CallError(f"matmul: out has elements of type {out.dtype}; expected {found.dtype}")
    if out.flags.num & _WRITABLE_MATRIX != _WRITABLE_MATRIX:
        raise CallError(
            "matmul: out is read-only, misaligned or not contiguous in row-major order; multiply "
            "into a new array and copy it"
        )
