"""Arguments of ``attention``: the checks, and the sizes that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from polysched.errors import CallError, KernelError
from polysched.ir.expr.dtypes import as_dtype, bf16, f16, f32, f64
from polysched.library.outputs import require_output
from polysched.runtime.threads import number_of_threads, usable_threads
from polysched.runtime.views import as_array

NumpyArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Request:
    """Checked arguments.

    Attributes:
        q, k, v: the arrays, not yet broadcast.
        out: the array for the result; None for a new one.
        causal: whether a query sees only the keys up to its own position.
        scale: the factor of the scores.
    """

    q: NumpyArray
    k: NumpyArray
    v: NumpyArray
    mask: NumpyArray | None
    out: NumpyArray | None
    shape: tuple[int, ...]
    causal: bool
    scale: float
    threads: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of all elements."""
        dtype: np.dtype[Any] = self.q.dtype
        return dtype

    @property
    def queries(self) -> int:
        """The number of queries."""
        return self.shape[-2]

    @property
    def keys(self) -> int:
        """The number of keys."""
        return int(self.k.shape[-2])

    @property
    def width(self) -> int:
        """Elements of a query and of a key."""
        return int(self.q.shape[-1])

    @property
    def columns(self) -> int:
        """Elements of a row of the result."""
        return self.shape[-1]

    def result(self) -> NumpyArray:
        """``out``, or a new array."""
        return np.empty(self.shape, self.dtype) if self.out is None else self.out


def checked(
    q: Any, k: Any, v: Any, mask: Any, causal: Any, scale: Any, out: Any, threads: Any
) -> Request:
    """Check the arguments of a call."""
    arrays = {
        name: as_array(given, f"attention: array '{name}'")
        for name, given in (("q", q), ("k", k), ("v", v))
    }
    for name, array in arrays.items():
        _require_matrices(name, array)
        if array.dtype != arrays["q"].dtype:
            raise CallError(
                f"attention: '{name}' has elements of type {array.dtype}; expected "
                f"{arrays['q'].dtype}, as 'q' has"
            )
    queries, keys, values = (array.shape for array in arrays.values())
    if not queries[-1]:
        raise CallError("attention: the rows of 'q' have no elements; expected at least one")
    if keys[-1] != queries[-1]:
        raise CallError(
            f"attention: 'q' has shape {queries} and 'k' {keys}; expected rows of the same length"
        )
    if values[-2] != keys[-2]:
        raise CallError(
            f"attention: 'k' has shape {keys} and 'v' {values}; expected as many rows in each"
        )
    try:
        lead = np.broadcast_shapes(queries[:-2], keys[:-2], values[:-2])
    except ValueError:
        raise CallError(
            f"attention: 'q', 'k' and 'v' have shapes {queries}, {keys} and {values}; expected "
            "leading dimensions that can be broadcast"
        ) from None
    shape = (*lead, queries[-2], values[-1])
    if mask is not None:
        mask = as_array(mask, "attention: array 'mask'")
        _require_mask(mask, (*lead, queries[-2], keys[-2]), arrays["q"].dtype)
        arrays["mask"] = mask
    if out is not None:
        out = as_array(out, "attention: out")
        require_output("attention", out, shape, arrays["q"].dtype, arrays)
    if not isinstance(causal, bool | np.bool_):
        raise CallError(f"attention: causal={causal!r}; expected True or False")
    count = usable_threads() if threads is None else number_of_threads("attention", threads)
    factor = 1 / math.sqrt(queries[-1]) if scale is None else _finite(scale)
    return Request(
        arrays["q"], arrays["k"], arrays["v"], mask, out, shape, bool(causal), factor, count
    )


def _require_matrices(name: str, array: NumpyArray) -> None:
    try:
        is_float = as_dtype(array.dtype) in (f32, f64, bf16, f16)
    except KernelError:
        is_float = False
    if not is_float:
        raise CallError(
            f"attention: '{name}' has elements of type {array.dtype}; expected float32, float64, "
            "float16 or bfloat16: convert it with .astype(...)"
        )
    if array.ndim < 2:
        raise CallError(
            f"attention: '{name}' has shape {array.shape}; expected at least 2 dimensions, "
            "(..., length, width)"
        )


def _require_mask(mask: NumpyArray, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if mask.dtype not in (np.bool_, dtype):
        raise CallError(
            f"attention: 'mask' has elements of type {mask.dtype}; expected bool, or {dtype} as "
            "'q' has"
        )
    try:
        fits = np.broadcast_shapes(mask.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise CallError(
            f"attention: 'mask' has shape {mask.shape}; expected one that can be broadcast to "
            f"{shape}, (..., queries, keys)"
        )


def _finite(scale: Any) -> float:
    try:
        number = math.nan if isinstance(scale, bool | str) else float(scale)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise CallError(f"attention: scale={scale!r}; expected a finite number")
    return number
