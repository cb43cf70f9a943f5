"""Calls of the C library's mathematical functions, lane by lane."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import declared

_LANE = ir.IntType(32)


def library_call(builder: ir.IRBuilder, name: str, operands: list[Any]) -> Any:
    """Call a function of math.h on floats or doubles, or on each lane of their vectors.

    Args:
        name: the name of the function on doubles; the function on floats has the suffix ``f``.
        operands: the operands, all of the same type.
    """
    type_ = operands[0].type
    if not isinstance(type_, ir.VectorType):
        return builder.call(_function(builder.module, name, type_, len(operands)), operands)
    function = _function(builder.module, name, type_.element, len(operands))
    result = ir.Constant(type_, ir.Undefined)
    for lane in range(type_.count):
        given = [builder.extract_element(operand, _LANE(lane)) for operand in operands]
        result = builder.insert_element(result, builder.call(function, given), _LANE(lane))
    return result


def _function(module: ir.Module, name: str, type_: Any, operands: int) -> ir.Function:
    suffix = "f" if isinstance(type_, ir.FloatType) else ""
    function = declared(module, name + suffix, ir.FunctionType(type_, [type_] * operands))
    # As with -fno-math-errno: equal calls are made once, and unused ones not at all.
    for attribute in ("nounwind", "readnone"):
        function.attributes.add(attribute)
    return function
