"""Pass: compute and store integers in as few bits as the results need.

C computes with `int` where bytes are stored: ``(uint8_t)((a + b) / 2)`` takes four times as many
vectors as 8 bits. Values and temporaries get the narrowest types that provably give the same
results (:mod:`polysched.ir.core.narrow_types`). An extremum of widened integers is computed before
they are widened, whatever the type of the result: widening keeps the order and the values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polysched.ir.core.narrow_types import NarrowTypes, narrow_types
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Cast, Constant, Expression, Operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads, transform
from polysched.ir.expr.value_ranges import Write
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    LoopProgram,
    children,
    map_children,
    walk,
)
from polysched.vector.classify import lane_steps

_EXTREMA = frozenset({Operator.MINIMUM, Operator.MAXIMUM})


def narrow_integers(program: LoopProgram) -> LoopProgram:
    """Compute each value, and store each temporary, in the narrowest type that holds it."""
    nodes = tuple(walk(program.body))
    writes = list(_writes(program.body, (), {}))
    found = narrow_types(program.arrays, writes, _fixed(nodes))
    arrays = {
        name: replace(array, dtype=found.types.get(name, array.dtype))
        for name, array in program.arrays.items()
    }

    def visit(node: LoopNode) -> LoopNode:
        if isinstance(node, For) and node.instruction is not None:
            return node  # instructions are matched with the types as declared
        if not isinstance(node, Assign):
            return map_children(node, visit)
        value = _narrow_value(node, program, found)
        return node if value == node.value else replace(node, value=value)

    return replace(program, arrays=arrays, body=visit(program.body))


def _narrow_value(node: Assign, program: LoopProgram, found: NarrowTypes) -> Expression:
    def rule(expression: Expression) -> Expression | None:
        return narrowed(expression) if isinstance(expression, Operation) else None

    value = found.value(node.value, program.arrays[node.target.array])
    return transform(value, rule)


@dataclass(frozen=True)
class _Start:
    """Where the elements of an array have no earlier value, or one that was written before.

    Attributes:
        depth: how many of the loops around are around that place.
        reset: the assignment that writes an element there; None if all are undefined.
        lanes: the vector loop around the assignment.
    """

    depth: int
    reset: Assign | None = None
    lanes: For | None = None

    def holds_for(self, update: Assign, lanes: For | None) -> bool:
        """Whether an element that is updated has been written in the same iteration."""
        if self.reset is None:
            return True
        if self.reset.target.subscripts != update.target.subscripts:
            return False
        if self.lanes is None or lanes is None:
            return self.lanes is lanes
        return all(
            getattr(self.lanes, end) == getattr(lanes, end)
            for end in ("variable", "lower", "upper", "step")
        )


def _writes(
    node: LoopNode, around: tuple[For, ...], starts: Mapping[str, _Start]
) -> Iterator[Write]:
    """Yield the assignments below a node, with how often each writes one element.

    Args:
        around: the loops around.
        starts: the innermost known place of each array where its sums start.
    """
    if isinstance(node, Assign):
        target, start = node.target, starts.get(node.target.array)
        lanes = around[-1] if around and around[-1].kind is LoopKind.VECTOR else None
        times = None
        if start is not None and start.holds_for(node, lanes):
            times = _times(around[start.depth :], target.subscripts)
        yield Write(target.array, target.subscripts, node.value, times)
    if isinstance(node, For):
        around = (*around, node)
    if isinstance(node, Allocate):
        starts = {**starts, node.array: _Start(len(around))}
    for child in children(node):
        yield from _writes(child, around, starts)
        if isinstance(node, Block):
            starts = {**starts, **_reset(child, len(around))}


def _reset(node: LoopNode, depth: int) -> dict[str, _Start]:
    """The array of which a node writes elements without reading it, in all lanes at once."""
    lanes = node if isinstance(node, For) and node.kind is LoopKind.VECTOR else None
    only = node if lanes is None else lanes.body
    if not isinstance(only, Assign) or only.target.array in {load.array for load in only.reads}:
        return {}
    return {only.target.array: _Start(depth, only, lanes)}


def _times(inside: tuple[For, ...], subscripts: tuple[Expression, ...]) -> int | None:
    """How often loops write one element at most; None if a loop's trip count is not literal."""
    times = 1
    for loop in inside:
        if loop.kind is LoopKind.VECTOR:
            steps = lane_steps(subscripts, loop.variable)
            if steps.is_linear and not steps.is_broadcast:
                continue  # each lane has its own element
        low, high = loop.bounds
        if isinstance(loop.lower, Constant) and isinstance(loop.upper, Constant):
            low, high = int(loop.lower.value), int(loop.upper.value) - 1
        if low is None or high is None:
            return None
        times *= max(0, (high - low) // loop.step + 1)
    return times


def _fixed(nodes: tuple[LoopNode, ...]) -> Iterator[str]:
    """Yield the arrays that places, bounds, conditions and instructions read or write."""
    for node in nodes:
        if isinstance(node, Assign):
            read = [load for subscript in node.target.subscripts for load in loads(subscript)]
        elif isinstance(node, For):
            asked = [start for one in node.prefetches for start in one.start]
            read = [load for one in (node.lower, node.upper, *asked) for load in loads(one)]
            if node.instruction is not None:
                for inner in walk(node):
                    if isinstance(inner, Assign):
                        yield from inner.arrays
        else:
            read = list(loads(node.condition)) if isinstance(node, If) else []
        yield from (load.array for load in read)


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
