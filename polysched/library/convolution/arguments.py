"""Arguments of ``conv2d``: the checks, and the sizes that follow from them.

All checks but that of overlapping memory depend on layouts only, so their result can be kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.integers import as_integer
from polysched.library.conv2d import Convolution, Finish, Padding
from polysched.library.convolution.prepare import (
    Prepared,
    group_count,
    require_floats,
    require_layout,
    weight_shape,
)
from polysched.library.matmul.kernel.epilogue import ACTIVATIONS
from polysched.runtime.array_layout import (
    ALIGNED,
    C_CONTIGUOUS,
    WRITEABLE,
    Layout,
    fault_of_output,
)
from polysched.runtime.threads import number_of_threads, usable_threads

_IN_PLACE = ALIGNED | C_CONTIGUOUS | WRITEABLE


@dataclass(frozen=True)
class Options:
    """The keyword arguments of ``conv2d`` that are no arrays, as they are given."""

    stride: Any = 1
    padding: Any = 0
    dilation: Any = 1
    groups: Any = 1
    activation: Any = None
    layout: Any = "NHWC"
    threads: Any = None


@dataclass(frozen=True)
class Request:
    """Checked arguments.

    Attributes:
        size: the sizes; one image where there is none.
        finish: what is added to the sums, and the activation.
        block: output channels side by side in the weights; 0 for HWIO.
        dtype: the type of all elements.
        shape: the shape of the result, in NHWC.
        threads: the most threads to use.
    """

    size: Convolution
    finish: Finish
    block: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    threads: int


def checked(layouts: dict[str, Layout], prepared: Prepared | None, options: Options) -> Request:
    """Check the arguments of a call.

    Args:
        layouts: the layouts of the arrays by name.
        prepared: the properties of prepared weights.
        options: the other arguments.

    Raises:
        CallError: an argument does not fit.
    """
    layout = options.layout
    require_layout("conv2d", layout)
    dtype = layouts["x"][0]
    for name, dimensions in (("x", 4), ("weight", 5 if prepared and prepared.block else 4)):
        require_floats("conv2d", name, layouts[name][0], layouts[name][1], dimensions)
    groups = group_count("conv2d", options.groups)
    if layouts["weight"][0] != dtype:
        raise CallError(
            f"conv2d: 'weight' has elements of type {layouts['weight'][0]}; expected {dtype}, as "
            "'x' has"
        )
    images = channels_last(layouts["x"][1], layout)
    filter = _filter_shape(layouts["weight"][1], prepared, layout, groups)
    size = _size(images, filter, groups, options)
    shape = (images[0], size.height, size.width, size.channels_out)
    given = as_given(shape, layout)
    for name, expected in (("bias", shape[3:]), ("residual", given), ("out", given)):
        if name in layouts and (layouts[name][1] != expected or layouts[name][0] != dtype):
            raise CallError(
                f"conv2d: '{name}' has shape {layouts[name][1]} and elements of type "
                f"{layouts[name][0]}; expected {expected} and {dtype}"
            )
    if "out" in layouts and layouts["out"][2] & _IN_PLACE != _IN_PLACE:
        _, extents, flags, strides = layouts["out"]
        fault = fault_of_output(flags, extents, strides, dtype.itemsize, contiguous=True)
        raise CallError(f"conv2d: out {fault}; compute a new array and copy it")
    activation = options.activation
    if activation is not None and activation not in ACTIVATIONS:
        raise CallError(
            f"conv2d: activation={activation!r}; expected None or one of "
            f"{', '.join(sorted(ACTIVATIONS))}"
        )
    threads = options.threads
    count = usable_threads() if threads is None else number_of_threads("conv2d", threads)
    finish = Finish("bias" in layouts, "residual" in layouts, activation)
    return Request(size, finish, prepared.block if prepared else 0, dtype, shape, count)


def channels_last(shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """A shape in the order of ``layout``, in NHWC."""
    return shape if layout == "NHWC" else (shape[0], *shape[2:], shape[1])


def as_given(shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """A shape in NHWC, in the order of ``layout``."""
    return shape if layout == "NHWC" else (shape[0], shape[3], *shape[1:3])


def _filter_shape(
    shape: tuple[int, ...], prepared: Prepared | None, layout: str, groups: int
) -> tuple[int, ...]:
    """The shape of the weights in the order HWIO."""
    if prepared is None:
        return weight_shape("conv2d", shape, layout)
    if prepared.layout != layout or prepared.groups != groups:
        raise CallError(
            f"conv2d: 'weight' was prepared with layout={prepared.layout!r} and "
            f"groups={prepared.groups}; expected {layout!r} and {groups}, as in this call"
        )
    return prepared.shape


def _size(
    images: tuple[int, ...], filter: tuple[int, ...], groups: int, options: Options
) -> Convolution:
    """The sizes of the convolution.

    Raises:
        CallError: the channels do not fit, the filter is larger than the padded image, or a stride,
            a dilation or a padding is no valid number.
    """
    channels, (rows, columns, group_in, channels_out) = images[3], filter
    if channels % groups or channels_out % groups:
        which, number = ("weight", channels_out) if channels % groups == 0 else ("x", channels)
        raise CallError(
            f"conv2d: groups={groups} does not divide the {number} channels of '{which}'"
        )
    if channels != group_in * groups:
        raise CallError(
            f"conv2d: 'x' has {channels} channels and 'weight' {group_in} input channels in each "
            f"of {groups} groups; expected {group_in * groups} channels of 'x'"
        )
    strides, dilations = (_pair(name, getattr(options, name), 1) for name in ("stride", "dilation"))
    extents, padding = [], []
    for axis, (first, last) in enumerate(_padding(options.padding)):
        name = ("rows", "columns")[axis]
        image, span = images[1 + axis], (filter[axis] - 1) * dilations[axis] + 1
        if image < 1 or image + first + last < span:
            raise CallError(
                f"conv2d: the image has {image} {name} and {first + last} of padding; expected at "
                f"least 1 and with the padding {span}, the {name} under the filter"
            )
        extent = (image + first + last - span) // strides[axis] + 1
        extents.append(extent)
        # Rows that no output pixel reads count as negative padding.
        padding.append((first, (extent - 1) * strides[axis] + span - image - first))
    return Convolution(
        images=max(images[0], 1),
        height=extents[0],
        width=extents[1],
        channels_in=channels,
        channels_out=channels_out,
        filter_height=rows,
        filter_width=columns,
        stride=strides,
        dilation=dilations,
        groups=groups,
        padding=(padding[0], padding[1]),
    )


def _pair(name: str, given: Any, least: int) -> tuple[int, int]:
    """A number for rows and a number for columns."""
    both = tuple(given) if isinstance(given, tuple | list) else (given, given)
    numbers = [number for value in both if (number := as_integer(value)) is not None]
    if len(both) != 2 or len(numbers) != 2 or min(numbers) < least:
        raise CallError(
            f"conv2d: {name}={given!r}; expected an integer >= {least}, or a pair of them"
        )
    return numbers[0], numbers[1]


def _padding(given: Any) -> Padding:
    """The zeros before and after the rows, and before and after the columns."""
    if isinstance(given, tuple | list) and any(isinstance(side, tuple | list) for side in given):
        sides = [_pair("padding", side, 0) for side in given]
        if len(sides) != 2:
            raise CallError(f"conv2d: padding={given!r}; expected pairs for rows and columns")
        return sides[0], sides[1]
    rows, columns = _pair("padding", given, 0)
    return (rows, rows), (columns, columns)
