"""Small loops that accumulate ``y[...] += x[...]``."""

from dataclasses import replace

from polysched.ir.core.kernel import Role
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Index, Operand, Parameter
from polysched.loops.ir.nodes import For, LoopNode, LoopProgram
from tests.loops.programs import array, assign, load, program, vector

v, i, k, m = Index("v"), Index("i"), Index("k"), Parameter("m")


def line(*body: LoopNode, context: str = "{ : }") -> LoopProgram:
    """A program over ``x`` and ``y`` of 64 elements each."""
    arrays = [array("x", (64,), Role.INPUT, i32), array("y", (64,), Role.INOUT, i32)]
    return program(arrays, *body, context=context)


def add(target: Operand, source: Operand) -> LoopNode:
    """``y[target] += x[source]``."""
    return assign("y", (target,), load("y", target, dtype=i32) + load("x", source, dtype=i32))


def lanes(*body: LoopNode, upper: Operand = 8) -> For:
    """A vector of 8 of which the lanes ``v < upper`` are active."""
    return replace(vector("v", 0, upper, *body), lanes=8)
