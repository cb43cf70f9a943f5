"""Generate random kernels and schedules."""

from __future__ import annotations

from polysched.errors import KernelError, ScheduleError
from polysched.fuzz.generate.kernels import random_sketch
from polysched.fuzz.generate.randomness import Integers
from polysched.fuzz.generate.sketch import declare
from polysched.fuzz.generate.steps import random_step
from polysched.ir.core.kernel import Kernel
from polysched.schedule.schedule import Schedule


def random_kernel(integers: Integers) -> Kernel:
    """Generate a random kernel; some are faulty: out of bounds, or reading undefined elements."""
    while True:
        try:
            return declare(random_sketch(integers))
        except KernelError:
            continue  # for example, a statement never runs


def random_schedule(
    integers: Integers, kernel: Kernel, *, buffers: bool, attempts: int = 5
) -> Schedule:
    """Generate a schedule, legal or not, from the random steps that apply out of ``attempts``."""
    schedule = Schedule(kernel)
    for _ in range(integers(1, attempts)):
        try:
            schedule = schedule.then(random_step(integers, schedule, buffers=buffers))
        except ScheduleError:
            continue
    return schedule
