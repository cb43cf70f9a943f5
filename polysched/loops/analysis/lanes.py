"""The body of a vector loop as assignments under masks."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import LoweringError
from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Expression, Operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads
from polysched.loops.ir.nodes import Assign, Block, For, If, InstructionCall, LoopNode


@dataclass(frozen=True)
class MaskedAssign:
    """An assignment made in the lanes where all conditions of ``mask`` hold."""

    mask: tuple[Expression, ...]
    assign: Assign


def masked_assigns(loop: For) -> tuple[MaskedAssign, ...]:
    """The assignments of a vector loop; each runs in all its lanes before the next one does.

    Raises:
        LoweringError: a loop or a buffer inside the vector loop, or a mask that reads an array.
    """
    return tuple(_collected(loop, loop.body, ()))


def _collected(loop: For, node: LoopNode, mask: tuple[Expression, ...]) -> list[MaskedAssign]:
    match node:
        case Assign():
            return [MaskedAssign(mask, node)]
        case InstructionCall(meaning=meaning):
            return [MaskedAssign(mask, meaning)]
        case Block(children=children):
            return [found for child in children for found in _collected(loop, child, mask)]
        case If(condition=condition, then=then, otherwise=otherwise):
            if loads(condition):
                raise LoweringError(
                    f"vector loop '{loop.variable}' has the mask {condition}; expected a "
                    "condition on indices and parameters (choose between values with select)"
                )
            result = _collected(loop, then, (*mask, condition))
            if otherwise is not None:
                inverse = Operation(Operator.NOT, (condition,), boolean)
                result += _collected(loop, otherwise, (*mask, inverse))
            return result
        case _:
            raise LoweringError(
                f"vector loop '{loop.variable}' holds a {type(node).__name__} node; expected "
                "assignments, at most under conditions"
            )
