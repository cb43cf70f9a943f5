"""AMX: dot products of tiles, and tiles of zeros.

A tile has up to 16 rows of up to 64 bytes. ``tdpbssd`` and its siblings add products of four signed
(``s``) or unsigned (``u``) bytes, ``tdpbf16ps`` adds products of two bf16, to 32-bit sums::

    sums[row, lane] += a[row, terms * group + term] * b[group, lane, term]

So ``b`` is in the VNNI layout. The rows of an operand may be any distance apart in memory. Fewer
rows, lanes or groups are another shape of the same tiles, which the tile configuration states.

The sums of integers wrap. ``tdpbf16ps`` adds the even and the odd elements of a row of ``a`` apart,
each product by an FMA, then the sum of both to the target. It takes subnormal numbers for zero, in
operands and in results, and rounds to nearest even, whatever the processor's mode is (Intel,
"Architecture Instruction Set Extensions Programming Reference", TDPBF16PS).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

import numpy as np

from polysched.instructions.bf16_dot import flushed
from polysched.instructions.declaration import Instruction
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, bf16, f32, i8, i32, u8
from polysched.ir.expr.functions import cast
from polysched.ir.semantics.scalar import Scalar, fused_multiply_add

TILE_REGISTERS = 8
TILE_ROWS = 16
TILE_BYTES = 64
"""Bytes of the longest row of a tile."""

_SUMS_OF_A_ROW = TILE_BYTES // f32.bytes
_BYTE_PRODUCTS = MappingProxyType(
    {"tdpbssd": (i8, i8), "tdpbsud": (i8, u8), "tdpbusd": (u8, i8), "tdpbuud": (u8, u8)}
)


AMX_INSTRUCTIONS = (*_BYTE_PRODUCTS, "tdpbf16ps", "tilezero")
"""The names of the instructions."""


@cache
def amx_forms(name: str) -> tuple[Instruction, ...]:
    """Return the forms of an instruction: one for each type of its target."""
    if name == "tilezero":
        return tuple(
            Instruction(_zeros(dtype), "llvm.x86.tilezero", (), ("amx-tile",))
            for dtype in (i32, f32)
        )
    if name == "tdpbf16ps":
        return (_product(name, (bf16, bf16), f32, ("amx-tile", "amx-bf16")),)
    return (_product(name, _BYTE_PRODUCTS[name], i32, ("amx-tile", "amx-int8")),)


def amx_product(types: tuple[DType, DType]) -> Instruction | None:
    """Return the instruction that multiplies elements of two types, in this order; None if none."""
    names = [name for name, own in _BYTE_PRODUCTS.items() if own == types]
    names += ["tdpbf16ps"] if types == (bf16, bf16) else []
    return amx_forms(names[0])[0] if names else None


def _product(
    name: str, types: tuple[DType, DType], total: DType, features: tuple[str, ...]
) -> Instruction:
    is_float = total.is_float
    return Instruction(
        _sum_of_products(name, types, total),
        f"llvm.x86.{name}",
        ("sums", "a", "b"),
        features,
        reassociates=is_float,
        model=bf16_tile_dot if is_float else None,
    )


def _sum_of_products(name: str, types: tuple[DType, DType], total: DType) -> Kernel:
    build = KernelBuilder(name)
    row_of_sums, row_of_a, row_of_b = (
        build.parameter(f"row_of_{array}", minimum=TILE_BYTES) for array in ("sums", "a", "b")
    )
    terms, lanes = total.bytes // types[0].bytes, _SUMS_OF_A_ROW
    sums = build.inout("sums", total, (TILE_ROWS, lanes), strides=(row_of_sums, 1))
    a = build.input("a", types[0], (TILE_ROWS, lanes * terms), strides=(row_of_a, 1))
    b = build.input("b", types[1], (TILE_ROWS, lanes, terms), strides=(row_of_b, terms, 1))
    loops = build.loops(row=TILE_ROWS, lane=lanes, group=TILE_ROWS, term=terms)
    order = "any" if total.is_float else None

    with loops as (row, lane, group, term), build.statement("S", order=order):
        factors = a[row, terms * group + term], b[group, lane, term]
        left, right = factors if total.is_float else (cast(factor, total) for factor in factors)
        sums[row, lane] += left * right
    return build.kernel()


def _zeros(dtype: DType) -> Kernel:
    build = KernelBuilder("tilezero")
    row_of_sums = build.parameter("row_of_sums", minimum=TILE_BYTES)
    shape = (TILE_ROWS, _SUMS_OF_A_ROW)
    sums = build.output("sums", dtype, shape, strides=(row_of_sums, 1))
    with build.loops(row=shape[0], lane=shape[1]) as (row, lane):
        sums[row, lane] = 0
    return build.kernel()


def bf16_tile_dot(before: Scalar, terms: Sequence[Mapping[str, Scalar]]) -> np.float32:
    """Return the sum of a lane after ``tdpbf16ps``.

    Args:
        terms: for each term, the elements of ``a`` and ``b``; the two terms of a group are
            neighbors.
    """
    parts = [np.float32(0), np.float32(0)]
    for number, term in enumerate(terms):
        a, b = (flushed(np.float32(term[name])) for name in "ab")
        parts[number % 2] = flushed(fused_multiply_add(a, b, parts[number % 2]))
    return flushed(flushed(np.float32(before)) + flushed(parts[0] + parts[1]))
