"""``transpose(a)`` of numpy arrays: a contiguous copy with permuted axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysched.errors import CallError
from polysched.ir.expr.dtypes import u8, u16, u32, u64
from polysched.library.transpose.axes import checked_axes, simplest
from polysched.library.transpose.compiled import Compiled, compiled_for
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.array_layout import ALIGNED, C_CONTIGUOUS, WRITEABLE, fault_of_output
from polysched.runtime.call_cache import CallCache, CallTarget
from polysched.runtime.memory import aligned_copy, aligned_empty
from polysched.runtime.tensors import as_given, is_tensor
from polysched.runtime.threads import number_of_threads, usable_threads
from polysched.runtime.views import as_array

NumpyArray = NDArray[Any]

_ELEMENTS = {dtype.bytes: dtype for dtype in (u8, u16, u32, u64)}
_MOVED_BY_NUMPY = 16
"""Element size in bytes that is left to numpy, which copies such elements as a whole.

Moving them as rows of two 8-byte units is slower. For other large elements it is faster.
"""
_WORTH_ALIGNING = 1 << 16
"""Align new outputs to cache lines from this many bytes on.

Writing whole cache lines then gains more time than allocating an aligned array costs.
"""
_WRITABLE = C_CONTIGUOUS | ALIGNED | WRITEABLE
_ALIGNED_KINDS = frozenset("biufc")
"""Element kinds that numpy aligns to their size or half of it, as kernels expect."""

_CALL_CACHE = CallCache(512)


def transpose(
    a: Any, axes: Sequence[int] | None = None, out: Any = None, threads: int | None = None
) -> NumpyArray:
    """Copy an array with its axes permuted into a contiguous array, bit for bit.

    Tiles are transposed in registers. Results larger than the last cache are written by streaming
    stores. The first call of a kind compiles its kernel. This takes some 0.5 s, or less if the code
    is on disk.

    ``numpy.copyto`` does the work for identity permutations of arrays that exceed the L2 cache, for
    elements of 16 bytes, and for short rows unless they become few long rows. A non-contiguous
    array is copied first.

    Args:
        a: an array of any number of dimensions.
        axes: the axis of ``a`` for each axis of the result, as ``numpy.transpose`` takes it; by
            default all axes reversed. ``(0, 3, 1, 2)`` takes images from NHWC to NCHW.
        out: a contiguous array for the result that does not overlap ``a``; by default a new array.
        threads: the most threads to use; by default as many as there are usable cores.

    Raises:
        CallError: an argument does not fit. Nothing has been written then.
    """
    # Only integers, because 1.0 and True equal 1 but are errors.
    is_cached = (threads is None or type(threads) is int) and (
        axes is None or (type(axes) is tuple and all(type(axis) is int for axis in axes))
    )
    if is_cached and (done := _CALL_CACHE.run((axes, threads), a, out)) is not None:
        return done
    if type(a) is not np.ndarray or not (out is None or type(out) is np.ndarray):
        return _of_tensors(a, axes, out, threads)
    given = a
    if threads is not None:
        threads = number_of_threads("transpose", threads)
    order = None if axes is None else checked_axes(axes, a.ndim)
    entry = dispatch(a.dtype, a.shape, order, threads)
    given_out = out
    if out is None:
        out = new_output(entry.shape, a.dtype)
    else:
        _require_output(out, a, entry.shape)
    copy = entry.copy
    if copy is None or (copy.is_copy and not a.flags.c_contiguous):
        np.copyto(out, a.transpose(entry.order))
        return out  # type: ignore[no-any-return]
    if not a.flags.c_contiguous:
        a = np.ascontiguousarray(a)
    if not a.view(entry.bits).flags.aligned:  # numpy aligns text and records to one byte
        a = aligned_copy(a)
    x, y = a.view(entry.bits), out.view(entry.bits)
    if not y.flags.aligned:
        return _misaligned(a, out, entry)
    if (copy.source_shape, copy.target_shape) != (x.shape, y.shape):
        x, y = x.reshape(copy.source_shape), y.reshape(copy.target_shape)
    copy.kernel(x, y, **entry.options)
    if entry.direct_call is not None and is_cached and a is given:
        _CALL_CACHE.add((axes, threads), (a, given_out), entry.direct_call)
    return out  # type: ignore[no-any-return]


def _of_tensors(a: Any, axes: Sequence[int] | None, out: Any, threads: int | None) -> NumpyArray:
    """Transpose a tensor or another view of an array; the result is of the source's kind."""
    into = None if out is None else as_array(out, "transpose: out")
    transposed = transpose(as_array(a, "transpose: array 'a'"), axes, out=into, threads=threads)
    if out is not None:
        return out  # type: ignore[no-any-return]
    return as_given((a,), transposed) if is_tensor(a) else transposed


def _unwritable(out: NumpyArray) -> CallError:
    """The error about an output that cannot be written in place."""
    fault = fault_of_output(out.flags.num, out.shape, out.strides, out.itemsize, contiguous=True)
    return CallError(f"transpose: out {fault}; transpose into a new array and copy it")


def _misaligned(a: NumpyArray, out: NumpyArray, entry: DispatchEntry) -> NumpyArray:
    """Write an output that is not aligned to the moved units, by numpy.

    Raises:
        CallError: the output is not aligned to its elements either.
    """
    if entry.bits.itemsize == a.itemsize:
        raise _unwritable(out.view(entry.bits))
    np.copyto(out, a.transpose(entry.order))
    return out


@dataclass(frozen=True)
class DispatchEntry:
    """The implementation of one kind of call: a function of element type, shape and axes.

    Attributes:
        order: the axes of ``a`` in their new order.
        bits: the unsigned integer type that elements are moved as.
        copy: the compiled copy; None if numpy does the work.
        options: further arguments of the kernel's call.
        direct_call: the call that the call cache runs for later calls of this kind; None if an
            argument has to be viewed differently first.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    bits: np.dtype[Any]
    copy: Compiled | None
    options: Mapping[str, int]
    direct_call: CallTarget | None = None


@lru_cache(maxsize=512, typed=True)  # typed, because True equals 1 but is no number of threads
def dispatch(
    element: np.dtype[Any],
    extents: tuple[int, ...],
    axes: tuple[int, ...] | None,
    threads: int | None,
    machine: Machine | None = None,
) -> DispatchEntry:
    """Choose, and compile if needed, the copy of such arrays, by default for this machine.

    Raises:
        CallError: the type or the number of threads does not fit.
        MachineError: code for the machine cannot run here.
    """
    machine = machine or load_machine()
    if element.hasobject:
        raise CallError(f"transpose: array 'a' has elements of type {element}; expected plain data")
    order = tuple(reversed(range(len(extents)))) if axes is None else axes
    shape = tuple(extents[axis] for axis in order)
    if 0 in extents or not extents or element.itemsize in {0, _MOVED_BY_NUMPY}:
        return DispatchEntry(shape, order, element, None, {})
    size, inner, inner_order = _units(element.itemsize, extents, order)
    dtype, team = _ELEMENTS[size], threads or usable_threads()
    copy = compiled_for(simplest(inner, inner_order), dtype, team, machine)
    if copy is None:
        return DispatchEntry(shape, order, element, None, {})
    options = {"threads": team} if copy.kernel.is_threaded else {}
    direct_call = None
    if element.kind in _ALIGNED_KINDS and size <= element.itemsize:
        direct_call = _direct_call(copy, threads, shape, element)
    return DispatchEntry(shape, order, dtype.numpy(), copy, options, direct_call)


def _units(
    size: int, extents: tuple[int, ...], order: tuple[int, ...]
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """The unit in bytes that is moved, and the extents and the axis order in units.

    An element larger than 8 bytes becomes a further dimension of units. In a large array, a row of
    up to 8 bytes that stays contiguous becomes one unit.
    """
    unit = math.gcd(size, max(_ELEMENTS))
    if unit < size:
        extents, order = (*extents, size // unit), (*order, len(extents))
    row = unit * extents[-1]
    is_large = math.prod(extents) * unit >= _WORTH_ALIGNING
    stay = order[-1] == len(order) - 1 and not simplest(extents, order).is_copy
    if stay and row in _ELEMENTS and is_large and size == unit:
        return row, (*extents[:-1], 1), order
    return unit, extents, order


def _direct_call(
    copy: Compiled, threads: int | None, shape: tuple[int, ...], element: np.dtype[Any]
) -> CallTarget:
    """The target of later calls, whose arrays are passed to the kernel unchanged."""
    return CallTarget(copy.kernel, (0, 1), copy.sizes, threads, _allocation(shape, element))


def new_output(shape: tuple[int, ...], element: np.dtype[Any]) -> NumpyArray:
    """Allocate a result."""
    allocate, arguments = _allocation(shape, element)
    return allocate(*arguments)


def _allocation(
    shape: tuple[int, ...], element: np.dtype[Any]
) -> tuple[Callable[..., NumpyArray], tuple[Any, ...]]:
    """The allocator of a result and its arguments; large results are aligned to cache lines."""
    is_small = math.prod(shape) * element.itemsize < _WORTH_ALIGNING
    return np.empty if is_small else aligned_empty, (shape, element)


def _require_output(out: NumpyArray, a: NumpyArray, shape: tuple[int, ...]) -> None:
    if out.shape != shape:
        raise CallError(f"transpose: out has shape {out.shape}; expected {shape}")
    if out.dtype != a.dtype:
        raise CallError(
            f"transpose: out has elements of type {out.dtype}; expected {a.dtype}, as array 'a' has"
        )
    if out.flags.num & _WRITABLE != _WRITABLE:
        raise _unwritable(out)
    if np.may_share_memory(a, out) and np.shares_memory(a, out):
        raise CallError("transpose: out overlaps array 'a'; transpose into other memory")
