"""Instructions that add several products of small integers to every lane of a vector of sums.

``vpdpbusd`` adds four products of unsigned bytes and signed ones to each lane of 32 bits,
``vpdpwssd`` two of signed words, as does ``vpmaddwd`` with an addition (Intel, "Intrinsics Guide").
None of them saturates: the sums wrap as those of single products do.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Any, NamedTuple

from llvmlite import ir

from polysched.codegen.intrinsics import constant, declared, vector_type
from polysched.ir.expr.dtypes import DType, i8, i16, u8

_WORDS = (i8, u8, i16)
"""Types whose values are signed words."""

_MULTIPLY_ADD: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        4: ("sse2", "llvm.x86.sse2.pmadd.wd"),
        8: ("avx2", "llvm.x86.avx2.pmadd.wd"),
        16: ("avx512bw", "llvm.x86.avx512.pmaddw.d.512"),
    }
)
"""By the number of sums: the instruction set, and the intrinsic."""


def has_dot_product(
    first: DType, second: DType, terms: int, lanes: int, features: Set[str]
) -> bool:
    """Whether there is an instruction for so many terms of so many sums.

    Args:
        first: the type of a factor.
        second: that of the other one.
        terms: of each sum.
        lanes: the sums.
        features: the instruction sets of the machine, by LLVM's names.
    """
    if lanes not in _MULTIPLY_ADD:
        return False
    if terms == 4:
        return {first, second} == {i8, u8} and _has_vnni(lanes, features)
    are_words = first in _WORDS and second in _WORDS
    return terms == 2 and are_words and _MULTIPLY_ADD[lanes][0] in features


def _has_vnni(lanes: int, features: Set[str]) -> bool:
    if lanes == 16:
        return "avx512vnni" in features
    return "avxvnni" in features or {"avx512vnni", "avx512vl"} <= features


def type_of_ones(dtype: DType, terms: int) -> DType:
    """The type of the ones that terms are multiplied with which are to be added up."""
    if terms == 4:
        return i8 if dtype == u8 else u8
    return i16


class Factor(NamedTuple):
    """The elements of a factor, the terms of a lane side by side, and their type."""

    vector: Any
    dtype: DType

    @classmethod
    def ones(cls, other: Factor, terms: int) -> Factor:
        """Ones to multiply another factor with."""
        dtype = type_of_ones(other.dtype, terms)
        type_ = vector_type(ir.IntType(dtype.bits), other.vector.type.count)
        return cls(constant(type_, 1), dtype)

    def words(self, builder: ir.IRBuilder) -> Any:
        """The elements as signed words."""
        if self.dtype == i16:
            return self.vector
        extend = builder.sext if self.dtype.is_signed else builder.zext
        return extend(self.vector, vector_type(ir.IntType(16), self.vector.type.count))


def emit_dot_product(
    builder: ir.IRBuilder, sums: Any, first: Factor, second: Factor, features: Set[str]
) -> Any:
    """The sums with the products of all terms added.

    Args:
        builder: where the code is emitted.
        sums: a vector of 32-bit integers.
        first: a factor of all terms of all lanes.
        second: the other one; :func:`has_dot_product` holds of them.
        features: the instruction sets of the machine.
    """
    lanes = sums.type.count
    if first.vector.type.count == 4 * lanes:
        unsigned, signed = (first, second) if first.dtype == u8 else (second, first)
        name = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
        return _call(builder, name, sums.type, sums, unsigned.vector, signed.vector)
    words = first.words(builder), second.words(builder)
    if _has_vnni(lanes, features):
        return _call(builder, f"llvm.x86.avx512.vpdpwssd.{32 * lanes}", sums.type, sums, *words)
    _, name = _MULTIPLY_ADD[lanes]
    return builder.add(sums, _call(builder, name, sums.type, *words))


def _call(builder: ir.IRBuilder, name: str, result: Any, *operands: Any) -> Any:
    signature = ir.FunctionType(result, [operand.type for operand in operands])
    return builder.call(declared(builder.module, name, signature), operands)
