"""Emit literals and conversions between element types."""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from polysched.ir.expr.dtypes import DType, NumberKind, f32, i32
from polysched.ir.semantics.half import half_bits
from polysched.llvm.builder.intrinsics import constant, declared, intrinsic, vector_type, zeros
from polysched.llvm.values.expressions import element_type
from polysched.llvm.values.half import narrowed_half, widened_half

_NATIVE: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        4: ("sse2", "llvm.x86.sse2.cvttps2dq"),
        8: ("avx", "llvm.x86.avx.cvtt.ps2dq.256"),
        16: ("avx512f", "llvm.x86.avx512.mask.cvttps2dq.512"),
    }
)
"""From the number of lanes to the instruction set and the intrinsic that converts f32 to i32.

Intel's manual, `CVTTPS2DQ`: values out of range become 0x80000000, which is the smallest i32.
"""


def emit_constant(number: Any, dtype: DType) -> Any:
    """The LLVM constant of a literal."""
    type_ = element_type(dtype)
    return ir.Constant(type_, half_bits(float(number), dtype) if dtype.is_half else number)


def emit_cast(
    builder: ir.IRBuilder,
    value: Any,
    source: DType,
    target: DType,
    features: Set[str] = frozenset(),
) -> Any:
    """Convert a value between element types.

    Args:
        source: the element type of the value.
        target: the element type of the result.
        features: LLVM's names of the instruction sets that explicit intrinsics may use.
    """
    if source.is_half:
        value = widened_half(builder, value, source, features)
        return emit_cast(builder, value, source.arithmetic, target, features)
    if target.is_half:
        if not source.is_float:
            value = emit_cast(builder, value, source, target.arithmetic, features)
        return narrowed_half(builder, value, target, features)
    if source == target:
        return value
    type_ = element_type(target)
    if isinstance(value.type, ir.VectorType):
        type_ = vector_type(type_, value.type.count)
    if target.kind is NumberKind.BOOLEAN:
        return _is_nonzero(builder, value, source)
    if source.is_float and target.is_float:
        convert = builder.fpext if target.bits > source.bits else builder.fptrunc
        return convert(value, type_)
    if source.is_float:
        native = _NATIVE.get(getattr(type_, "count", 1))
        if (source, target) == (f32, i32) and native is not None and native[0] in features:
            return _native_truncation(builder, value, type_, native[1])
        return _truncated(builder, value, target, type_)
    return _from_integer(builder, value, source, target, type_)


def _from_integer(
    builder: ir.IRBuilder, value: Any, source: DType, target: DType, type_: Any
) -> Any:
    if target.is_float:
        return (builder.sitofp if source.is_signed else builder.uitofp)(value, type_)
    if target.bits == source.bits:
        return value
    if target.bits < source.bits:
        return builder.trunc(value, type_)
    return (builder.sext if source.is_signed else builder.zext)(value, type_)


def _is_nonzero(builder: ir.IRBuilder, value: Any, source: DType) -> Any:
    if source.is_float:
        return builder.fcmp_unordered("!=", value, constant(value.type, 0.0))
    return builder.icmp_unsigned("!=", value, constant(value.type, 0))


def _native_truncation(builder: ir.IRBuilder, value: Any, type_: Any, name: str) -> Any:
    """Truncate vectors of f32 to i32 by one instruction."""
    operands = [value]
    if type_.count == 16:  # before the mask: values of inactive lanes; after it: rounding
        operands += [zeros(type_), ir.IntType(16)(-1), ir.IntType(32)(4)]
    signature = ir.FunctionType(type_, [operand.type for operand in operands])
    return builder.call(declared(builder.module, name, signature), operands)


def _truncated(builder: ir.IRBuilder, value: Any, target: DType, type_: Any) -> Any:
    """Truncate floats to integers; NaN and values out of range become the type's smallest value."""
    lowest = -(1 << (target.bits - 1)) if target.is_signed else 0
    beyond = lowest + (1 << target.bits)
    whole = intrinsic(builder, "trunc", [value])
    fits = builder.and_(
        builder.fcmp_ordered(">=", whole, constant(value.type, float(lowest))),
        builder.fcmp_ordered("<", whole, constant(value.type, float(beyond))),
    )
    safe = builder.select(fits, whole, constant(value.type, 0.0))
    converted = (builder.fptosi if target.is_signed else builder.fptoui)(safe, type_)
    return builder.select(fits, converted, constant(type_, lowest))
