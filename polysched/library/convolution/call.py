"""Convolutions of arrays in one, two and three dimensions, by kernels for their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.library.convolution.arguments import Options, Request, checked
from polysched.library.convolution.kernel import convolution_kernel
from polysched.library.convolution.prepare import (
    LAYOUTS,
    NumpyArray,
    Prepared,
    PreparedWeight,
    channels_last_order,
)
from polysched.library.convolution.schedule import convolution_schedule, is_worth_threads
from polysched.library.convolution.size import Convolution, Finish, Padding
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.array_layout import Layout, layout_of
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.memory import aligned_copy, share_memory
from polysched.runtime.views import as_array
from polysched.user import Schedule

Extents = int | tuple[int, ...]


@dataclass(frozen=True)
class ConvolutionCode:
    """The properties of a call that its code depends on.

    Attributes:
        size: the sizes.
        finish: what is added to the sums, and the activation.
        dtype: the element type.
        block: output channels side by side in prepared weights; 0 if they are not blocked.
        is_parallel: whether it runs on several threads.
    """

    size: Convolution
    finish: Finish
    dtype: DType
    block: int
    is_parallel: bool

    def kernel(self) -> Kernel:
        """The kernel that a call schedules."""
        return convolution_kernel(self.size, self.finish, dtype=self.dtype, block=self.block)

    def schedule(self, machine: Machine | str | None = None) -> Schedule:
        """The schedule that a call compiles, to be shown, edited or exported."""
        return convolution_schedule(self.kernel(), machine, 2 if self.is_parallel else 1)


def conv2d(  # noqa: PLR0913  (options by keyword)
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Extents = 1,
    padding: Extents | Padding = 0,
    dilation: Extents = 1,
    groups: int = 1,
    activation: str | None = None,
    residual: Any = None,
    layout: str = "NHWC",
    out: Any = None,
    threads: int | None = None,
) -> NumpyArray:
    """Compute ``activation(convolution(x, weight) + bias + residual)``.

    As in ``torch.nn.functional.conv2d``, the filter is not mirrored and ``padding`` adds zeros.
    Taps over the padding do not run: a weight of NaN or infinity has no effect there. The
    first call of each combination of sizes and options proves and compiles a kernel, which stays on
    disk. ``ps.prepare(weight)`` saves copying the weights in each call.

    The kernel is declared by
    :func:`polysched.library.convolution.kernel.convolution_kernel` and scheduled by
    ``ps.library.convolution_schedule``. ``convolution_code(x, weight, ...).schedule()`` of
    :mod:`polysched.library.convolution.call`, with the arguments of a call, is its schedule:
    ``ps.show(schedule)``, ``schedule.trace()``, further steps and ``ps.export`` work on it.

    Args:
        x: the images, an array of float32 or float64: ``(images, height, width, channels)``, or
            ``(images, channels, height, width)`` with ``layout="NCHW"``. NCHW images whose memory
            is not channels-last are copied first.
        weight: the filter ``(height, width, channels / groups, channels out)``, or ``(channels out,
            channels / groups, height, width)`` with ``layout="NCHW"``; or a result of
            :func:`polysched.prepare`.
        bias: a number for each output channel.
        stride: distance of neighboring output pixels in the image; a pair for rows and columns.
        padding: zeros around the image: a number, a pair for rows and columns, or a pair of pairs
            ``((top, bottom), (left, right))``.
        dilation: distance of neighboring filter taps in the image; a pair for rows and columns.
        groups: number of equal parts of the channels; each part of the output reads one part of
            the image. As many groups as channels are a depthwise convolution.
        activation: ``"relu"``, ``"gelu_tanh"``, ``"sigmoid"``, ``"silu"``, ``"tanh"`` or None.
        residual: an array with the shape of the result, added before the activation.
        layout: ``"NHWC"`` or ``"NCHW"``. An NCHW result has channels-last memory.
        out: the array for the result, contiguous; by default a new array.
        threads: the most threads to use; by default as many as there are usable cores. A small
            convolution uses a single thread.

    Returns:
        the result; ``out`` if that was given.

    Raises:
        CallError: an argument does not fit. Nothing has been written then.
    """
    options = Options(stride, padding, dilation, groups, activation, layout, threads)
    return _convolved(2, _arrays(2, x, weight, bias, residual), weight, out, options)


def conv1d(  # noqa: PLR0913  (options by keyword)
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Extents = 1,
    padding: Extents | Padding = 0,
    dilation: Extents = 1,
    groups: int = 1,
    activation: str | None = None,
    residual: Any = None,
    layout: str = "NWC",
    out: Any = None,
    threads: int | None = None,
) -> NumpyArray:
    """Compute ``activation(convolution(x, weight) + bias + residual)`` over one dimension.

    As :func:`conv2d`, for ``x`` of ``(images, width, channels)`` and weights ``(width, channels /
    groups, channels out)``; with ``layout="NCW"``, ``(images, channels, width)`` and ``(channels
    out, channels / groups, width)``.

    Raises:
        CallError: an argument does not fit. Nothing has been written then.
    """
    options = Options(stride, padding, dilation, groups, activation, layout, threads)
    return _convolved(1, _arrays(1, x, weight, bias, residual), weight, out, options)


def conv3d(  # noqa: PLR0913  (options by keyword)
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Extents = 1,
    padding: Extents | Padding = 0,
    dilation: Extents = 1,
    groups: int = 1,
    activation: str | None = None,
    residual: Any = None,
    layout: str = "NDHWC",
    out: Any = None,
    threads: int | None = None,
) -> NumpyArray:
    """Compute ``activation(convolution(x, weight) + bias + residual)`` over three dimensions.

    As :func:`conv2d`, for ``x`` of ``(images, depth, height, width, channels)`` and weights
    ``(depth, height, width, channels / groups, channels out)``; with ``layout="NCDHW"``,
    ``(images, channels, depth, height, width)`` and ``(channels out, channels / groups, depth,
    height, width)``. Strides, dilations and paddings are numbers, or triples for planes, rows and
    columns.

    Raises:
        CallError: an argument does not fit. Nothing has been written then.
    """
    options = Options(stride, padding, dilation, groups, activation, layout, threads)
    return _convolved(3, _arrays(3, x, weight, bias, residual), weight, out, options)


def _convolved(
    dimensions: int, arrays: dict[str, NumpyArray], weight: Any, out: Any, options: Options
) -> NumpyArray:
    if out is not None:
        _require_separate(dimensions, arrays, out)
    plan = _planned(dimensions, arrays, weight, out, options)
    in_place = out is not None and not plan.is_first
    result = out if in_place else np.empty(plan.shape, plan.dtype)
    if result.size:
        plan.run(arrays, result)
    if not plan.is_first:
        return result
    moved = result.transpose(0, dimensions + 1, *range(1, dimensions + 1))
    if out is None:
        return moved
    np.copyto(out, moved)
    return out  # type: ignore[no-any-return]


def convolution_code(
    x: Any, weight: Any, bias: Any = None, *, residual: Any = None, **options: Any
) -> ConvolutionCode:
    """The code that a convolution runs for these arguments; ``out`` is not one of them.

    The dimensions of ``x`` decide between :func:`conv1d`, :func:`conv2d` and :func:`conv3d`.
    """
    dimensions = as_array(x, "convolution_code: array 'x'").ndim - 2
    if dimensions not in LAYOUTS:
        raise CallError("convolution_code: expected 'x' with 3, 4 or 5 dimensions")
    asked = Options(**{"layout": LAYOUTS[dimensions][0], **options})
    arrays = _arrays(dimensions, x, weight, bias, residual)
    return _planned(dimensions, arrays, weight, None, asked).code


@dataclass(frozen=True)
class Plan:
    """A call whose arrays have known layouts.

    Attributes:
        code: the code.
        dtype: the element type.
        shape: the shape of the result, channels last.
        is_first: whether images and results are given with channels first.
        moved: for each array, the order of its axes in the kernel; None if they have this order.
        shapes: for each array and the result, the shape in the kernel.
        team: arguments of the kernel about threads.
        zeros: the padding of an image that is copied between zeros; None if the kernel skips it.
    """

    code: ConvolutionCode
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_first: bool
    moved: tuple[tuple[int, ...] | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    team: Mapping[str, int]
    zeros: Padding | None

    def run(self, arrays: Mapping[str, NumpyArray], result: NumpyArray) -> None:
        """Compute the result; arrays in another order or with gaps are copied."""
        inputs = [
            _contiguous(array if order is None else array.transpose(order)).reshape(shape)
            for array, order, shape in zip(arrays.values(), self.moved, self.shapes, strict=False)
        ]
        if self.zeros is not None:
            padded = np.pad(inputs[0], ((0, 0), *self.zeros, (0, 0)))
            inputs[0] = padded.reshape(_image_shape(self.code.size))
        self.kernel(*inputs, result.reshape(self.shapes[-1]), **self.team)

    @cached_property
    def kernel(self) -> CompiledKernel:
        """The kernel; the sizes that share its code compile it once."""
        return compiled_convolution(self.code)


def _arrays(
    dimensions: int, x: Any, weight: Any, bias: Any, residual: Any
) -> dict[str, NumpyArray]:
    """The arrays in the order of the kernel's arguments, by name."""
    filter = weight.array if isinstance(weight, PreparedWeight) else weight
    given = {"x": x, "weight": filter, "bias": bias, "residual": residual}
    return {
        name: value
        if type(value) is np.ndarray
        else as_array(value, f"conv{dimensions}d: array '{name}'")
        for name, value in given.items()
        if value is not None or name in ("x", "weight")
    }


def _require_separate(dimensions: int, arrays: Mapping[str, NumpyArray], out: Any) -> None:
    """Check that ``out`` is an array that overlaps no input."""
    who = f"conv{dimensions}d"
    if not isinstance(out, np.ndarray):
        raise CallError(f"{who}: out is of type {type(out).__name__}; expected a numpy array")
    for name, array in arrays.items():
        if share_memory(array, out):
            raise CallError(
                f"{who}: arrays '{name}' and 'out' overlap in memory, and 'out' is written; "
                "expected separate memory: pass a copy of one of them"
            )


def _planned(
    dimensions: int, arrays: Mapping[str, NumpyArray], weight: Any, out: Any, options: Options
) -> Plan:
    layouts = [(name, layout_of(array)) for name, array in arrays.items()]
    if out is not None:
        layouts.append(("out", layout_of(out)))
    prepared = weight.properties if isinstance(weight, PreparedWeight) else None
    asked = _Asked(repr(tuple(vars(options).values())), options)
    return _plan(dimensions, tuple(layouts), prepared, asked)


@dataclass(frozen=True)
class _Asked:
    """Options that are compared as text: 1, True and 1.0 are equal, and lists are not hashable."""

    text: str
    options: Options = field(compare=False)


@lru_cache(maxsize=512)
def _plan(
    dimensions: int,
    layouts: tuple[tuple[str, Layout], ...],
    prepared: Prepared | None,
    asked: _Asked,
) -> Plan:
    request = checked(dimensions, dict(layouts), prepared, asked.options)
    zeros = _zeros(request.size)
    code = _code(request, zeros)
    size, is_first = code.size, request.is_first
    filter_order = channels_last_order(dimensions) if is_first and prepared is None else None
    image_order = (0, *range(2, 2 + dimensions), 1) if is_first else None
    orders = {"x": image_order, "weight": filter_order, "bias": None, "residual": image_order}
    filter = dict(layouts)["weight"][1]
    result = (size.images, *size.pixels, size.channels_out)
    shapes = {
        "x": _image_shape(request.size if zeros else size),
        "weight": tuple(filter[axis] for axis in filter_order) if filter_order else filter,
        "bias": result[-1:],
        "residual": result,
        "out": result,
    }
    names = [name for name, _ in layouts if name != "out"]
    return Plan(
        code,
        request.dtype,
        request.shape,
        is_first,
        tuple(orders[name] for name in names),
        tuple(shapes[name] for name in (*names, "out")),
        MappingProxyType({"threads": request.threads} if code.is_parallel else {}),
        zeros,
    )


def _image_shape(size: Convolution) -> tuple[int, ...]:
    return size.images, *size.image, size.channels_in


def _zeros(size: Convolution) -> Padding | None:
    """The padding of an image that is smaller than the filter, or of which a pixel reads nothing.

    The taps over such an image have too few values for the loops of a register tile, so it is
    copied between zeros. None for other images.
    """
    is_small = any(extent < span for extent, span in zip(size.image, size.spans, strict=True))
    if not is_small and not size.has_bare_pixels:
        return None
    return tuple((first, max(last, 0)) for first, last in size.paddings)


def _code(request: Request, zeros: Padding | None) -> ConvolutionCode:
    size, machine = request.size, load_machine(None)
    if zeros is not None:
        size = replace(size, padding=tuple((0, min(last, 0)) for _, last in size.paddings))
    is_parallel = request.threads > 1 and is_worth_threads(size.products, machine)
    is_product = {*size.filter, *size.strides} == {1}
    if is_product and not any(map(any, size.paddings)) and not is_parallel:
        # Without neighbors, all pixels are one row, of which fewer tiles are cut off.
        ones = (1,) * (len(size.pixels) - 1)
        size = replace(size, images=1, pixels=(*ones, size.images * prod(size.pixels)))
    dtype = as_dtype(request.dtype)
    return ConvolutionCode(size, request.finish, dtype, request.block, is_parallel)


def _contiguous(array: NumpyArray) -> NumpyArray:
    array = np.ascontiguousarray(array)
    return array if array.flags.aligned else aligned_copy(array)


@lru_cache(maxsize=256)
def compiled_convolution(code: ConvolutionCode) -> CompiledKernel:
    """The proved and compiled kernel of a convolution."""
    machine = load_machine(None)
    return compile(code.schedule(machine), machine)
