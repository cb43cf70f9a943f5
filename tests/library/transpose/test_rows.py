"""Rows that change places: every length, nothing outside touched, and what is refused."""

import itertools

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import DType, f32, u8, u64
from polysched.library.transpose.rows import rows_kernel, rows_schedule
from polysched.lower import compile
from polysched.machine.load import load_machine
from tests.library.transpose.copies import MACHINES
from tests.library.transpose.fenced import fenced
from tests.support.differential import NO_CACHE, assert_agrees
from tests.support.effort import covering


@covering(
    2, order=[(1, 0, 2), (2, 1, 0, 3)], is_far=[False, True], dtype=[u8, u64], machine=MACHINES
)
def test_rows(dtype: DType, machine: str, order: tuple[int, ...], is_far: bool) -> None:
    target = load_machine(machine)
    schedule = rows_schedule(rows_kernel(order, dtype), target.lanes(dtype.bits), is_far=is_far)
    run = compile(schedule, target, cache=NO_CACHE)
    for length, at_end in itertools.product((1, 2, 3, 7, 31, 64, 65, 200), (False, True)):
        shape = (*(5, 3, 34)[: len(order) - 1], length)
        _, x = fenced(shape, dtype.numpy(), at_end=at_end)
        _, y = fenced(tuple(shape[axis] for axis in order), dtype.numpy(), at_end=at_end)
        x[...] = np.random.default_rng(length).integers(0, 1 << 63, shape).astype(x.dtype)
        run(x, y)
        np.testing.assert_array_equal(y, x.transpose(order))


@pytest.mark.parametrize("is_far", [False, True])
@pytest.mark.parametrize("is_shared", [False, True])
def test_scheduled(is_shared: bool, is_far: bool) -> None:
    kernel = rows_kernel((1, 0, 2), u64)
    schedule = rows_schedule(kernel, 8, is_far=is_far, is_shared=is_shared)
    assert_agrees(schedule, *({"e0": 2, "e1": 33, "e2": length} for length in (0, 1, 9)))


@pytest.mark.parametrize("order", [(0,), (1, 0), (0, 0, 2), (0, 2, 1)])
def test_what_is_refused(order: tuple[int, ...]) -> None:
    with pytest.raises(KernelError, match="transpose of rows: order"):
        rows_kernel(order, f32)
