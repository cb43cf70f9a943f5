"""Repetitions: isl generates the loops of equal neighbors in a sequence once for all of them.

The time of isl's AST generation grows with the square of the number of statements. Neighbors whose
statements have equal domains and times, up to names, get equal loops. The schedule tree given to
isl holds only the first of them, under a mark, and the reader repeats the loops that isl generated.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from polysched.dependence.equivalence import EquivalenceClasses
from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Leaf, Loop, Node, Sequence, loops


@dataclass(frozen=True, eq=False)
class Repetition:
    """Equal neighbors in a sequence, in order; it marks the first of them."""

    members: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Renaming:
    """Maps the statements and loops given to isl to those of another member of a repetition."""

    statements: Mapping[str, str] = field(default_factory=dict)
    loops: Mapping[int, Loop] = field(default_factory=dict)

    def to(self, first: Node, member: Node) -> Renaming:
        """Extend the renaming by a map from a repetition's first member to another member."""
        named = zip(first.statements, member.statements, strict=True)
        paired = zip(loops(first), loops(member), strict=True)
        return Renaming(
            {**self.statements, **{old: self.statements.get(new, new) for old, new in named}},
            {**self.loops, **{id(old): self.loops.get(id(new), new) for old, new in paired}},
        )

    def loop(self, loop: Loop) -> Loop:
        """The loop that a loop given to isl is mapped to."""
        return self.loops.get(id(loop), loop)


def repetitions(
    tree: Node, statements: Mapping[str, Statement], apart: Collection[int]
) -> dict[int, Repetition]:
    """The repetitions of a tree by the identity of their first member.

    Args:
        tree: the schedule tree in execution order.
        statements: the statements of the program, by name.
        apart: identities of nodes that must not be merged with their neighbors.
    """
    repeated: dict[int, Repetition] = {}
    _kind(tree, (), statements, apart, EquivalenceClasses(), repeated)
    return repeated


def _kind(
    node: Node,
    around: tuple[Loop, ...],
    statements: Mapping[str, Statement],
    apart: Collection[int],
    numbers: EquivalenceClasses,
    repeated: dict[int, Repetition],
) -> int:
    """The number of a node's equivalence class; adds the repetitions below the node."""
    key: Hashable
    match node:
        case Leaf(statement=name):
            domain = numbers.up_to_names(statements[name].domain)
            key = (domain, *(numbers.up_to_names(loop.values[name]) for loop in around))
        case Loop(body=body):
            inner = _kind(body, (*around, node), statements, apart, numbers, repeated)
            key = (node.kind, node.lanes, node.transposition, node.instruction, inner)
        case Sequence(children=children):
            kinds = {
                id(child): _kind(child, around, statements, apart, numbers, repeated)
                for child in children
            }
            for _, group in groupby(children, lambda child: kinds[id(child)]):
                members = tuple(group)
                if len(members) > 1:
                    repeated[id(members[0])] = Repetition(members)
            key = tuple(kinds.values())
    if id(node) in apart or (isinstance(node, Loop) and node.prefetches):
        key = (id(node),)
    return numbers.of((type(node), key))


def left_out(repeated: Mapping[int, Repetition]) -> Iterator[str]:
    """The statements that isl is not given: those of all members but the first."""
    for repetition in repeated.values():
        for member in repetition.members[1:]:
            yield from member.statements
