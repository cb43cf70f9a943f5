"""Vector programs of single statements."""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.core.kernel import Role
from polysched.ir.expr.dtypes import DType, i32
from polysched.ir.expr.expressions import Index, Load, Operand
from polysched.loops.ir.nodes import For, LoopNode, LoopProgram
from polysched.machine.load import load_machine
from polysched.vector.ir import Assign, VectorProgram, walk
from polysched.vector.pass_list import vector_program
from polysched.vector.passes.vectorize import vectorize
from polysched.vector.verify import verify
from tests.loops.programs import array, load, program, vector

AVX512 = load_machine("sapphirerapids")
v = Index("v")


def lanes(lower: Operand, upper: Operand, *body: LoopNode, step: int = 1, count: int = 8) -> For:
    return replace(vector("v", lower, upper, *body), lanes=count, step=step)


def x(*subscripts: Operand) -> Load:
    return load("x", *subscripts, dtype=i32)


def on_line(*body: LoopNode, context: str = "{ : }", dtype: DType = i32) -> LoopProgram:
    """A program on ``x`` and ``y`` of 64 elements."""
    arrays = [array("x", (64,), Role.INPUT, dtype), array("y", (64,), Role.INOUT, dtype)]
    return program(arrays, *body, context=context)


def vectorized(*body: LoopNode, context: str = "{ : }", dtype: DType = i32) -> VectorProgram:
    """The verified vector program before the passes that rewrite it."""
    made = vectorize(on_line(*body, context=context, dtype=dtype), AVX512)
    verify(made)
    return made


def after_passes(*body: LoopNode, context: str = "{ : }", dtype: DType = i32) -> VectorProgram:
    """The verified vector program after all passes."""
    made = vector_program(on_line(*body, context=context, dtype=dtype), AVX512)
    verify(made)
    return made


def only_assign(made: VectorProgram) -> Assign:
    """The one assignment of a program."""
    (found,) = (node for node in walk(made.body) if isinstance(node, Assign))
    return found
