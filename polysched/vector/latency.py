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
from dataclasses import dataclass

from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Expression, Load, Operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads
from polysched.loops.ir.nodes import Allocate, Assign, For, LoopNode, LoopProgram, children, walk

_SUMS = (Operator.ADD, Operator.SUBTRACT)


@dataclass(frozen=True)
class Contraction:
    """Which products and sums may become one FMA.

    Attributes:
        is_allowed: whether any may.
        latency_bound: the accumulators that products are added to by an addition.
    """

    is_allowed: bool = True
    latency_bound: frozenset[str] = frozenset()

    def joins(self, expression: Operation) -> bool:
        """Whether an operation may be a part of an FMA."""
        if not self.latency_bound:
            return self.is_allowed
        return self.is_allowed and not _adds_to(expression, self.latency_bound)


ANYWHERE = Contraction()


def contraction(program: LoopProgram, registers: Set[str], fma_latency: int) -> Contraction:
    """Where FMAs pay in a program.

    Args:
        program: loops without unrolled ones.
        registers: the names of the register arrays.
        fma_latency: in cycles.
    """
    found: set[str] = set()
    for node in walk(program.body) if program.fp_contract else ():
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
    return Contraction(program.fp_contract, frozenset(found))


def _adds_to(expression: Operation, accumulators: Set[str]) -> bool:
    """Whether an operation adds to, or subtracts from, one of some accumulators."""
    return expression.operator in _SUMS and any(
        _is_sum_of(operand, accumulators) for operand in expression.operands
    )


def _is_sum_of(operand: Expression, accumulators: Set[str]) -> bool:
    match operand:
        case Load(array=array):
            return array in accumulators
        case Operation():
            return _adds_to(operand, accumulators)
    return False


def _own_assignments(node: LoopNode) -> Iterator[Assign]:
    """The assignments of a loop's body that no sequential loop inside repeats."""
    if isinstance(node, Assign):
        yield node
    elif not (isinstance(node, For) and node.kind is not LoopKind.VECTOR):
        for child in children(node):
            yield from _own_assignments(child)
