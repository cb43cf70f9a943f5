"""Strategy that merges fields by multiply-add: one instruction for ``a + b * 2**bits``.

``vpmaddubsw`` multiplies unsigned by signed bytes, and ``vpmaddwd`` signed words, so fields and
multipliers must not reach the sign bit. Wider lanes are merged by shifts.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import declared
from polysched.llvm.subbyte.conversion import Conversion, numbers
from polysched.llvm.subbyte.doubling import can_double, merge_shifted, pack_pairwise

FEATURES = frozenset({"avx512bw"})
"""Features that the strategy requires, for registers of any width."""

_NAMES: Mapping[tuple[int, int], str] = MappingProxyType(
    {
        (8, 128): "llvm.x86.ssse3.pmadd.ub.sw.128",
        (8, 256): "llvm.x86.avx2.pmadd.ub.sw",
        (8, 512): "llvm.x86.avx512.pmaddubs.w.512",
        (16, 128): "llvm.x86.sse2.pmadd.wd",
        (16, 256): "llvm.x86.avx2.pmadd.wd",
        (16, 512): "llvm.x86.avx512.pmaddw.d.512",
    }
)
"""The intrinsics by the bits of a lane and the bits of the register."""

_SMALL = MappingProxyType({8: 6, 16: 14})
"""The widest field whose multiplier is positive, by the bits of a lane."""


def can_multiply_add(conversion: Conversion) -> bool:
    """Whether the first step is a single instruction, and groups of elements fill whole bytes."""
    return (
        can_double(conversion)
        and conversion.bits <= _SMALL.get(conversion.container, 0)
        and (conversion.container, conversion.lanes * conversion.container) in _NAMES
    )


def pack_multiply_add(builder: ir.IRBuilder, unpacked: Any, conversion: Conversion) -> Any:
    """Pack by merging neighboring fields, with multiply-add while the fields are small enough."""
    return pack_pairwise(builder, unpacked, conversion, _merge)


def _merge(builder: ir.IRBuilder, value: Any, field: int) -> Any:
    width, count = value.type.element.width, value.type.count
    name = _NAMES.get((width, width * count))
    if name is None or field > _SMALL[width]:
        return merge_shifted(builder, value, field)
    wide = ir.VectorType(ir.IntType(2 * width), count // 2)
    function = declared(builder.module, name, ir.FunctionType(wide, [value.type] * 2))
    return builder.call(function, [value, numbers(width, [1, 1 << field] * (count // 2))])
