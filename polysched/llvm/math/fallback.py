"""Calls of the C library for the few lanes of a vector whose results vector code cannot compute."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.llvm.builder.c_library import library_call
from polysched.llvm.builder.function_builder import new_function
from polysched.llvm.builder.intrinsics import intrinsic, mangled
from polysched.llvm.math.numbers import Real


def or_called(name: str, operands: list[Any], rare: Any, value: Real) -> Real:
    """Replace a value by the C library's result in the lanes where a condition holds.

    The result of a lane does not depend on other lanes, so scalars and vectors agree. For a vector
    without rare lanes, the only cost is a branch that is not taken.

    Args:
        name: the function of math.h on doubles.
        operands: the operands of the function, of the same type as the value.
        rare: a condition, or a vector of conditions.
    """
    builder: Any = value.builder
    type_ = value.ir.type
    is_vector = isinstance(type_, ir.VectorType)
    # A branch must not depend on inactive lanes, which may hold any value.
    bits = ir.IntType(type_.count) if is_vector else ir.IntType(1)
    lanes = builder.freeze(builder.bitcast(rare, bits) if is_vector else rare)
    before = builder.block
    with builder.if_then(builder.icmp_unsigned("!=", lanes, bits(0)), likely=False):
        if is_vector:
            function = _of_some_lanes(builder.module, name, type_, len(operands))
            called = builder.call(function, [lanes, value.ir, *operands])
        else:
            called = library_call(builder, name, operands)
        inside = builder.block
    joined = builder.phi(type_)
    joined.add_incoming(value.ir, before)
    joined.add_incoming(called, inside)
    return Real(builder, joined)


def _of_some_lanes(module: ir.Module, name: str, type_: Any, operands: int) -> Any:
    """The vector version of a library function, which calls it for selected lanes only.

    Its first argument is a bit mask with at least one lane set; the lanes that are not set keep
    the values of the second argument. The module contains the function once, not at each use.
    """
    own = f"{name}.lanes.{mangled(type_)}"
    if own in module.globals:
        return module.globals[own]
    bits = ir.IntType(type_.count)
    signature = ir.FunctionType(type_, [bits, type_, *[type_] * operands])
    function, builder = new_function(module, own, signature, internal=True)
    left, value, *given = function.args
    start = builder.block
    loop, end = (builder.append_basic_block(label) for label in ("lane", "end"))
    builder.branch(loop)
    builder.position_at_end(loop)
    rest, result = builder.phi(bits), builder.phi(type_)
    lane = intrinsic(builder, "cttz", [rest, ir.Constant(ir.IntType(1), 1)])
    called = library_call(builder, name, [builder.extract_element(each, lane) for each in given])
    changed = builder.insert_element(result, called, lane)
    fewer = builder.and_(rest, builder.sub(rest, bits(1)))
    for phi, first, following in ((rest, left, fewer), (result, value, changed)):
        phi.add_incoming(first, start)
        phi.add_incoming(following, loop)
    builder.cbranch(builder.icmp_unsigned("!=", fewer, bits(0)), loop, end)
    builder.position_at_end(end)
    builder.ret(changed)
    return function
