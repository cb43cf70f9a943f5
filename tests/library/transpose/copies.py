"""Transposed copies of all kinds, checked bit for bit between pages that may not be touched."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np

from polysched.ir.core.tree import TransposeStrategy
from polysched.ir.expr.dtypes import DType, u8, u16, u32, u64
from polysched.library.transpose.kernel import transpose_kernel
from polysched.library.transpose.schedule import IN_CACHE, past_cache, transpose_schedule
from polysched.lower import compile
from polysched.machine.load import load_machine
from polysched.runtime.kernel import CompiledKernel
from tests.library.transpose.fenced import fenced
from tests.support.differential import NO_CACHE

DTYPES = (u8, u16, u32, u64)
MACHINES = ("host", "haswell-avx2", "generic")
STRATEGIES = tuple(TransposeStrategy)
LARGEST = 70
LARGEST_TILE = {TransposeStrategy.ELTWISE: 16, TransposeStrategy.SHUFFLE_1D: 16}
"""LLVM needs minutes for a shuffle of 4096 bytes."""


@cache
def compiled(
    dtype: DType, strategy: TransposeStrategy, machine: str, *, streamed: bool = False
) -> CompiledKernel:
    """The copy of a matrix by a strategy, for tiles of a machine's vectors."""
    target = load_machine(machine)
    tile = min(target.lanes(dtype.bits), LARGEST_TILE.get(strategy, 64))
    tile_order = replace(past_cache(tile) if streamed else IN_CACHE, strategy=strategy)
    kernel = transpose_kernel((1, 0), dtype, tile)
    return compile(transpose_schedule(kernel, tile, tile_order), target, cache=NO_CACHE)


def assert_transposes(run: CompiledKernel, rows: int, columns: int) -> None:
    """Fail unless a matrix is transposed and nothing outside of the two arrays is touched."""
    (x_type, y_type) = (array.dtype.numpy() for array in run.signature.arrays)
    generator = np.random.default_rng(rows * 100 + columns)
    for at_end, out_at_end in product((False, True), (False, True)):
        _, x = fenced((rows, columns), x_type, at_end=at_end)
        _, y = fenced((columns, rows), y_type, at_end=out_at_end)
        x[...] = generator.integers(0, 1 << 63, x.shape, np.uint64).astype(x_type)
        run(x, y)
        np.testing.assert_array_equal(y, x.T, f"{rows} x {columns}")
