"""The convolution's peers: numpy, torch, oneDNN and Halide, each on one thread.

A peer whose library is not installed is withdrawn from the race with the reason. Every peer gets
the same 128-byte aligned operands, and whatever it likes to do once per filter (packing, compiling)
happens while it is prepared, untimed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.bench.conv.halide import prepare_halide
from polysched.bench.conv.work import WINDOW, ConvolutionData
from polysched.bench.measure.contestant import (
    Contestant,
    Runner,
    UnavailableError,
    optional_module,
    returning,
)
from polysched.bench.measure.peer_libraries import (
    blas_kernels,
    halide_kernels,
    torch_kernels,
    torch_on,
)
from polysched.runtime.memory import aligned_copy, aligned_zeros

ROWS_PER_PANEL = 8
"""Output rows that numpy's panel holds: 3.7 MB at the tutorial's sizes; 2 to 8 are alike here."""


def convolution_peers(data: ConvolutionData) -> tuple[Contestant, ...]:
    """All peers for these operands; none is imported or compiled before it is prepared."""
    return (
        Contestant("numpy", partial(prepare_numpy, data), blas_kernels),
        Contestant("torch conv2d", partial(prepare_torch, data), torch_kernels),
        Contestant("oneDNN fused", partial(prepare_onednn, data), torch_kernels),
        Contestant("Halide, tutorial", partial(prepare_halide, data), halide_kernels),
    )


def prepare_numpy(data: ConvolutionData) -> Runner:
    """A matrix product for each block of rows: `[pixels, 9 * channels_in] @ [.., channels_out]`.

    Each pixel's window is copied into a panel first (im2col), a few rows of an image at a time, so
    that panel and output stay in the cache. Panel and packed filter are allocated once. This is
    faster here than nine shifted products, which read and write the output nine times.
    """
    controller: Any = optional_module("threadpoolctl").ThreadpoolController()
    size = data.size
    weight = aligned_copy(data.filter.transpose(1, 2, 0, 3).reshape(-1, size.channels_out))
    panel = aligned_zeros((ROWS_PER_PANEL, size.columns, WINDOW, WINDOW, size.channels_in))
    output = aligned_zeros(size.output_shape)
    starts = range(0, size.rows, ROWS_PER_PANEL)

    def convolve_block(image: npt.NDArray[Any], total: npt.NDArray[Any]) -> None:
        rows = total.shape[0]
        for y, x in product(range(WINDOW), repeat=2):
            np.copyto(panel[:rows, :, y, x], image[y : y + rows, x : x + size.columns])
        pixels = total.reshape(rows * size.columns, size.channels_out)
        np.matmul(panel[:rows].reshape(len(pixels), -1), weight, out=pixels)
        np.add(pixels, data.bias, out=pixels)
        np.maximum(pixels, 0, out=pixels)

    def run() -> None:
        with controller.limit(limits=1, user_api="blas"):
            for image, total in zip(data.input, output, strict=True):
                for start in starts:
                    convolve_block(image[start:], total[start : start + ROWS_PER_PANEL])

    return Runner(run, lambda: output)


def prepare_torch(data: ConvolutionData) -> Runner:
    """`relu_(conv2d(...))` on channels_last tensors, weights permuted beforehand."""
    torch = torch_on(1)
    functional = torch.nn.functional
    inputs, weight, bias = _operands(torch, data)
    return _runner(torch, lambda: functional.conv2d(inputs, weight, bias).relu_())


def prepare_onednn(data: ConvolutionData) -> Runner:
    """oneDNN at its best: weights packed into its own blocked format, ReLU fused.

    These are the two operators that `torch.compile` puts in for a frozen convolution + ReLU.
    """
    torch = torch_on(1)
    operators = torch.ops.mkldnn
    needed = ("_reorder_convolution_weight", "_convolution_pointwise")
    if not torch.backends.mkldnn.is_available() or not all(
        hasattr(operators, name) for name in needed
    ):
        raise UnavailableError(
            f"torch {torch.__version__} has no oneDNN convolution with fused ReLU"
        )
    inputs, weight, bias = _operands(torch, data)
    padding, stride, dilation, groups = [0, 0], [1, 1], [1, 1], 1
    with torch.inference_mode():
        packed = operators._reorder_convolution_weight(
            weight, padding, stride, dilation, groups, list(inputs.shape)
        )
    scalars: list[Any] = []

    def convolve() -> Any:
        return operators._convolution_pointwise(
            inputs, packed, bias, padding, stride, dilation, groups, "relu", scalars, ""
        )

    return _runner(torch, convolve)


def _operands(torch: Any, data: ConvolutionData) -> tuple[Any, Any, Any]:
    """Input and weight as torch wants them, logically [n][channel][y][x], channels_last in memory.

    The input is a view of the given array; the filter is copied into the other order.
    """
    inputs = torch.from_numpy(data.input).permute(0, 3, 1, 2)
    weight = torch.from_numpy(np.ascontiguousarray(data.filter.transpose(3, 0, 1, 2)))
    weight = weight.contiguous(memory_format=torch.channels_last)
    return inputs, weight, torch.from_numpy(data.bias)


def _runner(torch: Any, convolve: Callable[[], Any]) -> Runner:
    def run() -> Any:
        with torch.inference_mode():
            return convolve()

    return returning(run, lambda result: result.permute(0, 2, 3, 1).numpy())
