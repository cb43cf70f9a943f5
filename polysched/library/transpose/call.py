"""``transpose(a)`` on numpy arrays: a copy with the axes in another order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polysched.errors import CallError
from polysched.ir.dtypes import DType, u8, u16, u32, u64
from polysched.library.transpose.axes import Movement, checked_axes, simplest
from polysched.library.transpose.kernel import transpose_kernel
from polysched.library.transpose.schedule import (
    Visit,
    shared,
    transpose_schedule,
    visit_of,
)
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.memory import address, aligned_copy, aligned_zeros
from polysched.runtime.plan import ALIGNED, C_CONTIGUOUS, WRITEABLE
from polysched.runtime.threads import usable_threads
from polysched.runtime.views import as_array

NumpyArray = NDArray[Any]

_ELEMENTS = {dtype.bytes: dtype for dtype in (u8, u16, u32, u64)}
_WORTH_THREADS = 1 << 20
"""Bytes from which on a second thread gains more than its start costs."""
LEAST_ELEMENTS = 1 << 14
"""Elements up to which a call takes longer than numpy needs for all of it."""

_WRITABLE = C_CONTIGUOUS | ALIGNED | WRITEABLE
_NOT_WRITABLE = (
    "transpose: out is read-only, misaligned or not contiguous in row-major order; "
    "transpose into a new array and copy it"
)
_VIEWED = frozenset("biufc")
"""Kinds of elements that numpy lends the memory of, as the quickest way to an address takes it."""


def transpose(
    a: Any,
    axes: Sequence[int] | None = None,
    out: Any = None,
    *,
    threads: int | None = None,
) -> NumpyArray:
    """A contiguous copy of an array with its axes in another order, bit for bit.

    Tiles are transposed in registers; what is larger than the last cache is written past it. The
    first call of a kind compiles, some 0.5 s, less if the code is on disk. Orders that leave the
    last axis the last, elements of more than 8 bytes and arrays of less than 16384 elements are
    left to ``numpy.copyto``. An array that is not contiguous is copied first.

    Args:
        a: an array of any dimensions.
        axes: for each axis of the result, that of ``a``, as ``numpy.transpose`` takes it; by
            default all of them reversed. ``(0, 3, 1, 2)`` takes images from NHWC to NCHW.
        out: where the result goes: a contiguous array that does not overlap ``a``; by default a new
            one.
        threads: how many threads may run; by default as many as there are usable cores.

    Raises:
        CallError: an argument does not fit; nothing has been written then.
    """
    if type(a) is not np.ndarray:
        a = as_array(a, "transpose: array 'a'")
    order = None if axes is None else checked_axes(axes, a.ndim)
    found = route(a.dtype, a.shape, order, threads)
    if out is None:
        out = aligned_zeros(found.shape, a.dtype)
    if found.direct is not None and _is_plain(a, out, found.shape):
        source, target, size = address(a, True), address(out, True), a.nbytes
        if source + size <= target or target + size <= source:
            # It has no workspace that could be lacking, so the status says nothing.
            found.direct(source, target, *found.movement.shape)
            return out  # type: ignore[no-any-return]
    _require_output(out, a, found.shape)
    if found.kernel is None:
        np.copyto(out, a.transpose(found.order))
        return out  # type: ignore[no-any-return]
    if not a.flags.c_contiguous:
        a = np.ascontiguousarray(a)
    if not a.view(found.bits).flags.aligned:  # numpy aligns bytes of text and records to one
        a = aligned_copy(a)
    x, y = a.view(found.bits), out.view(found.bits)
    if not y.flags.aligned:
        raise CallError(_NOT_WRITABLE)
    if found.movement.shape != a.shape:
        x, y = x.reshape(found.movement.shape), y.reshape(found.target_shape)
    found.kernel(x, y, **found.options)
    return out  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Route:
    """All about a call that follows from its types, shape and axes alone.

    Attributes:
        shape: of the result.
        order: the axes of ``a`` in their new order.
        movement: the simplest one that does the same.
        target_shape: the result's shape by the dimensions of ``movement``.
        bits: the type that elements are moved as.
        kernel: what moves them; None where numpy does.
        options: what the kernel is called with.
        direct: the kernel's machine code, where two addresses and the extents of ``movement`` are
            all that it takes. After a megabyte has gone through the caches, a call of the kernel
            with all its checks costs a fifth of the copy.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    movement: Movement
    target_shape: tuple[int, ...]
    bits: np.dtype[Any]
    kernel: CompiledKernel | None
    options: Mapping[str, int]
    direct: Callable[..., int] | None = None


@lru_cache(maxsize=512, typed=True)  # True is no number of threads, though it equals 1
def route(
    element: np.dtype[Any],
    extents: tuple[int, ...],
    axes: tuple[int, ...] | None,
    threads: int | None,
    machine: Machine | None = None,
) -> Route:
    """How to transpose such arrays; compiles what it takes, for this machine by default.

    Raises:
        CallError: the type or the number of threads does not fit.
        MachineError: code for the machine cannot run here.
    """
    machine = machine or load_machine()
    if element.hasobject:
        raise CallError(f"transpose: array 'a' has elements of type {element}; expected plain data")
    if threads is not None and (type(threads) is not int or threads < 1):
        raise CallError(f"transpose: threads={threads!r}; expected an integer >= 1")
    order = tuple(reversed(range(len(extents)))) if axes is None else axes
    movement = simplest(extents, order)
    shape = tuple(extents[axis] for axis in order)
    target_shape = tuple(movement.shape[axis] for axis in movement.order)
    dtype = _ELEMENTS.get(element.itemsize)
    last = len(movement.order) - 1
    count = math.prod(extents)
    if dtype is None or movement.order[-1:] in {(), (last,)} or count < LEAST_ELEMENTS:
        return Route(shape, order, movement, target_shape, element, None, {})
    size = count * element.itemsize
    team = threads or usable_threads()
    is_threaded = team > 1 and size >= _WORTH_THREADS
    tile = machine.lanes(dtype.bits)
    rows, columns = movement.shape[movement.order[-1]] // tile, movement.shape[-1] // tile
    visit = visit_of(
        tile,
        _pitch(target_shape, movement.order.index(last)) * element.itemsize,
        is_large=2 * size >= _last_cache(machine),
        is_near=2 * size <= _second_cache(machine),
        diagonal=min(rows // team if is_threaded else rows, columns),
        source_pitch=_pitch(movement.shape, movement.order[-1]) * element.itemsize,
        page_bytes=machine.page_bytes,
    )
    if is_threaded:
        visit = shared(visit, rows, team)
    kernel = transposing(movement.order, dtype, visit, machine)
    options = {"threads": team} if kernel.is_threaded else {}
    is_direct = not kernel.is_threaded and element.kind in _VIEWED
    return Route(
        shape,
        order,
        movement,
        target_shape,
        dtype.numpy(),
        kernel,
        options,
        kernel.native.call if is_direct else None,
    )


@lru_cache(maxsize=64)
def transposing(
    order: tuple[int, ...], dtype: DType, visit: Visit, machine: Machine
) -> CompiledKernel:
    """The compiled copy of an order of dimensions. A tile has a vector of the type on each side.

    Args:
        order: as :func:`polysched.library.transpose.kernel.transpose_kernel` takes it.
        dtype: of the elements.
        visit: how tiles are visited.
        machine: what it is compiled for.
    """
    tile = machine.lanes(dtype.bits)
    kernel = transpose_kernel(order, dtype, tile)
    return compile(transpose_schedule(kernel, tile, visit), machine)


def _pitch(shape: Sequence[int], axis: int) -> int:
    """Elements from one index of an axis to the next."""
    return math.prod(shape[axis + 1 :])


def _last_cache(machine: Machine) -> int:
    """Bytes of the last cache; 32 MiB where nothing is known."""
    caches = machine.caches
    return caches[-1].bytes if caches else 1 << 25


def _second_cache(machine: Machine) -> int:
    """Bytes of the second cache, or the only one; 256 KiB where nothing is known."""
    caches = machine.caches[:2]
    return caches[-1].bytes if caches else 1 << 18


def _is_plain(a: NumpyArray, out: Any, shape: tuple[int, ...]) -> bool:
    """Whether a glance tells that both arrays are as the machine code takes them.

    Overlaps aside. It asks what costs least: after a megabyte has gone through the caches every
    question is dear.
    """
    return (
        type(out) is np.ndarray
        and out.shape == shape
        and out.dtype is a.dtype
        and a.flags.num & out.flags.num & _WRITABLE == _WRITABLE
    )


def _require_output(out: Any, a: NumpyArray, shape: tuple[int, ...]) -> None:
    if not isinstance(out, np.ndarray):
        raise CallError(f"transpose: out is of type {type(out).__name__}; expected a numpy array")
    if out.shape != shape:
        raise CallError(f"transpose: out has shape {out.shape}; expected {shape}")
    if out.dtype != a.dtype:
        raise CallError(
            f"transpose: out has elements of type {out.dtype}; expected {a.dtype}, as array 'a' has"
        )
    if out.flags.num & _WRITABLE != _WRITABLE:
        raise CallError(_NOT_WRITABLE)
    if np.may_share_memory(a, out) and np.shares_memory(a, out):
        raise CallError("transpose: out overlaps array 'a'; transpose into other memory")
