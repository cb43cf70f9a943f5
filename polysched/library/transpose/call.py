"""``transpose(a)`` on numpy arrays: a copy with the axes in another order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
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
from polysched.runtime.door import Door, Target
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.memory import aligned_copy, aligned_empty
from polysched.runtime.plan import ALIGNED, C_CONTIGUOUS, WRITEABLE
from polysched.runtime.threads import current_team, usable_threads
from polysched.runtime.views import as_array

NumpyArray = NDArray[Any]

_ELEMENTS = {dtype.bytes: dtype for dtype in (u8, u16, u32, u64)}
_WORTH_THREADS = 1 << 20
"""Bytes from which on a second thread gains more than its start costs."""
_WORTH_ALIGNING = 1 << 16
"""Bytes from which on lines that are written whole gain more than an aligned array costs."""
LEAST_ELEMENTS = 1 << 6
"""Elements up to which numpy is as fast, and nothing has to be compiled."""

_WRITABLE = C_CONTIGUOUS | ALIGNED | WRITEABLE
_NOT_WRITABLE = (
    "transpose: out is read-only, misaligned or not contiguous in row-major order; "
    "transpose into a new array and copy it"
)
_LEAST_COLUMNS: Mapping[int, int] = MappingProxyType({1: 2, 2: 3, 4: 7, 8: 3})
"""Elements of a row of x, by their bytes, below which numpy's loop over single ones is faster,"""
_FEWEST_THIN = 512
"""if the array has as many elements: of fewer, its call takes longer than all of ours."""

_ALIGNED_KINDS = frozenset("biufc")
"""Kinds of elements that numpy aligns to their size, or half of it, as code for them expects."""

_DOOR = Door(512)
_NEITHER = object()


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
    last axis the last, elements of more than 8 bytes, many rows of one or two elements (of 4 bytes:
    up to six) and arrays of less than 64 elements are left to ``numpy.copyto``. An array that is
    not contiguous is copied first.

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
    # The door knows objects by identity, and has learnt none that can change.
    option = axes if threads is None else threads if axes is None else _NEITHER
    if (done := _DOOR.enter(option, a, out)) is not None:
        return done  # type: ignore[no-any-return]
    if type(a) is not np.ndarray:
        a = as_array(a, "transpose: array 'a'")
    order = None if axes is None else checked_axes(axes, a.ndim)
    found = route(a.dtype, a.shape, order, threads)
    given, passed = out, a
    if out is None:
        out = new_output(found.shape, a.dtype)
    else:
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
    if found.target is not None and _is_fixed(option) and a is passed:
        _DOOR.learn(option, (a, given), found.target)
    return out  # type: ignore[no-any-return]


def _is_fixed(option: Any) -> bool:
    """Whether it is nothing, a number or a tuple of numbers."""
    values = option if type(option) is tuple else (option,)
    return option is None or all(type(value) is int for value in values)


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
        target: what calls with contiguous arrays run at once when they come again; None if there is
            more to do.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    movement: Movement
    target_shape: tuple[int, ...]
    bits: np.dtype[Any]
    kernel: CompiledKernel | None
    options: Mapping[str, int]
    target: Target | None = None


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
    is_copy = movement.order[-1:] in {(), (last,)}
    if dtype is None or is_copy or count < LEAST_ELEMENTS or _is_thin(movement, dtype, count):
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
    is_plain = element.kind in _ALIGNED_KINDS
    return Route(
        shape,
        order,
        movement,
        target_shape,
        dtype.numpy(),
        kernel,
        options,
        _target(kernel, movement, threads, shape, element) if is_plain else None,
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


def _is_thin(movement: Movement, dtype: DType, count: int) -> bool:
    return count >= _FEWEST_THIN and movement.shape[-1] < _LEAST_COLUMNS[dtype.bytes]


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


def _target(
    kernel: CompiledKernel,
    movement: Movement,
    threads: int | None,
    shape: tuple[int, ...],
    element: np.dtype[Any],
) -> Target:
    """What a call runs that gives contiguous arrays to the kernel as they lie."""
    is_threaded = kernel.is_threaded
    team, number = ((current_team().address,), (threads or 0,)) if is_threaded else ((), ())
    return Target(
        kernel.native.call,
        sources=(0, 1),
        values=(*team, *movement.shape, *number),
        threads_at=1 + len(movement.shape) if is_threaded and threads is None else None,
        written=(1,),
        allocate=(new_output, (shape, element)),
    )


def new_output(shape: tuple[int, ...], element: np.dtype[Any]) -> NumpyArray:
    """A new array for a result, aligned to cache lines where that is worth the time it takes."""
    if math.prod(shape) * element.itemsize < _WORTH_ALIGNING:
        return np.empty(shape, element)
    return aligned_empty(shape, element)


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
