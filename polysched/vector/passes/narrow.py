"""Pass: compute minima and maxima of widened integers before they are widened.

C computes with `int` where bytes are stored: ``(uint8_t)(a < b ? a : b)`` takes four times as many
vectors as the minimum of the bytes. Widening keeps the order and the values, so the extremum may
come first. LLVM then removes the conversion to `int` and back.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Cast, Constant, Expression, Operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import transform
from polysched.loops.ir.nodes import Assign, LoopNode, LoopProgram, map_children

_EXTREMA = frozenset({Operator.MINIMUM, Operator.MAXIMUM})


def narrow_extrema(program: LoopProgram) -> LoopProgram:
    """Compute every extremum in the narrowest type that holds its operands."""

    def rule(expression: Expression) -> Expression | None:
        return narrowed(expression) if isinstance(expression, Operation) else None

    def visit(node: LoopNode) -> LoopNode:
        if not isinstance(node, Assign):
            return map_children(node, visit)
        value = transform(node.value, rule)
        return node if value is node.value else replace(node, value=value)

    return replace(program, body=visit(program.body))


def narrowed(operation: Operation) -> Cast | None:
    """The same value as a conversion of a narrower extremum; None if it is no such operation."""
    if operation.operator not in _EXTREMA:
        return None
    # An extremum of extrema becomes a narrow one as a whole, or one part would be widened for it.
    operands = tuple(map(_as_conversion, operation.operands))
    first = next((one for one in operands if isinstance(one, Cast)), None)
    source = None if first is None else first.operand.dtype
    if first is None or source is None or not _is_kept(source, first.type):
        return None
    inner = tuple(_before(one, source, first.type) for one in operands)
    known = tuple(one for one in inner if one is not None)
    if len(known) < len(inner):
        return None
    return Cast(Operation(operation.operator, known, source), first.type)


def _as_conversion(operand: Expression) -> Expression:
    """An operand; an extremum that can be narrower as the conversion of that."""
    narrow = narrowed(operand) if isinstance(operand, Operation) else None
    return operand if narrow is None else narrow


def _is_kept(source: DType, target: DType) -> bool:
    """Whether a conversion changes no value, of types that are not packed."""
    if not (source.is_integer and target.is_integer) or source.is_odd_width or target.is_odd_width:
        return False
    return source.bits < target.bits and (target.is_signed or not source.is_signed)


def _before(operand: Expression, source: DType, target: DType) -> Expression | None:
    """An operand before it was widened from one type to another; None if it was not."""
    if isinstance(operand, Cast) and operand.type == target and operand.operand.dtype == source:
        return operand.operand
    if not isinstance(operand, Constant) or not isinstance(operand.value, int):
        return None
    fits = source.lowest <= operand.value <= source.highest
    return Constant(operand.value, source) if fits else None
