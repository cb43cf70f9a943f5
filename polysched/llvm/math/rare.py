"""Arguments that hardly ever occur: the C library's function is called for them, lane by lane."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.llvm.builder.c_library import library_call
from polysched.llvm.builder.functions import new_function
from polysched.llvm.builder.intrinsics import mangled
from polysched.llvm.math.numbers import Real


def or_called(name: str, x: Real, value: Real, rare: Any) -> Real:
    """A value, but where the arguments are rare ones what a function of the C library gives.

    Lanes for themselves: what one of them gets does not depend on its neighbors, so scalars and
    vectors agree. A vector without rare arguments takes a branch that is not taken.
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
    """Whether a condition holds, in one lane at least."""
    if not isinstance(condition.type, ir.VectorType):
        return builder.freeze(condition)
    bits = ir.IntType(condition.type.count)
    # A lane that is masked out may hold anything, of which a branch must not depend.
    return builder.icmp_unsigned("!=", builder.freeze(builder.bitcast(condition, bits)), bits(0))


def _of_all_lanes(module: ir.Module, name: str, type_: Any) -> Any:
    """The function on vectors: one of the module's, so that its calls stand there once."""
    own = f"{name}.{mangled(type_)}"
    if own in module.globals:
        return module.globals[own]
    signature = ir.FunctionType(type_, [type_])
    function, builder = new_function(module, own, signature, internal=True)
    builder.ret(library_call(builder, name, list(function.args)))
    return function
