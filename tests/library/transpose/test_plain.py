import numpy as np
import pytest

from polysched.ir.expr.dtypes import DType, u8, u64
from polysched.library.transpose.rows import copy_kernel, copy_schedule
from polysched.lower import compile
from polysched.machine.load import load_machine
from tests.library.transpose.copies import MACHINES
from tests.library.transpose.fenced import fenced
from tests.support.differential import NO_CACHE, assert_agrees


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("dtype", [u8, u64])
def test_copies(dtype: DType, machine: str) -> None:
    """Nothing outside of the two arrays is touched."""
    target = load_machine(machine)
    schedule = copy_schedule(copy_kernel(dtype), target.lanes(dtype.bits))
    run = compile(schedule, target, cache=NO_CACHE)
    for count in (1, 2, 7, 15, 31, 32, 63, 64, 65, 255, 256, 257, 1000):
        for at_end in (False, True):
            _, x = fenced((count,), dtype.numpy(), at_end=at_end)
            _, y = fenced((count,), dtype.numpy(), at_end=at_end)
            x[...] = np.random.default_rng(count).integers(0, 1 << 63, count).astype(x.dtype)
            run(x, y)
            np.testing.assert_array_equal(y, x)


def test_scheduled() -> None:
    assert_agrees(copy_schedule(copy_kernel(u64), 8), *({"e0": count} for count in (0, 5, 32, 77)))
