"""Lifetimes of buffers: where in the executed tree the one piece of memory of a buffer is born.

A buffer's elements are named by tile and position, its memory has positions alone. So the memory is
allocated anew wherever the tile may change: at the outermost place where one iteration of the loops
around holds one tile, if each iteration writes what it reads. Otherwise tiles take turns in one
piece of memory, outside of all loops but those that are parallel, of which every iteration has its
own.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import lru_cache

import islpy as isl

from polysched.dependence.relations import DependenceKind, Reference
from polysched.ir.affine import to_pw_aff
from polysched.ir.expressions import Expression
from polysched.ir.extrema import greatest, least
from polysched.ir.kernel import Array, Statement, access_relation
from polysched.ir.tree import Loop, LoopKind, Node, Sequence, TreePosition, statements
from polysched.schedule.delinearize import tile_columns
from polysched.schedule.program import Program, one_iteration, prefix_map


@dataclass(frozen=True, eq=False)
class Lifetime:
    """Where a buffer is born.

    Attributes:
        position: the node at whose every execution the memory is new, and undefined.
        is_contiguous: whether an iteration of the loops around holds one tile only and writes, of
            that tile, whatever it reads. Then nothing can go wrong with the memory: the last writer
            of what is read lies in the reader's iteration, and what one tile adds to a reduction
            free in its order is not interrupted by another.
    """

    position: TreePosition
    is_contiguous: bool


@lru_cache(maxsize=64)
def lifetime(program: Program, tree: Node, array: Array) -> Lifetime | None:
    """Where the memory of a buffer is born; None if nothing uses it.

    The proof asks it, and so do the loops.

    Args:
        tree: the program's tree as it is executed.
    """
    users = frozenset(reference.statement for reference in references_to(program, array))
    if not users:
        return None
    positions = list(positions_around(tree, users))
    found = None
    for position in reversed(positions):
        if not holds_one_tile(program, array, position.around):
            break
        found = position
    if found is not None and is_covered(program, array, found.around):
        return Lifetime(found, is_contiguous=True)
    parallel = [one for one in positions[-1].around if one.kind is LoopKind.PARALLEL]
    shared = next(one for one in positions if all(loop in one.around for loop in parallel))
    return Lifetime(shared, is_contiguous=False)


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
    if any(_holds_two(program, array, one, around) for one in references):
        return False
    held: isl.Map | None = None
    for reference in references:
        prefixes = prefix_map(program.statements[reference.statement], around, [])
        own = prefixes.reverse().apply_range(tile_map(program, array, reference))
        if not own.is_single_valued():
            return False
        held = own if held is None else held.union(own)
    return held is None or bool(held.is_single_valued())


def _holds_two(
    program: Program, array: Array, reference: Reference, around: tuple[Loop, ...]
) -> bool:
    """Whether some iteration of the loops is seen to touch several tiles: one is looked at."""
    statement = program.statements[reference.statement]
    iteration = one_iteration(statement, statement.domain, around)
    if iteration is None:
        return False
    touched = tile_map(program, array, reference).intersect_domain(iteration).range()
    return not touched.is_singleton()


def is_covered(program: Program, array: Array, around: tuple[Loop, ...]) -> bool:
    """Whether before every read of an element the same iteration of the loops writes it.

    Not as another instance of a reduction that is free in its order, for that may come later; and
    a write whose subscripts depend on data may go elsewhere.
    """
    return all(
        unwritten(program, around, read).is_empty()
        for read in references_to(program, array)
        if read.position
    )


def unwritten(program: Program, around: tuple[Loop, ...], read: Reference) -> isl.Map:
    """What a read may touch of all that its own iteration has not written: instance to element."""
    reader = program.statements[read.statement]
    access = reader.accesses[read.position]
    instances, elements = reader.domain, access_relation(reader, access)
    for flow in program.dependences:
        if flow.kind is not DependenceKind.FLOW or flow.sink != read or flow.reorderable:
            continue
        writer = program.statements[flow.source.statement]
        if writer.target.is_data_dependent:
            continue
        ends = (flow.source.statement, read.statement)
        inside = in_one_iteration(program, flow.relation, ends, around)
        if access.is_data_dependent:
            written = access_relation(writer, writer.target)
            elements = elements.subtract(inside.reverse().apply_range(written))
        else:
            instances = instances.subtract(inside.range())
    return elements.intersect_domain(instances)


def in_one_iteration(
    program: Program, pairs: isl.Map, ends: tuple[str, str], around: tuple[Loop, ...]
) -> isl.Map:
    """The pairs of instances of two statements that lie in one iteration of the loops."""
    columns = tile_columns([program.statements[name] for name in dict.fromkeys(ends)], around)
    for source, sink in zip(columns[ends[0]], columns[ends[1]], strict=True):
        pairs = pairs.intersect(source.eq_map(sink))
    return pairs


def _are_loop_values(
    program: Program, array: Array, references: list[Reference], around: tuple[Loop, ...]
) -> bool:
    """The usual case, seen without a projection: each number of the tile is the value of a loop, or
    one literal.
    """
    return all(
        any(_are_values(numbers, loop) for loop in around) or _are_one_literal(numbers)
        for numbers in (
            _tile_numbers(program, references, position) for position in range(array.tile)
        )
    )


def _tile_numbers(
    program: Program, references: list[Reference], position: int
) -> list[tuple[Statement, isl.PwAff]]:
    """One number of the tile that each of the references touches."""
    found = []
    for one in references:
        statement = program.statements[one.statement]
        subscript = statement.accesses[one.position].subscripts[position]
        found.append((statement, to_pw_aff(subscript, statement.domain.get_space())))
    return found


def _are_values(numbers: list[tuple[Statement, isl.PwAff]], loop: Loop) -> bool:
    return all(
        number.plain_is_equal(loop.values[statement.name])
        or statement.domain.is_subset(number.eq_set(loop.values[statement.name]))
        for statement, number in numbers
    )


def _are_one_literal(numbers: list[tuple[Statement, isl.PwAff]]) -> bool:
    values = [
        isl.Map.from_pw_aff(number).intersect_domain(statement.domain).range()
        for statement, number in numbers
    ]
    least_values = {least(one, 0) for one in values if not one.is_empty()}
    greatest_values = {greatest(one, 0) for one in values if not one.is_empty()}
    return len(least_values) < 2 and least_values == greatest_values and None not in least_values


def _distinct(program: Program, references: list[Reference]) -> list[Reference]:
    """One reference for each statement and subscripts, those with the fewest indices first."""
    found: dict[tuple[str, tuple[Expression, ...]], Reference] = {}
    for reference in references:
        access = program.statements[reference.statement].accesses[reference.position]
        found.setdefault((reference.statement, access.subscripts), reference)
    return sorted(found.values(), key=lambda one: len(program.statements[one.statement].indices))
