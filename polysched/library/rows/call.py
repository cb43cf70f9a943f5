"""``softmax`` and ``layer_norm`` of numpy arrays, by size-generic kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from polysched.errors import CallError
from polysched.integers import as_integer
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.library.matmul.generic.compiled import NativeCode, native_code
from polysched.library.outputs import require_output
from polysched.library.rows.kernels import (
    FAR_BYTES,
    FAR_ROWS,
    LONG_VECTORS,
    layer_norm_rows_kernel,
    layer_norm_rows_schedule,
    softmax_rows_kernel,
    softmax_rows_schedule,
)
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.memory import addresses, contiguous
from polysched.runtime.tensors import returns_tensors
from polysched.runtime.threads import number_of_threads, usable_threads
from polysched.runtime.views import as_array

if TYPE_CHECKING:
    from polysched.user import Schedule

NumpyArray = np.ndarray[Any, Any]


@returns_tensors
def softmax(x: Any, axis: int = -1, *, out: Any = None, threads: int | None = None) -> NumpyArray:
    """Compute ``exp(x) / sum(exp(x))`` along an axis, without overflow.

    The largest element of each row is subtracted first. A row that contains NaN or +infinity, or
    nothing but -infinity, becomes NaN. One kernel serves all sizes. Rows along another axis than
    the last one, and arrays with gaps, are copied first.

    Args:
        x: an array of float32 or float64.
        axis: the axis along which the elements of the result add up to 1.
        out: the array or tensor for the result: contiguous, and with the shape and type of ``x``;
            by default a new array.
        threads: the most threads to use; by default as many as there are usable cores.

    Returns:
        the result; ``out`` if that was given.

    Raises:
        CallError: an argument does not fit. Nothing has been written then.
    """
    if out is not None and type(out) is not np.ndarray:
        softmax(x, axis, out=as_array(out, "softmax: out"), threads=threads)
        return out  # type: ignore[no-any-return]
    x, dtype = _floats("softmax", x)
    count = _threads("softmax", threads)
    position = _axis("softmax", axis, x.ndim)
    if out is not None:
        require_output("softmax", out, x.shape, x.dtype, {"x": x})
    is_last = position == x.ndim - 1
    moved = x if is_last else np.moveaxis(x, position, -1)
    result = out if is_last and out is not None else np.empty(moved.shape, x.dtype)
    _run("softmax", dtype, contiguous(moved), (), result, count)
    if is_last:
        return result
    restored = np.moveaxis(result, -1, position)
    if out is None:
        return restored
    out[...] = restored
    return out


@returns_tensors
def layer_norm(
    x: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *,
    out: Any = None,
    threads: int | None = None,
) -> NumpyArray:
    """Compute ``(x - mean) / sqrt(variance + eps) * weight + bias`` along the last axis.

    The variance is the mean of the squared differences from the mean, as in
    ``torch.nn.functional.layer_norm`` over the last dimension. NaN and infinity make their row NaN.
    One kernel serves all sizes. Arrays with gaps are copied first.

    Args:
        x: an array of float32 or float64.
        weight: factors, one for each element of a row; by default 1.
        bias: summands, one for each element of a row; by default 0.
        eps: the number that is added to the variance, at least 0.
        out: the array or tensor for the result: contiguous, and with the shape and type of ``x``;
            by default a new array.
        threads: the most threads to use; by default as many as there are usable cores.

    Returns:
        the result; ``out`` if that was given.

    Raises:
        CallError: an argument does not fit. Nothing has been written then.
    """
    if out is not None and type(out) is not np.ndarray:
        view = as_array(out, "layer_norm: out")
        layer_norm(x, weight, bias, eps, out=view, threads=threads)
        return out  # type: ignore[no-any-return]
    x, dtype = _floats("layer_norm", x)
    count = _threads("layer_norm", threads)
    columns = x.shape[-1]
    number = _number("layer_norm", "eps", eps)
    vectors = {
        name: _vector(name, given, columns, x.dtype, default)
        for name, given, default in (("weight", weight, 1), ("bias", bias, 0))
    }
    if out is not None:
        require_output("layer_norm", out, x.shape, x.dtype, {"x": x, **vectors})
    result = np.empty(x.shape, x.dtype) if out is None else out
    scalars = np.array(number, x.dtype), np.array(1 / max(columns, 1), x.dtype)
    _run("layer_norm", dtype, contiguous(x), (*vectors.values(), *scalars), result, count)
    return result


def _run(
    name: str,
    dtype: DType,
    x: NumpyArray,
    further: tuple[NumpyArray, ...],
    out: NumpyArray,
    threads: int,
) -> None:
    """Run the kernel on the rows of contiguous arrays, unless they are empty."""
    if not x.size:
        return
    rows, columns = x.size // x.shape[-1], x.shape[-1]
    native, lanes = _chosen(name, dtype, rows, columns, threads)
    at = addresses((x, *further, out))
    first = (at[-1] // dtype.bytes % lanes,) if lanes else ()
    native.run(at, (rows, columns, *first), threads)


@lru_cache(maxsize=512)
def _chosen(
    name: str, dtype: DType, rows: int, columns: int, threads: int
) -> tuple[NativeCode, int]:
    """The code for a matrix, and the lanes of a vector if it writes past the caches, else 0."""
    machine, size = load_machine(None), rows * columns
    lanes = machine.lanes(dtype.bits)
    is_short = columns < LONG_VECTORS * lanes
    is_parallel = threads > 1 and size >= machine.costs.parallel_elements
    is_far = (
        2 * size * dtype.bytes > machine.last_cache_bytes
        and columns % lanes == 0
        and FAR_BYTES <= columns * dtype.bytes <= _longest_far_row(name, machine)
        and not (is_parallel and rows < 2 * FAR_ROWS * threads)
    )
    native = native_code(RowCode(name, dtype, is_short, is_parallel, is_far, machine))
    return native, lanes if is_far else 0


def _longest_far_row(name: str, machine: Machine) -> float:
    """Bytes of a row up to which writing it past the caches pays.

    The buffer of softmax and the row itself have to stay in the L2 cache. Measured on Zen 4, times
    of ordinary stores over streaming ones: rows of 256 KiB 1.28, of 1 MiB 0.93, of 32 MiB 0.78;
    layer normalization 1.40, 1.34 and 1.08.
    """
    return machine.cache_bytes(2) / 2 if name == "softmax" else np.inf


@dataclass(frozen=True)
class RowCode:
    """A kernel of rows, whose machine code is kept on disk.

    Attributes:
        function: ``"softmax"`` or ``"layer_norm"``.
        is_short: whether it is for all numbers of columns, not only for long rows.
        is_parallel: whether threads share the rows.
        is_far: whether the rows are in memory, and the result is written past the caches.
    """

    function: str
    dtype: DType
    is_short: bool
    is_parallel: bool
    is_far: bool
    machine: Machine = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return f"{self.function}_rows_{self.dtype}"

    def schedule(self) -> Schedule:
        """The schedule that a call compiles, to be shown, edited or exported."""
        vectors, lanes = 1 if self.is_short else LONG_VECTORS, self.machine.lanes(self.dtype.bits)
        size = 1 if self.is_short else LONG_VECTORS * lanes, lanes if self.is_far else 0
        if self.function == "softmax":
            kernel = softmax_rows_kernel(self.dtype, *size)
            return softmax_rows_schedule(kernel, self.machine, vectors, parallel=self.is_parallel)
        kernel = layer_norm_rows_kernel(self.dtype, *size)
        return layer_norm_rows_schedule(kernel, self.machine, vectors, parallel=self.is_parallel)


def _floats(who: str, x: Any) -> tuple[NumpyArray, DType]:
    array = x if type(x) is np.ndarray else as_array(x, f"{who}: array 'x'")
    if array.dtype not in (np.float32, np.float64):
        raise CallError(
            f"{who}: 'x' has elements of type {array.dtype}; expected float32 or float64, other "
            "types are not built yet: convert it with .astype(...)"
        )
    if not array.ndim:
        raise CallError(f"{who}: 'x' has no dimension; expected an array of at least one")
    return array, as_dtype(array.dtype)


def _threads(who: str, threads: int | None) -> int:
    return usable_threads() if threads is None else number_of_threads(who, threads)


def _axis(who: str, axis: object, dimensions: int) -> int:
    number = as_integer(axis)
    if number is None or not -dimensions <= number < dimensions:
        raise CallError(
            f"{who}: axis={axis!r}; expected an integer from {-dimensions} to {dimensions - 1}"
        )
    return number % dimensions


def _number(who: str, name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if isinstance(value, bool | str) or not 0 <= number < np.inf:
        raise CallError(f"{who}: {name}={value!r}; expected a number >= 0")
    return number


def _vector(
    name: str, given: Any, columns: int, dtype: np.dtype[Any], default: float
) -> NumpyArray:
    """The factors or summands of a row."""
    if given is None:
        return np.full(columns, default, dtype)
    array = as_array(given, f"layer_norm: array '{name}'")
    if array.shape != (columns,) or array.dtype != dtype:
        raise CallError(
            f"layer_norm: '{name}' has shape {array.shape} and elements of type {array.dtype}; "
            f"expected {(columns,)} and {dtype}, as 'x' has"
        )
    return contiguous(array)
