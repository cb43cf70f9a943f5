"""Emit the LLVM intrinsic of an instruction call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llvmlite import ir

from polysched.instructions.declaration import Instruction
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.half import half_bits
from polysched.llvm.builder.intrinsics import constant, declared, vector_type
from polysched.llvm.values.expressions import element_type, emit_operator
from polysched.llvm.values.half import as_operand


def emit_call(
    builder: ir.IRBuilder,
    instruction: Instruction,
    before: Any | None,
    operands: Mapping[str, tuple[Any, DType] | Constant],
) -> Any:
    """Emit the intrinsic and return the vector of its results.

    Args:
        builder: positioned at the call.
        instruction: the instruction.
        before: the vector that the target holds before; None if the instruction does not read it.
        operands: for each input array, a constant, or a pair of a vector of all its elements in
            memory order and their type.
    """
    arrays, target = instruction.kernel.arrays, instruction.statement.target.array
    given: dict[str, Any] = {target: before}
    for name, operand in operands.items():
        dtype = arrays[name].dtype
        count = instruction.lanes * instruction.lane_width(name)
        type_ = vector_type(element_type(dtype), count)
        if isinstance(operand, Constant):
            given[name] = as_operand(builder, constant(type_, _lane(operand, dtype)), dtype)
            continue
        vector, narrow = operand
        if narrow != dtype:
            vector = (builder.sext if narrow.is_signed else builder.zext)(vector, type_)
        given[name] = as_operand(builder, vector, dtype)
    own = arrays[target].dtype
    result = vector_type(element_type(instruction.result or own), instruction.lanes)
    passed = [given[name] for name in instruction.operands]
    signature = ir.FunctionType(result, [vector.type for vector in passed])
    function = declared(builder.module, instruction.intrinsic, signature)
    called = builder.call(function, passed)
    if instruction.result is not None and instruction.result.bits > own.bits:
        called = builder.trunc(called, vector_type(element_type(own), instruction.lanes))
    if before is None or target in instruction.operands:
        return called
    return emit_operator(builder, Operator.ADD, own, [before, called])


def _lane(literal: Constant, dtype: DType) -> Any:
    return half_bits(float(literal.value), dtype) if dtype.is_half else literal.value
