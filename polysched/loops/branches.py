"""Run scalar statements that need the same condition in one branch.

::

    k = select(c, k + 1, k)                        if c:
    y = select(c and d, f(x), y)        =>           k = k + 1
    z = select(c, 0, z)                              y = select(d, f(x), y)
                                                     z = 0

The processor predicts a branch, whereas a selection waits for its condition and for both values.
LLVM selects again where a branch holds little.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Cast, Expression, Operation
from polysched.ir.expr.literal_conditions import TRUE
from polysched.ir.expr.operators import COMPARISONS, Operator
from polysched.ir.expr.traversal import children as operands_of
from polysched.ir.expr.traversal import loads
from polysched.loops.analysis.known_conditions import (
    MOST_CONDITIONS,
    Facts,
    accesses,
    conditions_of,
    fact,
    own_arrays,
    simplified,
    value_where,
)
from polysched.loops.ir.nodes import (
    Assign,
    Block,
    For,
    If,
    LoopNode,
    LoopProgram,
    block,
    map_children,
)

_LEAST_STATEMENTS = 2
"""Statements that share a branch. A single one is a selection, which LLVM may make a branch."""


def form_branches(program: LoopProgram, *, is_apart: bool = True) -> LoopProgram:
    """Run neighboring scalar statements that need the same condition in one branch.

    Args:
        is_apart: whether no two arrays overlap; if they may, conditions read temporaries only.
    """
    scalars = {
        name
        for name, array in program.arrays.items()
        if array.role is Role.TEMPORARY and not array.shape
    }
    branches = _Branches(scalars, Counter(accesses(program.body)), is_apart)
    return replace(program, body=branches.node(program.body, None))


@dataclass(frozen=True)
class _Branches:
    """One walk over a program.

    Attributes:
        scalars: the temporaries of one element.
        uses: the number of accesses to each array in the program.
        is_apart: whether no two arrays overlap.
    """

    scalars: Set[str]
    uses: Mapping[str, int]
    is_apart: bool

    def node(self, node: LoopNode, until: Expression | None) -> LoopNode:
        """Form the branches of a node.

        Args:
            until: the condition at which the loop around ends, if the node is the last one of its
                iteration.
        """
        match node:
            case For(kind=LoopKind.VECTOR):
                return node
            case For():
                until = node.until
            case Block(children=nodes):
                return self._block(nodes, until)
        return map_children(node, lambda child: self.node(child, until))

    def _block(self, nodes: Sequence[LoopNode], until: Expression | None) -> LoopNode:
        result: list[LoopNode] = []
        position = 0
        while position < len(nodes):
            found = self._branch(nodes, position, until)
            node, position = (nodes[position], position + 1) if found is None else found
            inner = until if position == len(nodes) else None
            # A branch that has just been formed is no assignment, so it is not formed again.
            result.append(self.node(node, inner))
        return block(result)

    def _branch(
        self, nodes: Sequence[LoopNode], start: int, until: Expression | None
    ) -> tuple[LoopNode, int] | None:
        """The branch that begins at a position, and the position after it."""
        first = nodes[start]
        if not isinstance(first, Assign):
            return None
        atoms = dict.fromkeys(conditions_of(first, self.scalars))
        # A conditional store needs a branch anyway; numbers alone are selected without one.
        if self.is_apart and first.target.subscripts:
            atoms |= dict.fromkeys(_evaluated(first.value))
        for atom in list(atoms)[:MOST_CONDITIONS]:
            for holds in (False, True):
                skipped, taken = fact(atom, holds), fact(atom, not holds)
                for end in self._ends(nodes, start, skipped):
                    run = Block(tuple(nodes[start:end]))
                    inside = simplified(run, taken)
                    if any(load.array in inside.changed for load in loads(atom)):
                        continue
                    last = self._last(nodes, end, inside.facts)
                    end_holds = until is not None and value_where(until, inside.facts) == TRUE
                    leaves = end_holds and last == len(nodes)
                    if not leaves and _count(run, skipped) < _LEAST_STATEMENTS:
                        continue
                    rest = simplified(Block(tuple(nodes[end:last])), skipped).node
                    other = rest if end < last else None
                    condition = ~atom if holds else atom
                    return If(condition, inside.node, other, leaves), last
        return None

    def _last(self, nodes: Sequence[LoopNode], start: int, facts: Facts) -> int:
        """The last end of a run of nodes that do nothing if some facts hold."""
        rest = Block(tuple(nodes[start:]))
        if simplified(rest, facts).changed <= own_arrays(rest, self.scalars, self.uses):
            return len(nodes)
        return max(self._ends(nodes, start, facts), default=start)

    def _ends(self, nodes: Sequence[LoopNode], start: int, facts: Facts) -> list[int]:
        """Ends of runs of assignments that do nothing if some facts hold, longest first."""
        unchanged = end = start
        changed: frozenset[str] = frozenset()
        for node in nodes[start:]:
            part = simplified(node, facts) if isinstance(node, Assign) else None
            if part is None or not part.changed <= self.scalars:
                break
            facts, end, changed = part.facts, end + 1, changed | part.changed
            if not changed:
                unchanged = end
        if not changed <= own_arrays(Block(tuple(nodes[start:end])), self.scalars, self.uses):
            end = unchanged
        return sorted({end, unchanged} - {start}, reverse=True)


def _evaluated(value: Expression) -> Iterator[Expression]:
    """Yield the comparisons of data that decide selections of a value, and are always evaluated."""
    match value:
        case Operation(operator=Operator.SELECT, operands=(condition, *_)):
            yield from _evaluated(condition)
        case Operation(operator=operator) if operator in COMPARISONS:
            if loads(value):
                yield value
        case Operation() | Cast():
            for operand in operands_of(value):
                yield from _evaluated(operand)


def _count(run: Block, facts: Facts) -> int:
    """The number of statements that do nothing if some facts hold."""
    parts = 0
    for node in run.children:
        part = simplified(node, facts)
        facts, parts = part.facts, parts + (not part.changed)
    return parts
