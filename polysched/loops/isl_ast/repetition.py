"""Neighbors in a sequence that run alike: isl generates the loops of the first one for all of them.

isl's AST generation takes time that grows with the square of the number of statements. Neighbors
whose statements have equal domains and times, up to names, get equal loops, so the schedule tree
holds the first of them under a mark, and the reader repeats what isl has made of it.
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
    """The mark of the first of some neighbors: all of them, in their order."""

    members: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Renaming:
    """Which statement and which loop stand for those that isl was given."""

    statements: Mapping[str, str] = field(default_factory=dict)
    loops: Mapping[int, Loop] = field(default_factory=dict)

    def to(self, first: Node, member: Node) -> Renaming:
        """What stands for the nodes of a repetition's first member where another one is meant."""
        named = zip(first.statements, member.statements, strict=True)
        placed = zip(loops(first), loops(member), strict=True)
        return Renaming(
            {**self.statements, **{one: self.statements.get(other, other) for one, other in named}},
            {**self.loops, **{id(one): self.loops.get(id(other), other) for one, other in placed}},
        )

    def loop(self, loop: Loop) -> Loop:
        """What stands for a loop."""
        return self.loops.get(id(loop), loop)


def repetitions(
    tree: Node, statements: Mapping[str, Statement], apart: Collection[int]
) -> dict[int, Repetition]:
    """The repetitions of a tree by the identity of their first member.

    Args:
        tree: as it is executed.
        apart: the identities of nodes that do not run like any other.
    """
    found: dict[int, Repetition] = {}
    _kind(tree, (), statements, apart, EquivalenceClasses(), found)
    return found


def _kind(
    node: Node,
    around: tuple[Loop, ...],
    statements: Mapping[str, Statement],
    apart: Collection[int],
    numbers: EquivalenceClasses,
    found: dict[int, Repetition],
) -> int:
    """A number, equal for nodes that run alike; fills in the repetitions below the node."""
    key: Hashable
    match node:
        case Leaf(statement=name):
            domain = numbers.up_to_names(statements[name].domain)
            key = (domain, *(numbers.up_to_names(loop.values[name]) for loop in around))
        case Loop(body=body):
            inner = _kind(body, (*around, node), statements, apart, numbers, found)
            key = (node.kind, node.lanes, node.transposition, node.instruction, inner)
        case Sequence(children=children):
            kinds = {
                id(child): _kind(child, around, statements, apart, numbers, found)
                for child in children
            }
            for _, group in groupby(children, lambda child: kinds[id(child)]):
                members = tuple(group)
                if len(members) > 1:
                    found[id(members[0])] = Repetition(members)
            key = tuple(kinds.values())
    if id(node) in apart or (isinstance(node, Loop) and node.prefetches):
        key = (id(node),)
    return numbers.of((type(node), key))


def left_out(found: Mapping[int, Repetition]) -> Iterator[str]:
    """The statements that isl is not given: those of all members but the first."""
    for one in found.values():
        for member in one.members[1:]:
            yield from member.statements
