"""``prepare``: weights of a convolution in the order in which its register tiles read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.integers import as_integer
from polysched.ir.expr.dtypes import as_dtype
from polysched.library.convolution.schedule import channel_tile
from polysched.machine.load import load_machine
from polysched.runtime.memory import aligned_copy, aligned_zeros
from polysched.runtime.views import as_array

NumpyArray = np.ndarray[Any, Any]

LAYOUTS = ("NHWC", "NCHW")


@dataclass(frozen=True)
class Prepared:
    """The properties of prepared weights.

    Attributes:
        shape: the shape in the order HWIO.
        groups: the number of groups.
        layout: the layout of the images.
        block: output channels side by side; 0 for weights that keep the order HWIO.
    """

    shape: tuple[int, int, int, int]
    groups: int
    layout: str
    block: int


@dataclass(frozen=True, eq=False)
class PreparedWeight:
    """Weights for :func:`polysched.conv2d`, made by :func:`polysched.prepare`.

    Attributes:
        array: the weights: ``[channels / block, height, width, group_in, block]``, filled up with
            zeros, or HWIO.
        properties: the shape, the groups and the order.
    """

    array: NumpyArray
    properties: Prepared


def prepare(weight: Any, *, groups: int = 1, layout: str = "NHWC") -> PreparedWeight:
    """Copy the weights of a convolution into the order in which its kernel reads them.

    :func:`polysched.conv2d` takes the result in place of the weights, for images of any size. Later
    changes of ``weight`` have no effect on it. Weights of several groups keep their order.

    Args:
        weight: an array of float32 or float64: HWIO, or OIHW with ``layout="NCHW"``.
        groups: the number of groups of the convolution.
        layout: ``"NHWC"`` or ``"NCHW"``.

    Raises:
        CallError: an argument does not fit.
    """
    require_layout("prepare", layout)
    given = as_array(weight, "prepare: array 'weight'")
    require_floats("prepare", "weight", given.dtype, given.shape, 4)
    rows, columns, group_in, channels = weight_shape("prepare", given.shape, layout)
    hwio = (rows, columns, group_in, channels)
    array = given if layout == "NHWC" else given.transpose(2, 3, 1, 0)
    count = group_count("prepare", groups)
    if channels % count:
        raise CallError(
            f"prepare: groups={count} does not divide the {channels} output channels of 'weight'"
        )
    if count > 1:
        return PreparedWeight(
            aligned_copy(np.ascontiguousarray(array)), Prepared(hwio, count, layout, 0)
        )
    vectors, lanes = channel_tile(channels, load_machine(None), as_dtype(array.dtype))
    block = vectors * lanes
    blocks = -(-channels // block)
    packed = aligned_zeros((blocks, rows, columns, group_in, block), array.dtype)
    for number in range(blocks):
        part = array[..., number * block : (number + 1) * block]
        packed[number, ..., : part.shape[3]] = part
    return PreparedWeight(packed, Prepared(hwio, 1, layout, block))


def weight_shape(who: str, shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    """The shape of weights in the order HWIO.

    Raises:
        CallError: a dimension is empty.
    """
    if 0 in shape:
        raise CallError(f"{who}: 'weight' has shape {shape}; expected positive extents")
    return shape if layout == "NHWC" else (*shape[2:], shape[1], shape[0])


def require_layout(who: str, layout: object) -> None:
    """Check a layout.

    Raises:
        CallError: it is unknown.
    """
    if not isinstance(layout, str) or layout not in LAYOUTS:
        raise CallError(f"{who}: layout={layout!r}; expected 'NHWC' or 'NCHW'")


def group_count(who: str, groups: object) -> int:
    """Check a number of groups.

    Raises:
        CallError: it is no positive integer.
    """
    number = as_integer(groups)
    if number is None or number < 1:
        raise CallError(f"{who}: groups={groups!r}; expected a positive integer")
    return number


def require_floats(
    who: str, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], dimensions: int
) -> None:
    """Check that an array has floating-point numbers and so many dimensions.

    Raises:
        CallError: it has others.
    """
    if dtype not in (np.float32, np.float64):
        raise CallError(
            f"{who}: '{name}' has elements of type {dtype}; expected float32 or float64, "
            "other types are not built yet: convert it with .astype(...)"
        )
    if len(shape) != dimensions:
        raise CallError(f"{who}: '{name}' has shape {shape}; expected {dimensions} dimensions")
