"""Lifetimes of buffers: the node of the executed tree at which a buffer's memory is allocated.

A buffer's elements are indexed by tile and position, its memory by position alone. So the memory is
allocated anew wherever the tile may change: at the outermost node at which one iteration of the
loops around touches one tile and writes every element before reading it. If there is no such node,
the tiles take turns in one piece of memory. It is allocated outside all loops except the parallel
ones, since every iteration of a parallel loop has its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import lru_cache

import islpy as isl

from polysched.dependence.relations import DependenceKind, Reference
from polysched.ir.core.kernel import Array, Statement, access_relation
from polysched.ir.core.tree import Loop, LoopKind, Node, Sequence, TreePosition, statements
from polysched.ir.expr.affine import to_pw_aff
from polysched.ir.expr.expressions import Expression
from polysched.ir.isl.extrema import greatest, least
from polysched.schedule.core.program import Program, one_iteration, prefix_map


@dataclass(frozen=True, eq=False)
class Lifetime:
    """The node at which a buffer's memory is allocated.

    Attributes:
        position: the node; its memory is new, and undefined, at every execution.
        is_contiguous: whether an iteration of the loops around touches one tile only, and writes
            every element of it before reading it. If so, sharing the memory is always legal: the
            last writer of a read element is in the reader's iteration, and no other tile interrupts
            the updates of a free reduction.
    """

    position: TreePosition
    is_contiguous: bool


@lru_cache(maxsize=64)
def lifetime(program: Program, tree: Node, array: Array) -> Lifetime | None:
    """Return where the memory of a buffer is allocated; None if no statement uses the buffer.

    Both the storage check and the generation of loops call this function.

    Args:
        tree: the program's tree as it is executed.
    """
    users = frozenset(reference.statement for reference in references_to(program, array))
    if not users:
        return None
    positions = list(positions_around(tree, users))
    outermost = None
    for position in reversed(positions):
        if not holds_one_tile(program, array, position.around):
            break
        outermost = position
    if outermost is not None and is_covered(program, array, outermost.around):
        return Lifetime(outermost, is_contiguous=True)
    parallel = [loop for loop in positions[-1].around if loop.kind is LoopKind.PARALLEL]
    shared = next(
        position for position in positions if all(loop in position.around for loop in parallel)
    )
    return Lifetime(shared, is_contiguous=False)


def positions_around(
    node: Node, users: Set[str], around: tuple[Loop, ...] = ()
) -> Iterator[TreePosition]:
    """Yield the loop bodies that hold all of ``users``, from the whole tree inwards.

    Nothing inside a vector loop is among them, since lanes share their memory.
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
    """Return all the references of a program to an array."""
    return [
        Reference(statement.name, position)
        for statement in program.statements.values()
        for position, access in enumerate(statement.accesses)
        if access.array == array.name
    ]


def tile_map(program: Program, array: Array, reference: Reference) -> isl.Map:
    """Return the relation from the instances of a reference to the tiles that it touches."""
    statement = program.statements[reference.statement]
    relation = access_relation(statement, statement.accesses[reference.position])
    return relation.project_out(isl.dim_type.out, array.tile, len(array.shape) - array.tile)


def holds_one_tile(program: Program, array: Array, around: tuple[Loop, ...]) -> bool:
    """Return whether the values of the loops ``around`` determine the tile that is touched."""
    references = _distinct(program, references_to(program, array))
    if _are_loop_values(program, array, references, around):
        return True
    if any(_holds_two(program, array, reference, around) for reference in references):
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
    """Return whether a sample iteration touches several tiles; False proves nothing."""
    statement = program.statements[reference.statement]
    iteration = one_iteration(statement, statement.domain, around)
    if iteration is None:
        return False
    touched = tile_map(program, array, reference).intersect_domain(iteration).range()
    return not touched.is_singleton()


def is_covered(program: Program, array: Array, around: tuple[Loop, ...]) -> bool:
    """Return whether the same iteration of the loops writes every element before reading it.

    Two kinds of writes do not count. An update of a free reduction may run later. A write whose
    subscripts depend on data may go to another element.
    """
    return all(
        unwritten(program, around, read).is_empty()
        for read in references_to(program, array)
        if read.position
    )


def unwritten(program: Program, around: tuple[Loop, ...], read: Reference) -> isl.Map:
    """Return the elements that a read may touch and its own iteration has not written.

    The result maps instances of the read to elements.
    """
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
        inside = in_one_iteration(flow.relation, ends, around)
        if access.is_data_dependent:
            written = access_relation(writer, writer.target)
            elements = elements.subtract(inside.reverse().apply_range(written))
        else:
            instances = instances.subtract(inside.range())
            if instances.is_empty():
                break
    return elements.intersect_domain(instances)


def in_one_iteration(pairs: isl.Map, ends: tuple[str, str], around: tuple[Loop, ...]) -> isl.Map:
    """Return the pairs of instances of two statements that share an iteration of the loops."""
    source, sink = ends
    for loop in around:
        pairs = pairs.intersect(loop.values[source].eq_map(loop.values[sink]))
    return pairs


def _are_loop_values(
    program: Program, array: Array, references: list[Reference], around: tuple[Loop, ...]
) -> bool:
    """Return whether each coordinate of the tile is the value of a loop, or one literal.

    This is the usual case, and it needs no projection.
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
    """Return one coordinate of the tile that each of the references touches."""
    numbers = []
    for reference in references:
        statement = program.statements[reference.statement]
        subscript = statement.accesses[reference.position].subscripts[position]
        numbers.append((statement, to_pw_aff(subscript, statement.domain.get_space())))
    return numbers


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
    least_values = {least(reached, 0) for reached in values if not reached.is_empty()}
    greatest_values = {greatest(reached, 0) for reached in values if not reached.is_empty()}
    return len(least_values) < 2 and least_values == greatest_values and None not in least_values


def _distinct(program: Program, references: list[Reference]) -> list[Reference]:
    """Return one reference per statement and subscripts, those with the fewest indices first."""
    distinct: dict[tuple[str, tuple[Expression, ...]], Reference] = {}
    for reference in references:
        access = program.statements[reference.statement].accesses[reference.position]
        distinct.setdefault((reference.statement, access.subscripts), reference)
    return sorted(distinct.values(), key=lambda ref: len(program.statements[ref.statement].indices))
