"""Products on a matrix unit: tiles of AMX for bf16, int8 and uint8.

``b`` is copied into the VNNI layout, whose rows of groups are what the instruction takes. The
register tile is 2 x 2 tiles of sums: each step of the terms loads four tiles for four products.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from polysched.instructions.amx import TILE_BYTES, TILE_ROWS, amx_product
from polysched.instructions.lookup import is_available
from polysched.ir.expr.dtypes import DType, bf16, f32, i8, u8
from polysched.library.matmul.kernel.operands import VnniLayout
from polysched.library.matmul.plan.config import Config
from polysched.library.matmul.plan.problem import Problem
from polysched.machine.description import Machine

LANES = TILE_BYTES // f32.bytes
"""The 32-bit sums of a row of a tile."""

_LAYOUTS: Mapping[DType, VnniLayout] = MappingProxyType(
    {i8: VnniLayout(4, i8), u8: VnniLayout(4, u8), bf16: VnniLayout(2, bf16)}
)


def tile_layout_of(problem: Problem, machine: Machine) -> VnniLayout | None:
    """The layout of ``b`` for products of tiles; None if the machine or the product has none.

    Fewer rows, columns or terms than a tile has are left to vectors.
    """
    layout, sizes = _LAYOUTS.get(problem.dtype), problem.sizes
    if machine.matrix_unit != "amx" or layout is None:
        return None
    if sizes.m < TILE_ROWS or sizes.n < LANES or sizes.k * problem.dtype.bytes < TILE_BYTES:
        return None
    instruction = amx_product((problem.dtype, layout.type))
    if instruction is None or not is_available(instruction, machine.enabled_features):
        return None
    return layout


def tile_config(config: Config, layout: VnniLayout) -> Config:
    """The config with a register tile of 2 x 2 tiles, in groups of terms."""
    groups = TILE_BYTES // (layout.terms * layout.type.bytes)
    return Config(
        m_threads=config.m_threads,
        n_threads=config.n_threads,
        k_threads=config.k_threads,
        parallel_batch=config.parallel_batch,
        inner_m=2 * TILE_ROWS,
        inner_n=2 * LANES,
        inner_k=groups,
        tiles=True,
    )
