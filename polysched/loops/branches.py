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
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.traversal import loads
from polysched.loops.analysis.known_conditions import (
    Facts,
    accesses,
    conditions_of,
    fact,
    own_arrays,
    simplified,
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


def form_branches(program: LoopProgram) -> LoopProgram:
    """Run neighboring scalar statements that need the same condition in one branch."""
    scalars = {
        name
        for name, array in program.arrays.items()
        if array.role is Role.TEMPORARY and not array.shape
    }
    branches = _Branches(scalars, Counter(accesses(program.body)))
    return replace(program, body=branches.node(program.body, frozenset()))


@dataclass(frozen=True)
class _Branches:
    """One walk over a program.

    Attributes:
        scalars: the temporaries of one element.
        uses: the number of accesses to each array in the program.
    """

    scalars: Set[str]
    uses: Mapping[str, int]

    def node(self, node: LoopNode, flags: frozenset[str]) -> LoopNode:
        """Form the branches of a node.

        Args:
            flags: the scalars at which the loop around ends, if the node is the last one of its
                iteration; else none.
        """
        match node:
            case For(kind=LoopKind.VECTOR):
                return node
            case For(until=until):
                flags = frozenset(() if until is None else (one.array for one in loads(until)))
            case Block(children=nodes):
                return self._block(nodes, flags)
        return map_children(node, lambda child: self.node(child, flags))

    def _block(self, nodes: Sequence[LoopNode], flags: frozenset[str]) -> LoopNode:
        result: list[LoopNode] = []
        position = 0
        while position < len(nodes):
            found = self._branch(nodes, position, flags)
            node, position = (nodes[position], position + 1) if found is None else found
            inner = flags if position == len(nodes) else frozenset[str]()
            # A branch that has just been formed is no assignment, so it is not formed again.
            result.append(self.node(node, inner))
        return block(result)

    def _branch(
        self, nodes: Sequence[LoopNode], start: int, flags: frozenset[str]
    ) -> tuple[LoopNode, int] | None:
        """The branch that begins at a position, and the position after it."""
        first = nodes[start]
        if not isinstance(first, Assign):
            return None
        for atom in conditions_of(first, self.scalars):
            for holds in (False, True):
                skipped, taken = fact(atom, holds), fact(atom, not holds)
                for end in self._ends(nodes, start, skipped):
                    run = Block(tuple(nodes[start:end]))
                    inside = simplified(run, taken)
                    if any(load.array in inside.changed for load in loads(atom)):
                        continue
                    last = self._last(nodes, end, inside.facts)
                    leaves = last == len(nodes) and _sets(inside.node, flags)
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


def _sets(node: LoopNode, flags: frozenset[str]) -> bool:
    """Whether a node sets one of some flags to a literal whenever it runs."""
    nodes = node.children if isinstance(node, Block) else (node,)
    return any(
        isinstance(one, Assign) and one.target.array in flags and isinstance(one.value, Constant)
        for one in nodes
    )


def _count(run: Block, facts: Facts) -> int:
    """The number of statements that do nothing if some facts hold."""
    parts = 0
    for node in run.children:
        part = simplified(node, facts)
        facts, parts = part.facts, parts + (not part.changed)
    return parts
