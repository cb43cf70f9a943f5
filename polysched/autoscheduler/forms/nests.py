"""The loop nests of a program: chains of loops, each directly inside the other."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

import islpy as isl

from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Leaf, Loop, Node, Sequence, loops, parts, path
from polysched.ir.isl.shared_results import remembered
from polysched.schedule.core.program import Program


@dataclass(frozen=True, eq=False)
class Nest:
    """A chain of loops and its body.

    Attributes:
        around: the loops around the chain, outermost first.
        chain: the loops of the chain, outermost first; at least one.
        body: a leaf, or a sequence.
    """

    around: tuple[Loop, ...]
    chain: tuple[Loop, ...]
    body: Node

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements below, in tree order."""
        return self.chain[0].statements

    @property
    def is_perfect(self) -> bool:
        """Whether the body is a single statement."""
        return isinstance(self.body, Leaf)

    @property
    def has_leaves(self) -> bool:
        """Whether the body is one statement or several, without loops."""
        return all(isinstance(part, Leaf) for part in parts(self.body))

    @property
    def is_plain(self) -> bool:
        """Whether all loops around and in the nest are plain."""
        return all(loop.is_plain for loop in (*self.around, *loops(self.chain[0])))

    def reference(self, loop: str) -> str:
        """The unambiguous name of a loop of the chain: ``"statement.loop"``."""
        return f"{self.statements[0]}.{loop}"


def outer_nests(node: Node, around: tuple[Loop, ...] = ()) -> Iterator[Nest]:
    """Yield the outermost nests at or below a node, in tree order."""
    match node:
        case Sequence(children=children):
            for child in children:
                yield from outer_nests(child, around)
        case Loop():
            chain = [node]
            while isinstance(chain[-1].body, Loop):
                chain.append(chain[-1].body)
            yield Nest(around, tuple(chain), chain[-1].body)


def inner_nests(nest: Nest) -> tuple[Nest, ...]:
    """Return the outermost nests in the body of a nest."""
    return tuple(outer_nests(nest.body, (*nest.around, *nest.chain)))


def nest_at(program: Program, statement: str, depth: int) -> Nest:
    """Return the nest whose first loop is at a depth around a statement.

    Steps make new trees; a nest is found again by its first statement and its depth.
    """
    around = path(program.tree, statement)
    return next(iter(outer_nests(around[depth], around[:depth])))


def fresh_names(program: Program, node: Node, *wanted: str) -> tuple[str, ...]:
    """Return loop names that are free around every statement below a node.

    A taken name gets a number: ``io``, ``io2``, ``io3``.
    """
    taken = {loop.name for loop in loops(node)}
    for name in node.statements:
        taken |= {loop.name for loop in path(program.tree, name)}
    names = []
    for base in wanted:
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}{number}"
        taken.add(name)
        names.append(name)
    return tuple(names)


def tree_value(node: Node) -> Hashable:
    """Return a value that is equal for trees that run the same instances in the same order."""
    match node:
        case Leaf(statement=statement):
            return statement
        case Sequence(children=children):
            return tuple(map(tree_value, children))
        case Loop(body=body):
            return (loop_value(node, node.statements), tree_value(body))


def loop_value(loop: Loop, statements: Iterable[str]) -> Hashable:
    """Return a value that is equal for loops that run some statements alike."""
    values = tuple((name, _text(loop.values[name])) for name in statements)
    marks = (loop.kind, loop.lanes, loop.transposition, loop.prefetches, loop.instruction)
    return (loop.name, values, marks)


def statement_value(statement: Statement) -> Hashable:
    """Return a value that is equal for statements with the same instances and the same effect."""
    domain = _text(statement.domain)
    return (statement.name, domain, statement.target, statement.value, statement.reduction)


def _text(value: isl.PwAff | isl.Set) -> str:
    return remembered(value.to_str, _text, (value,))
