"""The convolution's own contestants: the schedules of the library, on one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from polysched.bench.contestant import Contestant, Runner
from polysched.bench.convolution import ConvolutionData, ConvolutionSize
from polysched.bench.convolution_kernel import best, conv2d_relu, tutorial, unscheduled
from polysched.ir.core.kernel import Kernel
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.runtime.cache import ObjectCache
from polysched.runtime.memory import aligned_zeros
from polysched.schedule.schedule import Schedule

ScheduleMaker = Callable[[Kernel], Schedule]

SCHEDULES: Mapping[str, ScheduleMaker] = MappingProxyType(
    {
        "polysched (a) unscheduled": unscheduled,
        "polysched (b) tutorial": tutorial,
        "polysched (c) best": best,
    }
)
"""The contestants by name."""


def own_contestants(
    data: ConvolutionData, machine: Machine, cache: ObjectCache | None = None
) -> tuple[Contestant, ...]:
    """The library's schedules for these operands; each is compiled when it is prepared.

    Args:
        data: the operands.
        machine: the machine to compile for; this host must be able to run its code.
        cache: the cache of object code; by default the user's.
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
    schedule: ScheduleMaker,
    machine: Machine,
    cache: ObjectCache | None = None,
) -> Runner:
    """Declare, schedule, prove and compile the convolution.

    Raises:
        PolyschedError: the schedule is refused or cannot be compiled.
    """
    compiled = compile(schedule(kernel_of(data.size)), machine, cache=cache)
    output = aligned_zeros(data.size.output_shape)

    def run() -> None:
        compiled(data.input, data.filter, data.bias, output)

    return Runner(run, lambda: output)
