"""Arguments of convolutions: the checks, and the sizes that follow from them.

All checks but that of overlapping memory depend on layouts only, so their result can be kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.integers import as_integer
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.library.convolution.prepare import (
    Prepared,
    group_count,
    is_channels_first,
    require_elements,
    weight_shape,
)
from polysched.library.convolution.size import AXIS_NAMES, Convolution, Epilogue, Padding
from polysched.library.matmul.kernel.epilogue import ACTIVATIONS, OF_INTEGERS
from polysched.runtime.array_layout import ALIGNED, C_CONTIGUOUS, WRITEABLE, Layout, fault_of_output
from polysched.runtime.threads import number_of_threads, usable_threads

_LARGEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Options:
    """The keyword arguments of a convolution other than arrays, unchanged."""

    stride: Any = 1
    padding: Any = 0
    dilation: Any = 1
    groups: Any = 1
    activation: Any = None
    layout: Any = None
    threads: Any = None
    specialize: Any = None


@dataclass(frozen=True)
class Request:
    """Checked arguments.

    Attributes:
        size: the sizes; one image where there is none.
        epilogue: the operations on each sum: scale, bias, residual and activation.
        shape: the shape of the result, channels last.
        is_first: whether images and results are given with channels first.
        sides: the zeros before and after each dimension, as they are asked for.
        specialize: whether code for these sizes is to run; None to decide by the calls.
    """

    size: Convolution
    epilogue: Epilogue
    weight: DType
    image: DType
    result: np.dtype[Any]
    shape: tuple[int, ...]
    is_first: bool
    threads: int
    sides: Padding
    specialize: bool | None


def checked(
    dimensions: int, layouts: dict[str, Layout], prepared: Prepared | None, options: Options
) -> Request:
    """Check the arguments of a call.

    Args:
        dimensions: dimensions of an image: 1, 2 or 3.
        layouts: the layouts of the arrays by name.
        prepared: the properties of prepared weights.
    """
    who = f"conv{dimensions}d"
    is_first = is_channels_first(who, options.layout, dimensions)
    dtype = layouts["x"][0]
    if prepared and len(prepared.shape) != dimensions + 2:
        raise CallError(
            f"{who}: 'weight' was prepared of shape {prepared.shape}; expected {dimensions + 2} "
            "dimensions"
        )
    weight, extents = layouts["weight"][:2]
    weight, extents = (prepared.dtype, prepared.shape) if prepared else (weight, extents)
    require_elements(who, "x", dtype, layouts["x"][1], dimensions + 2)
    require_elements(who, "weight", weight, extents, dimensions + 2)
    groups = group_count(who, options.groups)
    needed = np.dtype(np.int8) if dtype == np.uint8 else dtype
    if weight != needed:
        raise CallError(
            f"{who}: 'weight' has elements of type {weight}, and 'x' of {dtype}; expected weights "
            f"of {needed}"
        )
    is_exact = dtype.kind in "iu"
    scaled = "scale" in layouts
    if scaled and not is_exact:
        raise CallError(f"{who}: 'x' has elements of type {dtype}; expected a scale for int8 only")
    single = np.dtype(np.float32)
    result = (single if scaled else np.dtype(np.int32)) if is_exact else dtype
    x = layouts["x"][1]
    images = (x[0], *x[2:], x[1]) if is_first else x
    filter = _filter_shape(who, layouts["weight"][1], prepared, options.layout, groups, is_first)
    sides = _padding(who, options.padding, dimensions)
    size = _size(who, images, filter, groups, options, sides)
    _require_algorithm(who, prepared, size, options)
    shape = (images[0], *size.pixels, size.channels_out)
    if prod(shape) * result.itemsize > _LARGEST:
        raise CallError(f"{who}: the result has shape {shape}; expected less than 2**63 bytes")
    given = (shape[0], shape[-1], *shape[1:-1]) if is_first else shape
    expected = {"bias": shape[-1:], "residual": given, "out": given}
    if scaled:
        expected["scale"] = layouts["scale"][1] and shape[-1:]
    for name, extents in expected.items():
        if name in layouts and (layouts[name][1] != extents or layouts[name][0] != result):
            raise CallError(
                f"{who}: '{name}' has shape {layouts[name][1]} and elements of type "
                f"{layouts[name][0]}; expected {extents} and {result}"
            )
    if "out" in layouts:
        _require_in_place(who, layouts["out"], is_first=is_first)
    activation = options.activation
    known = OF_INTEGERS if result == np.int32 else ACTIVATIONS
    if activation is not None and activation not in known:
        raise CallError(
            f"{who}: activation={activation!r} for a result of {result}; expected None or one of "
            f"{', '.join(sorted(known))}"
        )
    threads = options.threads
    count = usable_threads() if threads is None else number_of_threads(who, threads)
    epilogue = Epilogue(scaled, "bias" in layouts, "residual" in layouts, activation)
    specialize = options.specialize
    if specialize is not None and type(specialize) is not bool:
        raise CallError(f"{who}: specialize={specialize!r}; expected True, False or None")
    types = as_dtype(weight), as_dtype(dtype), result
    return Request(size, epilogue, *types, shape, is_first, count, sides, specialize)


def _require_algorithm(
    who: str, prepared: Prepared | None, size: Convolution, options: Options
) -> None:
    """Check that the algorithm that weights were prepared for takes the strides and dilations."""
    if prepared is None or prepared.algorithm is None:
        return
    for name, steps in (("stride", size.strides), ("dilation", size.dilations)):
        if set(steps) != {1}:
            raise CallError(
                f"{who}: {name}={getattr(options, name)!r} needs weights prepared without "
                f"algorithm={prepared.algorithm!r}"
            )


def _require_in_place(who: str, out: Layout, *, is_first: bool) -> None:
    """Check the memory of ``out``: channels first are copied to it, so it may have any strides."""
    dtype, extents, flags, strides = out
    needed = ALIGNED | WRITEABLE | (0 if is_first else C_CONTIGUOUS)
    if flags & needed != needed:
        size = np.dtype(dtype).itemsize
        fault = fault_of_output(flags, extents, strides, size, contiguous=not is_first)
        raise CallError(f"{who}: out {fault}; compute a new array and copy it")


def _filter_shape(
    who: str,
    shape: tuple[int, ...],
    prepared: Prepared | None,
    layout: str,
    groups: int,
    is_first: bool,
) -> tuple[int, ...]:
    """The shape of the weights in the order HWIO."""
    if prepared is None:
        return weight_shape(who, shape, is_first=is_first)
    if prepared.layout != layout or prepared.groups != groups:
        raise CallError(
            f"{who}: 'weight' was prepared with layout={prepared.layout!r} and "
            f"groups={prepared.groups}; expected {layout!r} and {groups}, as in this call"
        )
    return prepared.shape


def _size(
    who: str,
    images: tuple[int, ...],
    filter: tuple[int, ...],
    groups: int,
    options: Options,
    sides: Padding,
) -> Convolution:
    """The sizes of the convolution."""
    channels, (*taps, group_in, channels_out), dimensions = images[-1], filter, len(images) - 2
    if channels % groups or channels_out % groups:
        which, number = ("weight", channels_out) if channels % groups == 0 else ("x", channels)
        raise CallError(
            f"{who}: groups={groups} does not divide the {number} channels of '{which}'"
        )
    if channels != group_in * groups:
        of_groups = f" in each of {groups} groups" if groups > 1 else ""
        raise CallError(
            f"{who}: 'x' has {channels} channels and 'weight' {group_in} input channels"
            f"{of_groups}; expected {group_in * groups} channels of 'x' with "
            f"layout={options.layout!r}"
        )
    strides, dilations = (
        list(_numbers(who, name, getattr(options, name), dimensions, 1))
        for name in ("stride", "dilation")
    )
    pixels, padding = [], []
    for axis, (name, (first, last)) in enumerate(zip(AXIS_NAMES[-dimensions:], sides, strict=True)):
        image, span = images[1 + axis], (taps[axis] - 1) * dilations[axis] + 1
        if image < 1 or image + first + last < span:
            raise CallError(
                f"{who}: the image has {image} {name} and {first + last} of padding; expected at "
                f"least 1 and with the padding {span}, the {name} under the filter"
            )
        # A stride beyond the padded image, and the dilation of a single tap, have no effect.
        strides[axis] = min(strides[axis], image + first + last)
        dilations[axis] = dilations[axis] if taps[axis] > 1 else 1
        extent = (image + first + last - span) // strides[axis] + 1
        pixels.append(extent)
        # Rows that no output pixel reads count as negative padding.
        padding.append((first, (extent - 1) * strides[axis] + span - image - first))
    return Convolution(
        images=max(images[0], 1),
        pixels=tuple(pixels),
        channels_in=channels,
        channels_out=channels_out,
        filter=tuple(taps),
        stride=tuple(strides),
        dilation=tuple(dilations),
        groups=groups,
        padding=tuple(padding),
    )


def _numbers(who: str, name: str, given: Any, count: int, least: int) -> tuple[int, ...]:
    """A number for each of ``count`` dimensions, or for each side of one."""
    values = tuple(given) if isinstance(given, tuple | list) else (given,) * count
    numbers = [number for value in values if (number := as_integer(value)) is not None]
    if len(values) != count or len(numbers) != count or min(numbers) < least:
        many = {1: "a tuple of one", 2: "a pair of them"}.get(count, f"a tuple of {count} of them")
        raise CallError(f"{who}: {name}={given!r}; expected an integer >= {least}, or {many}")
    return tuple(numbers)


def _padding(who: str, given: Any, dimensions: int) -> Padding:
    """For each dimension, the zeros before and after the image."""
    if isinstance(given, tuple | list) and any(isinstance(side, tuple | list) for side in given):
        if len(given) != dimensions:
            names = " and ".join(AXIS_NAMES[-dimensions:])
            raise CallError(f"{who}: padding={given!r}; expected pairs for {names}")
        sides = (_numbers(who, "padding", side, 2, 0) for side in given)
    else:
        sides = ((zeros, zeros) for zeros in _numbers(who, "padding", given, dimensions, 0))
    return tuple((first, last) for first, last in sides)
