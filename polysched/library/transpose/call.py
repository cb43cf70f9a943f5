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
from polysched.ir.dtypes import u8, u16, u32, u64
from polysched.library.transpose.axes import checked_axes, simplest
from polysched.library.transpose.compiled import Compiled, compiled_for
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.door import Door, Target
from polysched.runtime.memory import aligned_copy, aligned_empty
from polysched.runtime.numpy_memory import ALIGNED, C_CONTIGUOUS, WRITEABLE
from polysched.runtime.output_faults import fault_of_output
from polysched.runtime.threads import current_team, number_of_threads, usable_threads
from polysched.runtime.views import as_array

NumpyArray = NDArray[Any]

_ELEMENTS = {dtype.bytes: dtype for dtype in (u8, u16, u32, u64)}
_MOVED_BY_NUMPY = 16
"""Bytes of elements that numpy moves whole, faster than rows of two; not so other large ones."""
_WORTH_ALIGNING = 1 << 16
"""Bytes from which on lines that are written whole gain more than an aligned array costs."""
_SHORT = 1 << 15
"""Bytes that are moved in less time than it takes to hand over Python's lock and get it back."""

_WRITABLE = C_CONTIGUOUS | ALIGNED | WRITEABLE
_ALIGNED_KINDS = frozenset("biufc")
"""Kinds of elements that numpy aligns to their size, or half of it, as code for them expects."""

_DOOR = Door(512)
_ENTER = _DOOR.enter
_DOOR_OF_TEAMS = Door(512)
"""Calls with a number of threads and no axes: the number 1 is no order of axes, nor the reverse."""


def transpose(
    a: Any,
    axes: Sequence[int] | None = None,
    out: Any = None,
    threads: int | None = None,
) -> NumpyArray:
    """A contiguous copy of an array with its axes in another order, bit for bit.

    Tiles are transposed in registers; what is larger than the last cache is written past it. The
    first call of a kind compiles, some 0.5 s, less if the code is on disk. Orders that move nothing
    (but of what fits the second cache), elements of 16 bytes and short rows that do not become few
    long ones are left to ``numpy.copyto``. An array that is not contiguous is copied first.

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
    if threads is None:
        # The door knows objects by identity, and has learned none that can change.
        done = _ENTER(axes, a, out)
        if done is not None:
            return done  # type: ignore[no-any-return]
    return _transposed(a, axes, out, threads)


def _transposed(a: Any, axes: Sequence[int] | None, out: Any, threads: int | None) -> NumpyArray:
    """What :func:`transpose` does if the door does not know the call; it is taught then."""
    door, option = (_DOOR, axes) if threads is None else (_DOOR_OF_TEAMS, threads)
    is_known_by_option = threads is None or axes is None
    if threads is not None:
        if axes is None and (done := _DOOR_OF_TEAMS.enter(threads, a, out)) is not None:
            return done  # type: ignore[no-any-return]
        threads = number_of_threads("transpose", threads)
    if type(a) is not np.ndarray:
        a = as_array(a, "transpose: array 'a'")
    order = None if axes is None else checked_axes(axes, a.ndim)
    found = dispatch(a.dtype, a.shape, order, threads)
    given, passed = out, a
    if out is None:
        out = new_output(found.shape, a.dtype)
    else:
        _require_output(out, a, found.shape)
    made = found.made
    if made is None or (made.is_copy and not a.flags.c_contiguous):
        np.copyto(out, a.transpose(found.order))
        return out  # type: ignore[no-any-return]
    if not a.flags.c_contiguous:
        a = np.ascontiguousarray(a)
    if not a.view(found.bits).flags.aligned:  # numpy aligns bytes of text and records to one
        a = aligned_copy(a)
    x, y = a.view(found.bits), out.view(found.bits)
    if not y.flags.aligned:
        return _misaligned(a, out, found)
    if (made.source_shape, made.target_shape) != (x.shape, y.shape):
        x, y = x.reshape(made.source_shape), y.reshape(made.target_shape)
    made.kernel(x, y, **found.options)
    if found.target is not None and is_known_by_option and _is_fixed(option) and a is passed:
        door.learn(option, (a, given), found.target)
    return out  # type: ignore[no-any-return]


def _unwritable(out: NumpyArray) -> CallError:
    """The error about an output that cannot be written where it lies."""
    fault = fault_of_output(out.flags.num, out.shape, out.strides, out.itemsize, contiguous=True)
    return CallError(f"transpose: out {fault}; transpose into a new array and copy it")


def _misaligned(a: NumpyArray, out: NumpyArray, found: DispatchEntry) -> NumpyArray:
    """Where the output does not lie as what is moved has to: numpy moves elements, if they do.

    Raises:
        CallError: they do not.
    """
    if found.bits.itemsize == a.itemsize:
        raise _unwritable(out.view(found.bits))
    np.copyto(out, a.transpose(found.order))
    return out


def _is_fixed(option: Any) -> bool:
    """Whether it is nothing, a number or a tuple of numbers."""
    values = option if type(option) is tuple else (option,)
    return option is None or all(type(value) is int for value in values)


@dataclass(frozen=True)
class DispatchEntry:
    """All about a call that follows from its types, shape and axes alone.

    Attributes:
        shape: of the result.
        order: the axes of ``a`` in their new order.
        bits: the type that elements are moved as.
        made: what moves them; None where numpy does.
        options: what its kernel is called with.
        target: what calls with contiguous arrays run at once when they come again; None if there is
            more to do.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    bits: np.dtype[Any]
    made: Compiled | None
    options: Mapping[str, int]
    target: Target | None = None


@lru_cache(maxsize=512, typed=True)  # True is no number of threads, though it equals 1
def dispatch(
    element: np.dtype[Any],
    extents: tuple[int, ...],
    axes: tuple[int, ...] | None,
    threads: int | None,
    machine: Machine | None = None,
) -> DispatchEntry:
    """How to transpose such arrays; compiles what it takes, for this machine by default.

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
    made = compiled_for(simplest(inner, inner_order), dtype, team, machine)
    if made is None:
        return DispatchEntry(shape, order, element, None, {})
    options = {"threads": team} if made.kernel.is_threaded else {}
    target = None
    if element.kind in _ALIGNED_KINDS and size <= element.itemsize:
        target = _target(made, threads, shape, element)
    return DispatchEntry(shape, order, dtype.numpy(), made, options, target)


def _units(
    size: int, extents: tuple[int, ...], order: tuple[int, ...]
) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Bytes of what is moved, and how many of these lie along which axis, in which order.

    Larger elements are rows of units; large arrays of rows that are no larger than an element may
    be are arrays of such elements.
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


def _target(
    made: Compiled, threads: int | None, shape: tuple[int, ...], element: np.dtype[Any]
) -> Target:
    """What a call runs that gives contiguous arrays to the kernel as they lie."""
    is_threaded = made.kernel.is_threaded
    team, number = ((current_team().address,), (threads or 0,)) if is_threaded else ((), ())
    return Target(
        made.kernel.native.call,
        sources=(0, 1),
        values=(*team, *made.sizes, *number),
        threads_at=1 + len(made.sizes) if is_threaded and threads is None else None,
        written=(1,),
        allocate=_allocation(shape, element),
        is_short=2 * math.prod(shape) * element.itemsize <= _SHORT,
    )


def new_output(shape: tuple[int, ...], element: np.dtype[Any]) -> NumpyArray:
    """A new array for a result."""
    allocate, arguments = _allocation(shape, element)
    return allocate(*arguments)


def _allocation(
    shape: tuple[int, ...], element: np.dtype[Any]
) -> tuple[Callable[..., NumpyArray], tuple[Any, ...]]:
    """What makes a new output, aligned to cache lines where that is worth the time it takes."""
    is_small = math.prod(shape) * element.itemsize < _WORTH_ALIGNING
    return np.empty if is_small else aligned_empty, (shape, element)


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
        raise _unwritable(out)
    if np.may_share_memory(a, out) and np.shares_memory(a, out):
        raise CallError("transpose: out overlaps array 'a'; transpose into other memory")
