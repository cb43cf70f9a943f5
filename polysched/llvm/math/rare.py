"""Slow path for rare arguments: call the C library's function lane by lane."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.llvm.builder.c_library import library_call
from polysched.llvm.builder.functions import new_function
from polysched.llvm.builder.intrinsics import mangled
from polysched.llvm.math.numbers import Real


def or_called(name: str, x: Real, value: Real, rare: Any) -> Real:
    """Replace a value by the C library's result in the lanes with rare arguments.

    The result of a lane does not depend on other lanes, so scalars and vectors agree. For a vector
    without rare arguments, the only cost is a branch that is not taken.
    """
    builder: Any = x.builder
    some = _any_of(builder, rare)
    before = builder.block
    with builder.if_then(some, likely=False):
        called = builder.call(_of_all_lanes(builder.module, name, x.ir.type), [x.ir])
        chosen = builder.select(rare, called, value.ir)
        inside = builder.block
    joined = builder.phi(value.ir.type)
    joined.add_incoming(value.ir, before)
    joined.add_incoming(chosen, inside)
    return Real(builder, joined)


def _any_of(builder: Any, condition: Any) -> Any:
    """Whether a condition holds in at least one lane."""
    if not isinstance(condition.type, ir.VectorType):
        return builder.freeze(condition)
    bits = ir.IntType(condition.type.count)
    # A branch must not depend on inactive lanes, which may hold any value.
    return builder.icmp_unsigned("!=", builder.freeze(builder.bitcast(condition, bits)), bits(0))


def _of_all_lanes(module: ir.Module, name: str, type_: Any) -> Any:
    """The vector version of the function, emitted once in the module instead of at each use."""
    own = f"{name}.{mangled(type_)}"
    if own in module.globals:
        return module.globals[own]
    signature = ir.FunctionType(type_, [type_])
    function, builder = new_function(module, own, signature, internal=True)
    builder.ret(library_call(builder, name, list(function.args)))
    return function
