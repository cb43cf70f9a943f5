"""Leave loops where the data decides that no later iteration changes anything.

::

    for j in 0..n:                                 if not done:
      s = s + select(stopped == 0, x[j], -0.0)       for j in 0..n until stopped != 0:
      stopped = select(s > t, 1, stopped)     =>       s = s + x[j]
      y[j] = select(done, y[j], s)                     stopped = select(s > t, 1, stopped)
                                                       y[j] = s

A loop that a program leaves early, by ``break`` or ``return`` or because it searches, is declared
over all iterations, and its statements keep their targets after a flag is set. The loop ends at
the flag if nothing changes while it is set, apart from values that each iteration computes anew. A
condition that stays the same in a loop, and without which the loop changes nothing, is tested
before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.traversal import loads
from polysched.loops.analysis.known_conditions import (
    accesses,
    conditions_of,
    fact,
    own_arrays,
    simplified,
)
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    LoopProgram,
    block,
    map_children,
    walk,
)


def leave_loops(program: LoopProgram) -> LoopProgram:
    """End loops at the flags that stop them, and test conditions before loops that need them."""
    scalars = {
        name
        for name, array in program.arrays.items()
        if array.role is Role.TEMPORARY and not array.shape
    }
    if not conditions_of(program.body, scalars):
        return program
    uses = Counter(accesses(program.body))
    leaving = _Leaving(scalars, uses)
    return replace(program, body=leaving.node(program.body, _Before()))


@dataclass(frozen=True)
class _Before:
    """What is known before a node.

    Attributes:
        defined: the scalars that are surely written.
        fresh: the buffers born in the iteration of the loop around the node.
    """

    defined: frozenset[str] = frozenset()
    fresh: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Leaving:
    """One walk over a program.

    Attributes:
        scalars: the temporaries of one element.
        uses: the number of accesses to each array in the program.
    """

    scalars: Set[str]
    uses: Mapping[str, int]

    def node(self, node: LoopNode, before: _Before) -> LoopNode:
        """Rewrite the loops in a node."""
        match node:
            case For(kind=LoopKind.SEQUENTIAL):
                node = self._left(node, before)
                return map_children(
                    node, lambda child: self.node(child, replace(before, fresh=frozenset()))
                )
            case Block(children=nodes):
                return self._guarded(nodes, before)
            case Allocate(array=array, body=body):
                inner = replace(before, fresh=before.fresh | {array})
                return replace(node, body=self.node(body, inner))
            case For(kind=LoopKind.PARALLEL) | If():
                return map_children(node, lambda child: self.node(child, before))
        return node

    def _own(self, node: LoopNode, before: _Before) -> frozenset[str]:
        """The arrays whose elements nothing reads after a node, or before it writes them."""
        return own_arrays(node, self.scalars, self.uses) | {
            name for name in before.fresh & set(accesses(node)) if self._is_only_user(node, name)
        }

    def _is_only_user(self, node: LoopNode, name: str) -> bool:
        return sum(other == name for other in accesses(node)) == self.uses[name]

    # -- early ends --------------------------------------------------------------------------------

    def _left(self, loop: For, before: _Before) -> For:
        """End a loop before an iteration at whose start nothing more can change."""
        changed = {part.target.array for part in walk(loop.body) if isinstance(part, Assign)}
        own = own_arrays(loop.body, self.scalars, self.uses)
        flags = (changed & self.scalars) - own
        own |= self._own(loop, before)
        for atom in conditions_of(loop.body, flags):
            for holds in (True, False):
                known = fact(atom, holds)
                if simplified(loop.body, known).changed <= own:
                    body = simplified(loop.body, fact(atom, not holds)).node
                    until = atom if holds else ~atom
                    if loop.until is not None:
                        until = loop.until | until
                    return replace(loop, body=body, until=until)
        return loop

    # -- conditions before loops -------------------------------------------------------------------

    def _guarded(self, nodes: Sequence[LoopNode], before: _Before) -> LoopNode:
        """Test conditions before runs of nodes that need them, if these contain loops."""
        result: list[LoopNode] = []
        position = 0
        while position < len(nodes):
            found = self._run(nodes, position, before)
            if found is None:
                node = nodes[position]
                result.append(self.node(node, before))
                position += 1
            else:
                condition, body, position = found
                result.append(If(condition, self.node(body, before)))
                node = body
            if isinstance(node, Assign) and not node.target.subscripts:
                before = replace(before, defined=before.defined | {node.target.array})
        return block(result)

    def _run(
        self, nodes: Sequence[LoopNode], start: int, before: _Before
    ) -> tuple[Expression, LoopNode, int] | None:
        """The longest run of nodes that change nothing unless a condition holds.

        Returns:
            The condition, the nodes without it, and the position after them.
        """
        for end in range(len(nodes), start, -1):
            run = Block(tuple(nodes[start:end]))
            if not any(isinstance(part, For) for part in walk(run)):
                return None
            own: frozenset[str] | None = None
            for atom in conditions_of(run, before.defined):
                own = self._own(run, before) if own is None else own
                for holds in (False, True):
                    if not simplified(run, fact(atom, holds)).changed <= own:
                        continue
                    inside = simplified(run, fact(atom, not holds))
                    if not any(load.array in inside.changed for load in loads(atom)):
                        return (~atom if holds else atom), inside.node, end
        return None
