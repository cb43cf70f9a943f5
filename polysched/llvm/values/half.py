"""Conversions between f32 and half types, which LLVM values hold as integers of 16 bits.

LLVM would convert to bf16 by ``vcvtneps2bf16`` if the processor supports it, but this instruction
flushes subnormal numbers to zero, so integer arithmetic computes the bits of bf16. The instructions
of F16C convert f16. Without F16C, f16 is converted by the arithmetic of F. Giesen, "Half to float
done quick" and "Float to half: fast RTNE" (2012, public domain).
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from llvmlite import ir

from polysched.ir.expr.dtypes import DType, NumberKind
from polysched.llvm.builder.intrinsics import constant, intrinsic, vector_type

_WORD, _SINGLE = ir.IntType(32), ir.FloatType()
_INFINITY, _SIGN = 0x7F800000, 0x80000000
_F16C = "f16c"
_REBIASED = 112
"""The exponent bias of f32 minus that of f16."""


class BrainFloat(ir.types.Type):  # type: ignore[misc]  # llvmlite is untyped and lacks the type
    """LLVM's type ``bfloat``, used only for operands of intrinsics."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BrainFloat)

    def __hash__(self) -> int:
        return hash(BrainFloat)


def as_operand(builder: ir.IRBuilder, vector: Any, dtype: DType) -> Any:
    """Bitcast a vector of a half type to the LLVM type that intrinsics take."""
    if not dtype.is_half:
        return vector
    element = BrainFloat() if dtype.kind is NumberKind.BRAIN_FLOAT else ir.HalfType()
    return builder.bitcast(vector, vector_type(element, vector.type.count))


def widened_half(builder: ir.IRBuilder, value: Any, dtype: DType, features: Set[str]) -> Any:
    """Convert a half-type value or vector to f32."""
    if dtype.kind is NumberKind.BRAIN_FLOAT:
        word = builder.zext(value, _like(_WORD, value))
        word = builder.shl(word, constant(word.type, 16))
        return builder.bitcast(word, _like(_SINGLE, value))
    if _F16C in features:
        half = builder.bitcast(value, _like(ir.HalfType(), value))
        return builder.fpext(half, _like(_SINGLE, value))
    return _from_f16(builder, builder.zext(value, _like(_WORD, value)))


def narrowed_half(builder: ir.IRBuilder, value: Any, dtype: DType, features: Set[str]) -> Any:
    """Round a float, a double or a vector to a half type."""
    if value.type != _like(_SINGLE, value):
        value = _rounded_to_odd(builder, value)
    if dtype.kind is NumberKind.BRAIN_FLOAT:
        word = _to_bf16(builder, builder.bitcast(value, _like(_WORD, value)), value)
    elif _F16C in features:
        half = builder.fptrunc(value, _like(ir.HalfType(), value))
        return builder.bitcast(half, _like(ir.IntType(16), value))
    else:
        word = _to_f16(builder, builder.bitcast(value, _like(_WORD, value)))
    return builder.trunc(word, _like(ir.IntType(16), value))


def _like(element: Any, value: Any) -> Any:
    own = value.type
    return vector_type(element, own.count) if isinstance(own, ir.VectorType) else element


def _to_bf16(builder: ir.IRBuilder, word: Any, value: Any) -> Any:
    """Round to nearest even: add just below half a unit in the last place, plus 1 if it is odd."""
    upper = builder.lshr(word, constant(word.type, 16))
    odd = builder.and_(upper, constant(word.type, 1))
    rounded = builder.add(builder.add(word, constant(word.type, 0x7FFF)), odd)
    rounded = builder.lshr(rounded, constant(word.type, 16))
    quiet = builder.or_(upper, constant(word.type, 0x40))
    return builder.select(builder.fcmp_unordered("uno", value, value), quiet, rounded)


def _to_f16(builder: ir.IRBuilder, word: Any) -> Any:
    type_ = word.type
    floats = _like(_SINGLE, word)
    sign = builder.and_(word, constant(type_, _SIGN))
    magnitude = builder.xor(word, sign)
    nan = builder.lshr(magnitude, constant(type_, 13))
    nan = builder.or_(builder.and_(nan, constant(type_, 0x3FF)), constant(type_, 0x7E00))
    is_nan = builder.icmp_unsigned(">", magnitude, constant(type_, _INFINITY))
    large = builder.select(is_nan, nan, constant(type_, 0x7C00))
    # Below 2**-14, adding 0.5 aligns the last kept digit with the last digit of the sum.
    half = constant(type_, 126 << 23)
    added = builder.fadd(builder.bitcast(magnitude, floats), builder.bitcast(half, floats))
    subnormal = builder.sub(builder.bitcast(added, type_), half)
    odd = builder.and_(builder.lshr(magnitude, constant(type_, 13)), constant(type_, 1))
    shift = constant(type_, 0xFFF - (_REBIASED << 23))
    normal = builder.add(builder.add(magnitude, shift), odd)
    normal = builder.lshr(normal, constant(type_, 13))
    is_small = builder.icmp_unsigned("<", magnitude, constant(type_, (_REBIASED + 1) << 23))
    is_large = builder.icmp_unsigned(">=", magnitude, constant(type_, (_REBIASED + 31) << 23))
    result = builder.select(is_small, subnormal, normal)
    result = builder.select(is_large, large, result)
    return builder.or_(result, builder.lshr(sign, constant(type_, 16)))


def _from_f16(builder: ir.IRBuilder, word: Any) -> Any:
    type_ = word.type
    floats = _like(_SINGLE, word)
    magnitude = builder.and_(word, constant(type_, 0x7FFF))
    shifted = builder.shl(magnitude, constant(type_, 13))
    # The product moves the exponent by the difference of the biases and normalizes subnormals.
    scaled = builder.fmul(builder.bitcast(shifted, floats), constant(floats, 2.0**_REBIASED))
    bits = builder.bitcast(scaled, type_)
    special = builder.icmp_unsigned(">=", magnitude, constant(type_, 0x7C00))
    infinite = builder.or_(bits, constant(type_, _INFINITY))
    bits = builder.select(special, infinite, bits)
    sign = builder.shl(builder.xor(word, magnitude), constant(type_, 16))
    return builder.bitcast(builder.or_(bits, sign), floats)


def _rounded_to_odd(builder: ir.IRBuilder, value: Any) -> Any:
    """Round a double to odd: to the neighboring float whose last bit is set, unless it is exact.

    Rounding to nearest, and one step back toward the double, yield both of its neighbors.
    """
    near = builder.fptrunc(value, _like(_SINGLE, value))
    back = builder.fpext(near, value.type)
    word = builder.bitcast(near, _like(_WORD, value))
    unit = constant(word.type, 1)
    is_even = builder.icmp_unsigned("==", builder.and_(word, unit), constant(word.type, 0))
    differs = builder.fcmp_ordered("!=", back, value)
    # The bits below the sign of `near` are its magnitude: adding or subtracting 1 is its neighbor.
    magnitudes = [intrinsic(builder, "fabs", [number]) for number in (back, value)]
    is_above = builder.fcmp_ordered(">", *magnitudes)
    neighbor = builder.select(is_above, builder.sub(word, unit), builder.add(word, unit))
    moved = builder.select(builder.and_(is_even, differs), neighbor, word)
    return builder.bitcast(moved, near.type)
