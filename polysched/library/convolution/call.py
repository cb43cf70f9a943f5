"""Convolutions of arrays in one, two and three dimensions, by kernels for their sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.library.convolution.arguments import Options
from polysched.library.convolution.plan import ConvolutionCode, Plan, planned
from polysched.library.convolution.prepare import LAYOUTS, NumpyArray, PreparedWeight
from polysched.library.convolution.size import Padding
from polysched.library.outputs import require_separate
from polysched.runtime.tensors import returns_tensors
from polysched.runtime.views import as_array

Extents = int | tuple[int, ...]


@returns_tensors
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
    scale: Any = None,
    layout: str = "NHWC",
    out: Any = None,
    threads: int | None = None,
    specialize: bool | None = None,
) -> NumpyArray:
    """Compute ``activation(convolution(x, weight) * scale + bias + residual)``.

    As in ``torch.nn.functional.conv2d``, the filter is not mirrored and ``padding`` adds zeros.
    Unless the image is smaller than the filter, taps over the padding do not run: a weight of NaN
    or infinity has no effect there. The first call of each combination of channels, filter and
    options proves and compiles a kernel for images of any number and size, which stays on disk.
    After four calls with one size, a background thread makes code for that size.
    ``ps.prepare(weight)`` saves copying the weights in each call.

    The kernel is declared by
    :func:`polysched.library.convolution.kernel.convolution_kernel` and scheduled by
    ``ps.library.convolution_schedule``. ``convolution_code(x, weight, ...).schedule()`` of
    :mod:`polysched.library.convolution.call`, with the arguments of a call, is its schedule:
    ``ps.show(schedule)``, ``schedule.trace()``, further steps and ``ps.export`` work on it.

    Images and weights of bfloat16 and float16 are multiplied and summed in float32, and each result
    is rounded once. On processors with ``vdpbf16ps`` that instruction multiplies bfloat16; it takes
    subnormal numbers for 0. Images of int8 or uint8 and weights of int8 are summed in int32, modulo
    2**32. The result is int32, or float32 with a scale.

    Args:
        x: the images, an array of float32, float64, bfloat16, float16, int8 or uint8:
            ``(images, height, width, channels)``, or ``(images, channels, height, width)`` with
            ``layout="NCHW"``. NCHW images whose memory is not channels-last are copied first.
        weight: the filter ``(height, width, channels / groups, channels out)``, or ``(channels out,
            channels / groups, height, width)`` with ``layout="NCHW"``; or a result of
            :func:`polysched.prepare`.
        bias: a number for each output channel, of the result's type.
        stride: distance of neighboring output pixels in the image; a pair for rows and columns.
        padding: zeros around the image: a number, a pair for rows and columns, or a pair of pairs
            ``((top, bottom), (left, right))``.
        dilation: distance of neighboring filter taps in the image; a pair for rows and columns.
        groups: number of equal parts of the channels; each part of the output reads one part of
            the image. As many groups as channels are a depthwise convolution.
        activation: ``"relu"``, ``"gelu_tanh"``, ``"sigmoid"``, ``"silu"``, ``"tanh"`` or None.
        residual: an array with the shape of the result, added before the activation.
        scale: for images of int8 and uint8, a number, or a float32 number for each output channel.
        layout: ``"NHWC"`` or ``"NCHW"``. An NCHW result has channels-last memory.
        out: the array for the result; by default a new array. With channels last it must be
            contiguous; with channels first it is copied to, unless its memory is channels-last.
        threads: the most threads to use; by default as many as there are usable cores. A small
            convolution uses a single thread.
        specialize: True to make the code for these sizes at once, False never to make it; None to
            make it in the background after a few calls, and at once for the first size if the disk
            lacks code for any size. Its sums may be rounded otherwise.

    Returns:
        the result; ``out`` if that was given.

    Raises:
        CallError: an argument does not fit. Nothing has been written then.
    """
    options = Options(stride, padding, dilation, groups, activation, layout, threads, specialize)
    return _convolved(2, _arrays(2, x, weight, scale, bias, residual), weight, out, options)


@returns_tensors
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
    scale: Any = None,
    layout: str = "NWC",
    out: Any = None,
    threads: int | None = None,
    specialize: bool | None = None,
) -> NumpyArray:
    """Compute ``activation(convolution(x, weight) + bias + residual)`` over one dimension.

    As :func:`conv2d`, for ``x`` of ``(images, width, channels)`` and weights ``(width, channels /
    groups, channels out)``; with ``layout="NCW"``, ``(images, channels, width)`` and ``(channels
    out, channels / groups, width)``.

    Raises:
        CallError: an argument does not fit. Nothing has been written then.
    """
    options = Options(stride, padding, dilation, groups, activation, layout, threads, specialize)
    return _convolved(1, _arrays(1, x, weight, scale, bias, residual), weight, out, options)


@returns_tensors
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
    scale: Any = None,
    layout: str = "NDHWC",
    out: Any = None,
    threads: int | None = None,
    specialize: bool | None = None,
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
    options = Options(stride, padding, dilation, groups, activation, layout, threads, specialize)
    return _convolved(3, _arrays(3, x, weight, scale, bias, residual), weight, out, options)


def _convolved(
    dimensions: int, arrays: dict[str, NumpyArray], weight: Any, out: Any, options: Options
) -> NumpyArray:
    if out is not None and type(out) is not np.ndarray:
        view = as_array(out, f"conv{dimensions}d: out")
        _convolved(dimensions, arrays, weight, view, options)
        return out  # type: ignore[no-any-return]
    if out is not None:
        require_separate(f"conv{dimensions}d", out, arrays)
    plan = planned(dimensions, arrays, weight, out, options)
    order = (0, *range(2, dimensions + 2), 1) if plan.is_first else tuple(range(dimensions + 2))
    target = np.empty(plan.shape, plan.result) if out is None else out.transpose(order)
    result = target if target.flags.c_contiguous else np.empty(plan.shape, plan.result)
    if result.size:
        plan.run(arrays, result)
    if result is not target:
        np.copyto(target, result)
    return target.transpose(np.argsort(order)) if out is None else out


def convolution_code(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    residual: Any = None,
    scale: Any = None,
    **options: Any,
) -> ConvolutionCode:
    """The code that a convolution runs for these arguments; ``out`` is not one of them.

    The dimensions of ``x`` decide between :func:`conv1d`, :func:`conv2d` and :func:`conv3d`.
    """
    dimensions = as_array(x, "convolution_code: array 'x'").ndim - 2
    if dimensions not in LAYOUTS:
        raise CallError("convolution_code: expected 'x' with 3, 4 or 5 dimensions")
    chosen = Options(**{"layout": LAYOUTS[dimensions][0], **options})
    arrays = _arrays(dimensions, x, weight, scale, bias, residual)
    plan = planned(dimensions, arrays, weight, None, chosen)
    if not isinstance(plan, Plan):
        raise CallError(
            "convolution_code: weights prepared with algorithm='winograd' run several kernels; "
            "expected other weights: WinogradCode of polysched.library.convolution.winograd has "
            "the schedules of the transforms"
        )
    return plan.code


def _arrays(
    dimensions: int, x: Any, weight: Any, scale: Any, bias: Any, residual: Any
) -> dict[str, NumpyArray]:
    """The arrays in the order of the kernel's arguments, by name."""
    filter = weight.array if isinstance(weight, PreparedWeight) else weight
    scales = np.asarray(scale, np.float32) if isinstance(scale, int | float) else scale
    given = {"x": x, "weight": filter, "scale": scales, "bias": bias, "residual": residual}
    return {
        name: value
        if type(value) is np.ndarray
        else as_array(value, f"conv{dimensions}d: array '{name}'")
        for name, value in given.items()
        if value is not None or name in ("x", "weight")
    }
