"""Accumulators that are too few to hide the latency of an FMA.

An addition waits for the addition before it on the same accumulator. If a loop has few such chains,
latency bounds it. Then the multiplication must stay outside the chain: an FMA takes as long as a
multiplication, an addition less on most processors. Separate multiplications cost no throughput as
long as there are at most half as many chains as an FMA takes cycles, even where one unit executes
both operations.

Measured on Zen 4 with scalar float32 sums, time with FMAs / time with ``vmulss`` and ``vaddss``:
1.31 with one chain and with two, 1.19 with three, 0.95 with four, 1.00 with eight. With vectors:
1.07 to 1.20 with one chain, 1.00 with two and with four.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from polysched.ir.expressions import Expression, Load, Operation
from polysched.ir.operators import Operator
from polysched.ir.traversal import loads
from polysched.ir.tree import LoopKind
from polysched.loops.nodes import Allocate, Assign, For, LoopNode, children, walk

_SUMS = (Operator.ADD, Operator.SUBTRACT)


def latency_bound(body: LoopNode, registers: Set[str], fma_latency: int) -> frozenset[str]:
    """The register arrays that accumulate in a loop with too few of them to hide an FMA's latency.

    Args:
        body: loops without unrolled ones.
        registers: the names of the register arrays.
        fma_latency: in cycles.
    """
    found: set[str] = set()
    for node in walk(body):
        if isinstance(node, For) and node.kind is not LoopKind.VECTOR:
            # What is born in an iteration does not wait for the iteration before.
            carried = registers - {one.array for one in walk(node) if isinstance(one, Allocate)}
            own = {
                one.target.array
                for one in _own_assignments(node.body)
                if one.target.array in carried
                and any(load.array == one.target.array for load in loads(one.value))
            }
            if len(own) <= fma_latency // 2:
                found |= own
    return frozenset(found)


def adds_to(expression: Operation, accumulators: Set[str]) -> bool:
    """Whether an operation adds to, or subtracts from, one of some accumulators."""
    return expression.operator in _SUMS and any(
        _is_sum_of(operand, accumulators) for operand in expression.operands
    )


def _is_sum_of(operand: Expression, accumulators: Set[str]) -> bool:
    match operand:
        case Load(array=array):
            return array in accumulators
        case Operation():
            return adds_to(operand, accumulators)
    return False


def _own_assignments(node: LoopNode) -> Iterator[Assign]:
    """The assignments of a loop's body that no sequential loop inside repeats."""
    if isinstance(node, Assign):
        yield node
    elif not (isinstance(node, For) and node.kind is not LoopKind.VECTOR):
        for child in children(node):
            yield from _own_assignments(child)
