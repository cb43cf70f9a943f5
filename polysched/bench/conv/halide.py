"""Halide's convolution with the tutorial's schedule, through its Python bindings."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from polysched.bench.conv.work import WINDOW, ConvolutionData
from polysched.bench.measure.contestant import Runner, UnavailableError, optional_module
from polysched.machine.detect import detect_host
from polysched.runtime.memory import aligned_zeros

ALIGNMENT = 128
"""Alignment of every buffer in bytes, as Halide's own application promises its compiler."""


def prepare_halide(data: ConvolutionData, target_name: str | None = None) -> Runner:
    """Halide's `apps/conv_layer` as MLIR's tutorial quotes it, without the parallel loops.

    All bounds, strides and alignments are pinned, as in the application ("ask Halide to compile
    for this specific size"). On AVX-512 a tile is 4 vectors of channels by 5 columns, elsewhere 3
    by 4, as the application has it.

    Args:
        target_name: the target in Halide's notation; None for this host.
    """
    halide: Any = optional_module("halide")
    size = data.size
    target = halide.Target(target_name) if target_name else _host_target(halide)
    lanes = target.natural_vector_size(halide.Float(32))
    has_32_registers = target.has_feature(halide.TargetFeature.AVX512_Skylake)
    vectors, tile_columns = (4, 5) if has_32_registers else (3, 4)
    if size.channels_out < lanes * vectors or size.columns < tile_columns:
        raise UnavailableError(
            f"its schedule needs at least {lanes * vectors} output channels and {tile_columns} "
            f"columns, the convolution has {size.channels_out} and {size.columns}"
        )

    inputs = _pinned_parameter(halide, "input", data.input)
    weights = _pinned_parameter(halide, "filter", data.filter)
    bias = _pinned_parameter(halide, "bias", data.bias)

    # Halide counts dimensions from the innermost.
    x, y, c, n = (halide.Var(name) for name in ("x", "y", "c", "n"))
    r = halide.RDom([(0, size.channels_in), (0, WINDOW), (0, WINDOW)], "r")
    conv, relu = halide.Func("conv"), halide.Func("relu")
    conv[c, x, y, n] = bias[c]
    conv[c, x, y, n] += weights[c, r.y, r.z, r.x] * inputs[r.x, x + r.y, y + r.z, n]
    relu[c, x, y, n] = halide.max(conv[c, x, y, n], 0.0)

    for variable, extent in zip((c, x, y, n), reversed(size.output_shape), strict=True):
        relu.bound(variable, 0, extent)
    output = aligned_zeros(size.output_shape, alignment=ALIGNMENT)
    _pin(relu.output_buffer(), output)

    co, ci, xo, xi = (halide.Var(name) for name in ("co", "ci", "xo", "xi"))
    (
        relu.split(c, co, ci, lanes * vectors)
        .split(x, xo, xi, tile_columns)
        .reorder(ci, xi, xo, y, n, co)
        .vectorize(ci, lanes)
        .unroll(ci)
        .unroll(xi)
    )
    conv.compute_at(relu, xo).vectorize(c, lanes).unroll(c).unroll(x).unroll(y)
    (
        conv.update()
        .reorder(c, x, y, r.x, r.y, r.z, n)
        .vectorize(c, lanes)
        .unroll(c)
        .unroll(x)
        .unroll(y)
        .unroll(r.x, 2)
    )
    relu.compile_jit(target)
    realized = halide.Buffer(output)

    def run() -> None:
        relu.realize(realized)

    return Runner(run, lambda: output)


def _pinned_parameter(halide: Any, name: str, array: npt.NDArray[Any]) -> Any:
    """A Halide input that holds `array` and promises its exact layout to the compiler."""
    parameter = halide.ImageParam(halide.Float(32), array.ndim, name)
    _pin(parameter, array)
    parameter.set(halide.Buffer(array))
    return parameter


def _pin(buffer: Any, array: npt.NDArray[Any]) -> None:
    """Fix bounds, strides (in elements) and alignment to those of a C-contiguous `array`."""
    for dimension in range(array.ndim):
        axis = array.ndim - 1 - dimension
        stride = array.strides[axis] // array.itemsize
        buffer.dim(dimension).set_bounds(0, array.shape[axis]).set_stride(stride)
    buffer.set_host_alignment(ALIGNMENT)


def _host_target(halide: Any) -> Any:
    """Halide's own target, without AVX-512 where the operating system does not save its registers.

    Halide asks the processor alone, and its code would end the process there.
    """
    target = halide.get_host_target()
    if not detect_host().has("avx512f"):
        for name, feature in halide.TargetFeature.__members__.items():
            if name.startswith("AVX512"):
                target = target.without_feature(feature)
    return target
