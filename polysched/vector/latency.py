"""FMA contraction: leave products separate where the latency of the accumulators is the limit.

An addition waits for the previous addition to the same accumulator. If a loop has few such
dependence chains, latency bounds it. Then the multiplication must stay outside the chain, because
the latency of an addition is lower than the latency of an FMA on most processors. If at most half
as many chains as an FMA has cycles of latency add products, and at most as many chains do anything,
separate multiplications cost no throughput, even where one unit executes both operations. Updates
that LLVM may reassociate are left out, because LLVM gives them more chains.

Measured on Zen 4 with scalar float32 sums, time with FMAs / time with ``vmulss`` and ``vaddss``:
1.31 with one or two chains, 1.19 with three, 0.95 with four, 1.00 with eight. With vectors: 1.07 to
1.20 with one chain, 1.00 with two or four.

Of two products that are added, one becomes part of the FMA and waits for the other. That is the one
whose operands are computed last: a value that an earlier iteration has stored comes late.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Cast, Expression, Load, Operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads
from polysched.ir.expr.traversal import walk as walk_values
from polysched.loops.ir.nodes import Allocate, Assign, For, LoopNode, LoopProgram, children, walk

_SUMS = (Operator.ADD, Operator.SUBTRACT)


@dataclass(frozen=True)
class Contraction:
    """Which products and sums may become one FMA.

    Attributes:
        is_allowed: whether the kernel allows FP contraction.
        latency_bound: the accumulators to which products are added by a separate addition.
        updated: the arrays that the program both reads and writes.
    """

    is_allowed: bool = True
    latency_bound: frozenset[str] = frozenset()
    updated: frozenset[str] = frozenset()

    def joins(self, expression: Operation) -> bool:
        """Whether an operation may become part of an FMA."""
        if not self.latency_bound:
            return self.is_allowed
        return self.is_allowed and not _adds_to(expression, self.latency_bound)

    def separate_product(self, expression: Operation) -> int | None:
        """Return the operand of a sum of two products that is computed first, by its number."""
        if expression.operator not in _SUMS or not all(map(_is_product, expression.operands)):
            return None
        first, second = (_depth(operand, self.updated) for operand in expression.operands)
        return None if first == second else int(first > second)


def contraction(program: LoopProgram, registers: Set[str], fma_latency: int) -> Contraction:
    """Decide where a program uses FMAs.

    Args:
        fma_latency: the latency of an FMA in cycles.
    """
    latency_bound: set[str] = set()
    written: set[str] = set()
    read: set[str] = set()
    for node in walk(program.body) if program.fp_contract else ():
        if isinstance(node, Assign):
            written.add(node.target.array)
            read |= {load.array for load in loads(node.value)}
        if isinstance(node, For) and node.kind is not LoopKind.VECTOR:
            # A value allocated in an iteration does not depend on earlier iterations.
            carried = registers - {
                node_.array for node_ in walk(node) if isinstance(node_, Allocate)
            }
            updates = [
                assign
                for assign in _own_assignments(node.body)
                if assign.target.array in carried
                and assign.statement not in program.reassociated
                and any(load.array == assign.target.array for load in loads(assign.value))
            ]
            own = {assign.target.array for assign in updates}
            products = {assign.target.array for assign in updates if _multiplies(assign.value)}
            if len(products) <= fma_latency // 2 and len(own) <= fma_latency:
                latency_bound |= products
    return Contraction(program.fp_contract, frozenset(latency_bound), frozenset(written & read))


def _is_product(value: Expression) -> bool:
    return isinstance(value, Operation) and value.operator is Operator.MULTIPLY


def _depth(value: Expression, updated: Set[str]) -> int:
    """Return the operations that a value waits for; the load of an updated array counts as one."""
    match value:
        case Load(array=array):
            return int(array in updated)
        case Operation(operands=operands):
            return 1 + max(_depth(operand, updated) for operand in operands)
        case Cast(operand=operand):
            return 1 + _depth(operand, updated)
    return 0


def _multiplies(value: Expression) -> bool:
    return any(map(_is_product, walk_values(value)))


def _adds_to(expression: Operation, accumulators: Set[str]) -> bool:
    """Whether an operation adds to, or subtracts from, one of the accumulators."""
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
    """The assignments of a loop's body outside of inner sequential loops."""
    if isinstance(node, Assign):
        yield node
    elif not (isinstance(node, For) and node.kind is not LoopKind.VECTOR):
        for child in children(node):
            yield from _own_assignments(child)
