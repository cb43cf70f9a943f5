"""Size-generic kernels: proved for all sizes, exact for some."""

from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.library.matmul.generic.blocks import (
    Block,
    DotBlock,
    StreamBlock,
    TileBlock,
    TransposeBlock,
)
from polysched.lower import compile
from tests.support.differential import NO_CACHE
from tests.support.effort import covering

NumpyArray = np.ndarray[Any, Any]

BLOCKS = (
    TileBlock(ps.f32, 16, 3, 2, "far", has_lower=True),
    TileBlock(ps.f32, 16, 1, 1),
    TileBlock(ps.f64, 8, 2, 3, "packed"),
    StreamBlock(ps.f32, 16, 2, 2, 4, 3, copies_a=True),
    DotBlock(ps.f32, 16, 2, 3),
    DotBlock(ps.f64, 4, 1, 1),
    TransposeBlock(ps.f64, 8),
)


def numbers(shape: tuple[int, ...], dtype: ps.DType, seed: int) -> NumpyArray:
    return np.random.default_rng(seed).integers(-8, 8, shape).astype(dtype.numpy())


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_a_block_is_proved_for_all_sizes(block: Block) -> None:
    schedule = block.schedule()
    assert schedule.check().is_legal
    assert schedule.kernel.name == block.name


@covering(1, missing=[0, 5], first=[0, 1], block=BLOCKS[:4])
def test_blocks_of_columns_are_exact(
    block: TileBlock | StreamBlock, first: int, missing: int
) -> None:
    run = compile(block.schedule(), cache=NO_CACHE)
    for tiles, panels, terms in ((1, 1, 1), (2, 3, 7)):
        m, n, k, counts = block.rows, block.columns * panels - missing, terms, {}
        if isinstance(block, StreamBlock):
            k *= block.group
        elif block.has_lower:
            counts = {"tiles": tiles, "lower": 3}
            m = block.rows * tiles + (block.rows - 1) * 3
        else:
            m *= tiles
        whole = numbers((k, m + 2), block.dtype, 1)
        a = whole.T[:m]  # rows of any stride
        b, out = numbers((k, n + 3), block.dtype, 2)[:, :n], numbers((m, n), block.dtype, 3)
        expected = a @ b + (0 if first else out)
        run(a, b, out, first=first, panels=panels, missing=missing, **counts)
        np.testing.assert_array_equal(out, expected)


@covering(1, terms=[16, 23, 40], block=BLOCKS[4:6])
def test_dot_blocks_write_results_of_any_strides(block: DotBlock, terms: int) -> None:
    run = compile(block.schedule(), cache=NO_CACHE)
    m, n = 3 * block.rows, 2 * block.columns
    a, b = numbers((m, terms), block.dtype, 1), numbers((n, terms), block.dtype, 2)
    for out in (numbers((m, n), block.dtype, 3), numbers((n, m), block.dtype, 3).T):
        run(a, b, out, first=1)
        np.testing.assert_array_equal(out, a @ b.T)


@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (13, 21), (3, 40)])
def test_the_copy_is_the_transposed_matrix(shape: tuple[int, int]) -> None:
    run = compile(TransposeBlock(ps.f64, 8).schedule(), cache=NO_CACHE)
    b = numbers(shape, ps.f64, 1)
    out = np.zeros(shape[::-1])
    run(b, out)
    np.testing.assert_array_equal(out, b.T)
