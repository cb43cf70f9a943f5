"""Lifetimes of buffers: where in the executed tree the one piece of memory of a buffer is born.

A buffer's elements are named by tile and position, its memory has positions alone. So the memory is
allocated anew wherever the tile may change: at the outermost place where one iteration of the loops
around holds one tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.affine import to_pw_aff
from polysched.ir.expressions import Expression
from polysched.ir.kernel import Array, access_relation
from polysched.ir.tree import Loop, LoopKind, Node, Sequence, TreePosition, statements
from polysched.schedule.program import Program, prefix_map


@dataclass(frozen=True, eq=False)
class Lifetime:
    """Where a buffer is born; ``one_tile`` says whether an iteration around holds one tile only."""

    position: TreePosition
    one_tile: bool


def lifetime(program: Program, tree: Node, array: Array) -> Lifetime | None:
    """The outermost node at which one iteration of the loops around holds one tile of a buffer.

    Where there is none, the deepest node around all the users of the buffer; None without users.

    Args:
        tree: the program's tree as it is executed.
    """
    users = frozenset(reference.statement for reference in references_to(program, array))
    if not users:
        return None
    *outer, deepest = positions_around(tree, users)
    if not holds_one_tile(program, array, deepest.around):
        return Lifetime(deepest, one_tile=False)
    found = deepest
    for position in reversed(outer):
        if not holds_one_tile(program, array, position.around):
            break
        found = position
    return Lifetime(found, one_tile=True)


def positions_around(
    node: Node, users: Set[str], around: tuple[Loop, ...] = ()
) -> Iterator[TreePosition]:
    """The bodies of the loops that hold all of ``users``, from the whole tree inwards.

    Nothing inside a vector loop is among them: lanes share their memory.
    """
    yield TreePosition(around, node)
    while isinstance(node, Sequence):
        inside = [child for child in node.children if users <= set(statements(child))]
        if not inside:
            return
        node = inside[0]
    if isinstance(node, Loop) and node.kind is not LoopKind.VECTOR:
        yield from positions_around(node.body, users, (*around, node))


def references_to(program: Program, array: Array) -> list[Reference]:
    """All the references of a program to an array."""
    return [
        Reference(statement.name, position)
        for statement in program.statements.values()
        for position, access in enumerate(statement.accesses)
        if access.array == array.name
    ]


def tile_map(program: Program, array: Array, reference: Reference) -> isl.Map:
    """The relation from the instances of a reference to the tiles of the buffer that it touches."""
    statement = program.statements[reference.statement]
    relation = access_relation(statement, statement.accesses[reference.position])
    return relation.project_out(isl.dim_type.out, array.tile, len(array.shape) - array.tile)


def holds_one_tile(program: Program, array: Array, around: tuple[Loop, ...]) -> bool:
    """Whether the values of the loops ``around`` determine the tile that is touched."""
    references = _distinct(program, references_to(program, array))
    if _are_loop_values(program, array, references, around):
        return True
    held: isl.Map | None = None
    for reference in references:
        prefixes = prefix_map(program.statements[reference.statement], around, [])
        own = prefixes.reverse().apply_range(tile_map(program, array, reference))
        if not own.is_single_valued():
            return False
        held = own if held is None else held.union(own)
    return held is None or bool(held.is_single_valued())


def _are_loop_values(
    program: Program, array: Array, references: list[Reference], around: tuple[Loop, ...]
) -> bool:
    """The usual case, seen without a projection: each number of the tile is the value of a loop."""

    def is_value(loop: Loop, position: int, reference: Reference) -> bool:
        statement = program.statements[reference.statement]
        subscript = statement.accesses[reference.position].subscripts[position]
        number = to_pw_aff(subscript, statement.domain.get_space())
        same = number.eq_set(loop.values[statement.name])
        return bool(statement.domain.is_subset(same))

    return all(
        any(all(is_value(loop, position, one) for one in references) for loop in around)
        for position in range(array.tile)
    )


def _distinct(program: Program, references: list[Reference]) -> list[Reference]:
    """One reference for each statement and subscripts, those with the fewest indices first."""
    found: dict[tuple[str, tuple[Expression, ...]], Reference] = {}
    for reference in references:
        access = program.statements[reference.statement].accesses[reference.position]
        found.setdefault((reference.statement, access.subscripts), reference)
    return sorted(found.values(), key=lambda one: len(program.statements[one.statement].indices))
