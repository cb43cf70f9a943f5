"""torch's convolution, as written by a user and as fused by its compiler; both run oneDNN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.bench.contestant import Runner, UnavailableError, optional_module
from polysched.bench.convolution import ConvolutionData


def prepare_torch(data: ConvolutionData) -> Runner:
    """`relu_(conv2d(...))` on channels_last tensors, weights permuted beforehand.

    torch is held to one thread for the rest of the process.

    Raises:
        UnavailableError: torch is not installed.
    """
    torch: Any = _torch_on_one_thread()
    functional = torch.nn.functional
    inputs, weight, bias = _operands(torch, data)
    return _runner(torch, lambda: functional.conv2d(inputs, weight, bias).relu_())


def prepare_onednn(data: ConvolutionData) -> Runner:
    """oneDNN at its best: weights packed into its own blocked format, ReLU fused.

    These are the two operators that `torch.compile` puts in for a frozen convolution + ReLU.
    torch is held to one thread for the rest of the process.

    Raises:
        UnavailableError: torch is not installed, or is one without oneDNN or these operators.
    """
    torch: Any = _torch_on_one_thread()
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


def _torch_on_one_thread() -> Any:
    """The torch module; `Any`, because it is not there when types are checked."""
    torch: Any = optional_module("torch")
    torch.set_num_threads(1)
    return torch


def _operands(torch: Any, data: ConvolutionData) -> tuple[Any, Any, Any]:
    """Input and weight as torch wants them, logically [n][channel][y][x], channels_last in memory.

    The input is a view of the given array; the filter is copied into the other order.
    """
    inputs = torch.from_numpy(data.input).permute(0, 3, 1, 2)
    weight = torch.from_numpy(np.ascontiguousarray(data.filter.transpose(3, 0, 1, 2)))
    weight = weight.contiguous(memory_format=torch.channels_last)
    return inputs, weight, torch.from_numpy(data.bias)


def _runner(torch: Any, convolve: Callable[[], Any]) -> Runner:
    """Keeps the newest result only, so that torch's allocator hands the same memory out again."""
    latest: list[Any] = []

    def run() -> None:
        latest.clear()
        with torch.inference_mode():
            latest.append(convolve())

    def result() -> npt.NDArray[Any]:
        array: npt.NDArray[Any] = latest[0].permute(0, 2, 3, 1).numpy()
        return array

    return Runner(run, result)
