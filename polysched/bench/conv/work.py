"""Benchmark of a convolution: sizes, data, reference and the library's own contestants.

The kernel of MLIR's transform tutorial, "Chapter H: Reproducing Halide Schedule", which took it
from Halide's `apps/conv_layer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.bench.conv.kernel import best, conv2d_relu, tutorial, unscheduled
from polysched.bench.measure.contestant import Contestant, Runner
from polysched.errors import BenchError
from polysched.ir.core.kernel import Kernel
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.runtime.cache import ObjectCache
from polysched.runtime.memory import aligned_zeros
from polysched.schedule.schedule import Schedule

_ScheduleMaker = Callable[[Kernel], Schedule]

SCHEDULES: Mapping[str, _ScheduleMaker] = MappingProxyType(
    {
        "polysched (a) unscheduled": unscheduled,
        "polysched (b) tutorial": tutorial,
        "polysched (c) best": best,
    }
)
"""The contestants by name."""

WINDOW = 3
"""The filter's extent in y and in x; the output is smaller than the input by WINDOW - 1."""


@dataclass(frozen=True)
class ConvolutionSize:
    """Extents: images, output rows, output columns, channels in and out. The tutorial's sizes."""

    images: int = 5
    rows: int = 80
    columns: int = 100
    channels_in: int = 128
    channels_out: int = 128

    def __post_init__(self) -> None:
        """Refuse an empty convolution."""
        for name, extent in vars(self).items():
            if extent < 1:
                raise BenchError(f"convolution size: {name} must be at least 1, got {extent}")

    @property
    def flops(self) -> int:
        """Operations: a multiplication and an addition per window element, the bias, the maximum.

        Code that starts the sum with the bias saves its addition. The addition is counted all the
        same, so that all contestants have the same number of operations.
        """
        outputs = self.images * self.rows * self.columns * self.channels_out
        return outputs * (2 * WINDOW * WINDOW * self.channels_in + 2)

    @property
    def input_shape(self) -> tuple[int, int, int, int]:
        """`[images][rows + 2][columns + 2][channels_in]`."""
        edge = WINDOW - 1
        return (self.images, self.rows + edge, self.columns + edge, self.channels_in)

    @property
    def filter_shape(self) -> tuple[int, int, int, int]:
        """`[channels_in][window y][window x][channels_out]`."""
        return (self.channels_in, WINDOW, WINDOW, self.channels_out)

    @property
    def output_shape(self) -> tuple[int, int, int, int]:
        """`[images][rows][columns][channels_out]`."""
        return (self.images, self.rows, self.columns, self.channels_out)


@dataclass(frozen=True)
class ConvolutionData:
    """The operands, float32, C-contiguous, 128-byte aligned; shapes as in `ConvolutionSize`."""

    size: ConvolutionSize
    input: npt.NDArray[Any]
    filter: npt.NDArray[Any]
    bias: npt.NDArray[Any]


def random_data(size: ConvolutionSize, seed: int = 0) -> ConvolutionData:
    """Operands drawn evenly from [-1, 1); about half of the outputs are cut off by the ReLU."""
    generator = np.random.default_rng(seed)

    def uniform(shape: tuple[int, ...]) -> npt.NDArray[Any]:
        array = aligned_zeros(shape)
        generator.random(out=array, dtype=np.float32)
        array *= 2
        array -= 1
        return array

    return ConvolutionData(
        size, uniform(size.input_shape), uniform(size.filter_shape), uniform((size.channels_out,))
    )


def reference(data: ConvolutionData) -> npt.NDArray[Any]:
    """The right output, computed in float64: nine shifted matrix products, bias, ReLU."""
    size = data.size
    inputs = data.input.astype(np.float64)
    weights = data.filter.astype(np.float64)
    total = np.broadcast_to(data.bias.astype(np.float64), size.output_shape).copy()
    for y in range(WINDOW):
        for x in range(WINDOW):
            window = inputs[:, y : y + size.rows, x : x + size.columns]
            total += window @ weights[:, y, x]
    return np.maximum(total, 0.0)


def tolerance(size: ConvolutionSize) -> float:
    """How far a float32 output may be from the float64 reference whatever the order of the sum.

    A sum of n products of magnitude at most 1 has a rounding error of at most about n * n * 2^-24
    (N. Higham, "Accuracy and Stability of Numerical Algorithms", section 3.1). One product too
    few or too many among millions of outputs is off by nearly 1.
    """
    terms = WINDOW * WINDOW * size.channels_in + 1
    return terms * terms * 2.0**-24


def own_contestants(
    data: ConvolutionData, machine: Machine, cache: ObjectCache | None = None
) -> tuple[Contestant, ...]:
    """The library's schedules for these operands; each is compiled when it is prepared.

    Args:
        machine: the machine to compile for; this host must be able to run its code.
    """
    return tuple(
        Contestant(name, partial(prepare_own, data, schedule, machine, cache))
        for name, schedule in SCHEDULES.items()
    )


def kernel_of(size: ConvolutionSize) -> Kernel:
    """The convolution with these extents as numbers."""
    return conv2d_relu(size.images, size.rows, size.columns, size.channels_in, size.channels_out)


def prepare_own(
    data: ConvolutionData,
    schedule: _ScheduleMaker,
    machine: Machine,
    cache: ObjectCache | None = None,
) -> Runner:
    """Declare, schedule, prove and compile the convolution."""
    compiled = compile(schedule(kernel_of(data.size)), machine, cache=cache)
    output = aligned_zeros(data.size.output_shape)

    def run() -> None:
        compiled(data.input, data.filter, data.bias, output)

    return Runner(run, lambda: output)
