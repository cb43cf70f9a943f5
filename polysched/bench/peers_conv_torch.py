"""torch's convolution, as written by a user and as fused by its compiler; both run oneDNN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polysched.bench.contestant import Runner, UnavailableError, returning
from polysched.bench.convolution import ConvolutionData
from polysched.bench.torch_libraries import torch_on


def prepare_torch(data: ConvolutionData) -> Runner:
    """`relu_(conv2d(...))` on channels_last tensors, weights permuted beforehand."""
    torch = torch_on(1)
    functional = torch.nn.functional
    inputs, weight, bias = _operands(torch, data)
    return _runner(torch, lambda: functional.conv2d(inputs, weight, bias).relu_())


def prepare_onednn(data: ConvolutionData) -> Runner:
    """oneDNN at its best: weights packed into its own blocked format, ReLU fused.

    These are the two operators that `torch.compile` puts in for a frozen convolution + ReLU.

    Raises:
        UnavailableError: torch is one without oneDNN or these operators.
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
