"""Pass: compute and store integers in as few bits as the results need.

C promotes bytes to `int`: ``(uint8_t)((a + b) / 2)`` takes four times as many vectors as a
computation in 8 bits. The pass gives values and temporaries the narrowest types that provably yield
the same results (:mod:`polysched.ir.core.narrow_types`). An extremum of widened integers is
computed before the widening, for any type of the result, because widening keeps the order and the
values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polysched.ir.core.guards import guarded_update
from polysched.ir.core.narrow_types import NarrowTypes, narrow_types
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import DType, boolean
from polysched.ir.expr.expressions import Cast, Constant, Expression, Load, Operation
from polysched.ir.expr.functions import select
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
    narrow = narrow_types(program.arrays, writes, _fixed(nodes))
    arrays = {
        name: replace(array, dtype=narrow.types.get(name, array.dtype))
        for name, array in program.arrays.items()
    }

    def visit(node: LoopNode) -> LoopNode:
        if isinstance(node, For) and node.instruction is not None:
            return node  # instruction selection matches the declared types
        if not isinstance(node, Assign):
            return map_children(node, visit)
        value = _narrow_value(node, program, narrow)
        return node if value == node.value else replace(node, value=value)

    return replace(program, arrays=arrays, body=visit(program.body))


def _narrow_value(node: Assign, program: LoopProgram, narrow: NarrowTypes) -> Expression:
    array = program.arrays[node.target.array]

    def rule(expression: Expression) -> Expression | None:
        return narrowed(expression) if isinstance(expression, Operation) else None

    guarded = guarded_update(node.target, node.value, program.arrays)
    if guarded is None:
        return transform(narrow.value(node.value, array), rule)
    # The old element stays as it is, so that the condition can be told from the value.
    own = Load(array.name, node.target.subscripts, array.dtype)
    condition, changed = guarded
    any_value = Constant(0, array.dtype)
    match narrow.value(select(condition, changed, any_value), array):
        case Operation(operator=Operator.SELECT, operands=(holds, value, _)):
            pass
        case Cast(operand=Operation(operator=Operator.SELECT, operands=(holds, inner, _))) as cast:
            value = Cast(inner, cast.type)
        case _:
            holds = narrow.value(condition, replace(array, dtype=boolean))
            value = narrow.value(changed, array)
    return select(transform(holds, rule), transform(value, rule), own)


@dataclass(frozen=True)
class _Start:
    """The start of a reduction: where the elements of an array are undefined or have been reset.

    Attributes:
        depth: the number of loops around the start.
        reset: the assignment that writes an element at the start; None if all elements are
            undefined.
        lanes: the vector loop around the reset.
    """

    depth: int
    reset: Assign | None = None
    lanes: For | None = None

    def holds_for(self, update: Assign, lanes: For | None) -> bool:
        """Whether the reset writes the element of an update in the same iteration."""
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
    """Yield the assignments below a node, each with the number of times it writes one element.

    Args:
        around: the loops around the node, outermost first.
        starts: the innermost known start of the reductions into each array.
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
    """The array whose elements a node writes, but does not read, in all lanes."""
    lanes = node if isinstance(node, For) and node.kind is LoopKind.VECTOR else None
    only = node if lanes is None else lanes.body
    if not isinstance(only, Assign) or only.target.array in {load.array for load in only.reads}:
        return {}
    return {only.target.array: _Start(depth, only, lanes)}


def _times(inside: tuple[For, ...], subscripts: tuple[Expression, ...]) -> int | None:
    """Count the writes of loops to one element; None if a loop's trip count is not literal."""
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
    """Yield the arrays that subscripts, bounds, conditions and instructions read or write."""
    for node in nodes:
        if isinstance(node, Assign):
            read = [load for subscript in node.target.subscripts for load in loads(subscript)]
        elif isinstance(node, For):
            prefetch_starts = [start for prefetch in node.prefetches for start in prefetch.start]
            read = [
                load
                for expression in (node.lower, node.upper, *prefetch_starts)
                for load in loads(expression)
            ]
            if node.instruction is not None:
                for inner in walk(node):
                    if isinstance(inner, Assign):
                        yield from inner.arrays
        else:
            read = list(loads(node.condition)) if isinstance(node, If) else []
        yield from (load.array for load in read)


def narrowed(operation: Operation) -> Cast | None:
    """Rewrite an extremum of widened operands as the conversion of a narrower extremum."""
    if operation.operator not in _EXTREMA:
        return None
    # Nested extrema are narrowed together: narrowing only some would add conversions between them.
    operands = tuple(map(_as_conversion, operation.operands))
    first = next((operand for operand in operands if isinstance(operand, Cast)), None)
    source = None if first is None else first.operand.dtype
    if first is None or source is None or not _is_kept(source, first.type):
        return None
    inner = tuple(_before(operand, source, first.type) for operand in operands)
    known = tuple(operand for operand in inner if operand is not None)
    if len(known) < len(inner):
        return None
    return Cast(Operation(operation.operator, known, source), first.type)


def _as_conversion(operand: Expression) -> Expression:
    """An operand, or the conversion of a narrower extremum if the operand is such an extremum."""
    narrow = narrowed(operand) if isinstance(operand, Operation) else None
    return operand if narrow is None else narrow


def _is_kept(source: DType, target: DType) -> bool:
    """Whether a conversion between unpacked types keeps every value."""
    if not (source.is_integer and target.is_integer) or source.is_odd_width or target.is_odd_width:
        return False
    return source.bits < target.bits and (target.is_signed or not source.is_signed)


def _before(operand: Expression, source: DType, target: DType) -> Expression | None:
    """An operand before its conversion from one type to another; None if it is not converted."""
    if isinstance(operand, Cast) and operand.type == target and operand.operand.dtype == source:
        return operand.operand
    if not isinstance(operand, Constant) or not isinstance(operand.value, int):
        return None
    fits = source.lowest <= operand.value <= source.highest
    return Constant(operand.value, source) if fits else None
