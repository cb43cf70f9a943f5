"""Products on a matrix unit: tiles of AMX for bf16, int8 and uint8.

``b`` is copied into the VNNI layout, whose rows of groups are the operands of the instruction. The
register tile is 2 x 2 tiles of sums: each step of the terms loads four tiles for four products.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from polysched.instructions.amx import TILE_BYTES, TILE_ROWS, amx_product
from polysched.instructions.lookup import is_available
from polysched.ir.expr.dtypes import DType, bf16, f32, i8, u8
from polysched.library.matmul.kernel.declare import Sizes
from polysched.library.matmul.kernel.operands import OperandTile, Stored, VnniLayout
from polysched.library.matmul.plan.config import Config
from polysched.library.matmul.plan.problem import Problem
from polysched.machine.contraction_model import even_block
from polysched.machine.description import Machine

LANES = TILE_BYTES // f32.bytes
"""The 32-bit sums of a row of a tile."""

BLOCK_STEPS = 64
"""Steps of a block of terms, at most. Sums that are loaded again come from distant caches: 2048^3
in bf16 takes 0.93 of its time with 64 steps and 256 columns in a block, beside 32 steps and 512.
"""

_GROUP_BYTES = f32.bytes
"""Bytes of a group of terms: as many as a sum has."""

_TILE = OperandTile(TILE_ROWS, TILE_BYTES // _GROUP_BYTES, LANES)

_COPYING_COLUMNS = 1024
"""Columns from which on ``a`` is copied to tiles. Rows that begin anywhere cross cache lines: with
a copy 2048^3 in bf16 takes 0.75 of its time, and 1.02 if the rows are aligned; 512^3 0.83 and 1.15.
"""

_LAYOUTS: Mapping[DType, VnniLayout] = MappingProxyType(
    {
        i8: VnniLayout(4, i8, tile=_TILE),
        u8: VnniLayout(4, u8, tile=_TILE),
        bf16: VnniLayout(2, bf16, tile=_TILE),
    }
)


def tile_layout_of(problem: Problem, machine: Machine) -> VnniLayout | None:
    """The layout of ``b`` for products of tiles; None if the machine or the product has none.

    Fewer rows, columns or terms than a tile has are left to vectors.
    """
    (left, right), sizes = problem.types, problem.sizes
    layout = _LAYOUTS.get(right)
    if machine.matrix_unit != "amx" or layout is None:
        return None
    if sizes.m < TILE_ROWS or sizes.n < LANES or sizes.k * problem.dtype.bytes < TILE_BYTES:
        return None
    instruction = amx_product((left, layout.type))
    if instruction is None or not is_available(instruction, machine.enabled_features):
        return None
    a = problem.a
    is_scattered = isinstance(a, Stored) and (a.is_transposed or a.has_gaps)
    has_rest = sizes.k % (layout.terms * _TILE.groups) > 0
    is_copied = is_scattered or has_rest or sizes.n >= _COPYING_COLUMNS
    return replace(layout, copies_a=is_copied)


def tile_config(config: Config, part: Sizes, blocks_outermost: str, machine: Machine) -> Config:
    """The config with a register tile of 2 x 2 tiles, in groups of terms.

    Each step reads 2 KiB of each operand, which only the L2 cache supplies in time. If the rows of
    ``a`` fit half of it, each panel of ``b`` meets all of them. Otherwise blocks of ``b`` fit it.

    Args:
        config: the division among threads.
        part: the sizes of a thread's part, with groups as terms.
        blocks_outermost: the loop order with blocks of ``b`` outermost.
    """
    config = Config(
        m_threads=config.m_threads,
        n_threads=config.n_threads,
        k_threads=config.k_threads,
        parallel_batch=config.parallel_batch,
        inner_m=2 * TILE_ROWS,
        inner_n=2 * LANES,
        inner_k=_TILE.groups,
        tiles=True,
    )
    near = machine.cache_bytes(2) // 2
    if part.m * part.k * _GROUP_BYTES <= near:
        return config
    terms = even_block(part.k, BLOCK_STEPS * config.inner_k, config.inner_k)
    columns = max(1, near // (terms * _GROUP_BYTES * config.inner_n)) * config.inner_n
    return replace(config, order=blocks_outermost, k_block=terms, n_block=columns)
