"""Random kernels and schedules of them, for tests of what is said about schedules."""

from __future__ import annotations

from polysched.errors import KernelError, ScheduleError
from polysched.fuzz.kernels import random_sketch
from polysched.fuzz.randomness import Integers
from polysched.fuzz.sketch import declare
from polysched.fuzz.steps import random_step
from polysched.ir.kernel import Kernel
from polysched.schedule.schedule import Schedule


def random_kernel(integers: Integers) -> Kernel:
    """A random kernel; some are at fault: they leave an array or read what nothing defines."""
    while True:
        try:
            return declare(random_sketch(integers))
        except KernelError:
            continue  # a statement that never runs, say


def random_schedule(
    integers: Integers, kernel: Kernel, *, buffers: bool, attempts: int = 5
) -> Schedule:
    """A schedule of the steps that could be applied among so many random ones, legal or not."""
    schedule = Schedule(kernel)
    for _ in range(integers(1, attempts)):
        try:
            schedule = schedule.then(random_step(integers, schedule, buffers=buffers))
        except ScheduleError:
            continue
    return schedule
