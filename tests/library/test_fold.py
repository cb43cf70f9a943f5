"""Sums over some dimensions, the last one kept: values, every partial tile, and what is refused."""

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import DType, f32, f64, i16
from polysched.library.fold import fold_kernel, fold_schedule
from polysched.lower import compile
from polysched.machine.load import load_machine
from tests.support.differential import assert_agrees
from tests.support.effort import covering


@covering(
    1,
    dtype=[f32, f64, i16],
    **{
        "extents, kept": [
            ((3, 4, 5), (True, False, True)),
            ((9, 7, 150), (True, False, True)),
            ((20, 7, 1), (True, False, True)),
            ((1, 1, 17), (True, False, True)),
            ((3, 11, 4, 33), (False, True, False, True)),
            ((5, 2, 9, 3, 16), (True, False, True, False, True)),
        ]
    },
)
def test_sums(extents: tuple[int, ...], kept: tuple[bool, ...], dtype: DType) -> None:
    machine = load_machine()
    run = compile(fold_schedule(fold_kernel(extents, kept, dtype), machine), machine)
    x = np.random.default_rng(0).integers(-9, 9, extents).astype(dtype.numpy())
    summed = tuple(axis for axis, stays in enumerate(kept) if not stays)
    np.testing.assert_array_equal(run(x), x.sum(summed, dtype=x.dtype), strict=True)


@pytest.mark.parametrize("name", ["haswell-avx2", "generic", "skylake-avx512"])
def test_scheduled(name: str) -> None:
    kernel = fold_kernel((5, 3, 21), (True, False, True), f32)
    for threads in (1, 2):
        assert_agrees(fold_schedule(kernel, load_machine(name), threads), {})


@pytest.mark.parametrize(
    ("extents", "kept"),
    [
        ((3, 4), (True, False)),
        ((3, 4), (False, True)),
        ((3, 4), (True, True)),
        ((3, 0, 4), (True, False, True)),
        ((3, 4, 5), (True, True)),
    ],
)
def test_what_is_refused(extents: tuple[int, ...], kept: tuple[bool, ...]) -> None:
    with pytest.raises(KernelError, match="fold: extents"):
        fold_kernel(extents, kept, f32)
