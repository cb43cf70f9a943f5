import random

from polysched.fuzz.generate.steps import only_reorders
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.dtypes import i32
from tests.support.random_schedules import random_kernel, random_schedule


def test_kernels_are_kernels() -> None:
    for seed in range(40):
        kernel = random_kernel(random.Random(seed).randint)
        assert isinstance(kernel, Kernel)
        assert all(array.dtype == i32 for array in kernel.arrays.values())


def test_schedules_have_steps() -> None:
    lengths, buffered = [], 0
    for seed in range(40):
        integers = random.Random(seed).randint
        kernel = random_kernel(integers)
        schedule = random_schedule(integers, kernel, buffers=seed % 2 == 1)
        assert schedule.kernel is kernel
        lengths.append(len(schedule.steps))
        buffered += not only_reorders(schedule)
        assert seed % 2 == 1 or only_reorders(schedule)
    assert max(lengths) >= 3
    assert buffered >= 2
