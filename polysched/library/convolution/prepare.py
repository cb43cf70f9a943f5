"""``prepare``: weights of a convolution in the order in which its register tiles read them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any, overload

import numpy as np

from polysched.errors import CallError, KernelError
from polysched.integers import as_integer
from polysched.ir.expr.dtypes import as_dtype, u8
from polysched.library.convolution.format import WEIGHTS, multiplied_as, total_of
from polysched.library.convolution.schedule import channel_tile
from polysched.library.dynamic_linear.matrix import PreparedMatrix
from polysched.library.matmul.dispatch.computed import Computed
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.memory import aligned_copy, aligned_zeros
from polysched.runtime.views import as_array

NumpyArray = np.ndarray[Any, Any]

LAYOUTS = MappingProxyType({1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")})
"""Channels-last and channels-first layout by the number of dimensions of an image."""


@dataclass(frozen=True)
class Prepared:
    """The properties of prepared weights.

    Attributes:
        shape: the shape in the order HWIO (WIO, DHWIO).
        dtype: the element type of the given weights.
        layout: the layout of the images.
        block: output channels side by side; 0 for weights that keep this order.
        algorithm: ``"winograd"`` for weights transformed for it; None for the direct sum.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    groups: int
    layout: str
    block: int
    algorithm: str | None = None


@dataclass(frozen=True, eq=False)
class PreparedWeight:
    """Weights for a convolution, made by :func:`polysched.prepare`.

    Attributes:
        array: the weights: ``[channels / block, *filter, group_in, block]``, filled up with
            zeros, or ``[*filter, group_in, channels]``; in the type in which they are multiplied,
            in pairs ``[channels / block, *filter, group_in / 2, block, 2]`` where an instruction
            adds two products. ``[16, channels / block, group_in, block]``,
            transformed for Winograd's algorithm.
        properties: the shape, the groups and the order.
    """

    array: NumpyArray
    properties: Prepared


@overload
def prepare(
    weight: Computed,
    *,
    groups: int = 1,
    layout: str | None = None,
    algorithm: str | None = None,
    activations: str | None = None,
) -> PreparedMatrix: ...
@overload
def prepare(
    weight: Any,
    *,
    groups: int = 1,
    layout: str | None = None,
    algorithm: str | None = None,
    activations: str | None = None,
) -> PreparedWeight: ...
def prepare(
    weight: Any,
    *,
    groups: int = 1,
    layout: str | None = None,
    algorithm: str | None = None,
    activations: str | None = None,
) -> PreparedWeight | PreparedMatrix:
    """Copy weights into the order in which their kernel reads them.

    Later changes of ``weight`` have no effect on the result.

    Weights of a convolution: :func:`polysched.conv1d`, :func:`polysched.conv2d` and
    :func:`polysched.conv3d` take the result in place of the weights, for images of any size.
    Weights of several groups keep their order.

    With ``algorithm="winograd"`` each tile of 2x2 results is computed from sums and differences of
    its 4x4 pixels, and the weights are transformed in float64 and rounded once. Layers with 64 to
    256 channels run 1.4 to 1.8 times as fast, layers with few pixels and many channels slower.
    Errors are typically a third of those of the direct sum, but relative to the largest pixel of a
    tile: a pixel that is NaN, infinite or huge spoils all results of the tiles that read it, and
    sums of four pixels must not overflow. A weight that is NaN or infinite has an effect over the
    padding too.

    A matrix of integer codes with scales: ``ps.matmul(x, ps.prepare(weights, activations="int8"))``
    rounds each row of ``x`` to 8 bits, multiplies integers and adds them exactly for each group of
    terms, and adds the scaled groups in float32. Rounding changes an element by at most 1/254 of
    the largest one of its row; errors of the result are typically 1 % of its largest element, as
    with other dynamically quantized layers. Without ``prepare``, the product of ``x`` and
    ``weights`` has the accuracy of float32.

    Args:
        weight: an array of float32, float64, bfloat16, float16 or int8: WIO, HWIO or
            DHWIO; with a channels-first layout OIW, OIHW or OIDHW. Or a right operand of ``matmul``
            made by :func:`polysched.computed`, that is linear in integers of at most 8 bits:
            ``scale * cast(code, "f32")`` or ``scale * (cast(code, "f32") - cast(zero, "f32"))``,
            with scales and zeros for each column, or for groups of its terms.
        groups: the number of groups of the convolution.
        layout: the layout of the images, as the convolution takes it; by default channels-last.
        algorithm: ``"winograd"`` for Winograd's F(2x2, 3x3), which needs 4/9 of the
            multiplications; by default the direct sum. For 3x3 filters of float32 and one group;
            the convolution then takes stride 1 and dilation 1.
        activations: ``"int8"`` for a matrix of codes, None for a convolution.

    Raises:
        CallError: an argument does not fit.
    """
    if isinstance(weight, Computed) or activations is not None:
        return _prepared_matrix(weight, groups, layout, algorithm, activations)
    given = as_array(weight, "prepare: array 'weight'")
    if given.ndim - 2 not in LAYOUTS:
        raise CallError(f"prepare: 'weight' has shape {given.shape}; expected 3, 4 or 5 dimensions")
    dimensions = given.ndim - 2
    layout = LAYOUTS[dimensions][0] if layout is None else layout
    is_first = is_channels_first("prepare", layout, dimensions)
    require_elements("prepare", "weight", given.dtype, given.shape, given.ndim)
    stored = weight_shape("prepare", given.shape, is_first=is_first)
    channels = stored[-1]
    array = given.transpose(channels_last_order(dimensions)) if is_first else given
    count = group_count("prepare", groups)
    if channels % count:
        raise CallError(
            f"prepare: groups={count} does not divide the {channels} output channels of 'weight'"
        )
    if algorithm is not None:
        _require_winograd(algorithm, stored, given.dtype, count)
        # Imported for such weights only: other convolutions do not wait for it.
        from polysched.library.convolution.winograd import transformed_weights  # noqa: PLC0415

        array = transformed_weights(array)
    packed, block = stored_weights(array, count, load_machine(None))
    if algorithm is not None:
        packed = aligned_copy(np.ascontiguousarray(packed.swapaxes(0, 1)))
    return PreparedWeight(packed, Prepared(stored, given.dtype, count, layout, block, algorithm))


def _require_winograd(
    algorithm: object, shape: tuple[int, ...], dtype: np.dtype[Any], groups: int
) -> None:
    if algorithm != "winograd":
        raise CallError(f"prepare: algorithm={algorithm!r}; expected 'winograd' or None")
    if len(shape) != 4 or shape[:2] != (3, 3) or dtype != np.float32 or groups != 1:
        filter = "x".join(map(str, shape[:-2]))
        raise CallError(
            f"prepare: 'weight' has a {filter} filter of {dtype} and groups={groups}; "
            "algorithm='winograd' takes a 3x3 filter of float32 and one group: leave algorithm out"
        )


def _prepared_matrix(
    weight: Any, groups: int, layout: str | None, algorithm: str | None, activations: str | None
) -> PreparedMatrix:
    if not isinstance(weight, Computed) or activations != "int8":
        raise CallError(
            f"prepare: activations={activations!r} with 'weight' of type {type(weight).__name__}; "
            "expected activations='int8' with a matrix of ps.computed(...), and no activations "
            "with the array of a convolution"
        )
    if groups != 1 or layout is not None or algorithm is not None:
        raise CallError(
            "prepare: groups=, layout= and algorithm= are for the weights of a convolution"
        )
    # Imported for such a matrix only: convolutions do not wait for it.
    from polysched.library.dynamic_linear.prepare import prepared_matrix  # noqa: PLC0415

    return prepared_matrix(weight)


def stored_weights(array: NumpyArray, groups: int, machine: Machine) -> tuple[NumpyArray, int]:
    """A copy of weights as a kernel reads them, and its output channels side by side.

    Args:
        array: the weights ``[*filter, group_in, channels]``.
    """
    *taps, group_in, channels = array.shape
    weight = as_dtype(array.dtype)
    vectors, lanes = channel_tile(channels, machine, total_of(weight))
    multiplied, _, terms = multiplied_as(weight, lanes, groups, machine)
    array = array.astype(multiplied.numpy(), copy=False)
    if groups > 1:
        return aligned_copy(np.ascontiguousarray(array)), 0
    block = vectors * lanes
    blocks, steps = -(-channels // block), -(-group_in // terms)
    packed = aligned_zeros((blocks, *taps, steps, block, terms), array.dtype)
    for number, term in product(range(blocks), range(terms)):
        part = array[..., term::terms, number * block : (number + 1) * block]
        packed[number, ..., : part.shape[-2], : part.shape[-1], term] = part
    return packed.reshape(packed.shape[:-1]) if terms == 1 else packed, block


def channels_last_order(dimensions: int) -> tuple[int, ...]:
    """The order of axes that makes weights HWIO of weights OIHW, likewise for other dimensions."""
    return (*range(2, 2 + dimensions), 1, 0)


def weight_shape(who: str, shape: tuple[int, ...], *, is_first: bool) -> tuple[int, ...]:
    """The shape of weights in the order HWIO, given with output channels first or last."""
    if 0 in shape:
        raise CallError(f"{who}: 'weight' has shape {shape}; expected positive extents")
    return (*shape[2:], shape[1], shape[0]) if is_first else shape


def is_channels_first(who: str, layout: object, dimensions: int) -> bool:
    """Whether a layout of images has channels before the pixels."""
    last, first = LAYOUTS[dimensions]
    if not isinstance(layout, str) or layout not in (last, first):
        raise CallError(f"{who}: layout={layout!r}; expected {last!r} or {first!r}")
    return layout == first


def group_count(who: str, groups: object) -> int:
    """Check a number of groups."""
    number = as_integer(groups)
    if number is None or number < 1:
        raise CallError(f"{who}: groups={groups!r}; expected a positive integer")
    return number


def require_elements(
    who: str, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], dimensions: int
) -> None:
    """Check the element type of an array and its number of dimensions."""
    allowed = (*WEIGHTS, u8) if name == "x" else WEIGHTS
    try:
        is_known = as_dtype(dtype) in allowed
    except KernelError:
        is_known = False
    if not is_known:
        raise CallError(
            f"{who}: '{name}' has elements of type {dtype}; expected "
            f"{', '.join(map(str, allowed))}: convert it with .astype(...)"
        )
    if len(shape) != dimensions:
        raise CallError(f"{who}: '{name}' has shape {shape}; expected {dimensions} dimensions")
