"""Storage: one piece of memory serves all the tiles of a buffer, one tile after the other.

A buffer's elements are named by tile and position, and dependences relate instances of one tile
only. The memory has positions alone. It is allocated at the deepest node of the executed tree
around all the buffer's users, anew in every iteration of the loops around that node (as loop
generation does it). So two things are demanded, and together they suffice:

1. One iteration holds one tile: the values of those loops determine the tile.
2. A tile's values are made and used in one iteration: before every read of an element, the same
   iteration writes that element (and not as another instance of a reduction that is free in its
   order, for that may come later).

By 2 the last writer of what is read lies in the reader's iteration: the iteration holds a writer w
before the reader; the program's last writer comes after w and before the reader, and order is kept.
The contiguous lifetimes are also what makes a reduction free in its order right across tiles: what
one tile adds, from its copy in to its copy out, is not interrupted by another.
"""

from __future__ import annotations

from functools import reduce

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.ir.expressions import Expression
from polysched.ir.kernel import Array, access_relation
from polysched.ir.tree import Loop, Node, common_ancestor
from polysched.legality.smallest import smallest_pair, smallest_point
from polysched.legality.verdict import Cause, Violation, ViolationKind, Witness
from polysched.legality.witness import occurrence
from polysched.schedule.program import Program, prefix_map


def storage_violation(program: Program, tree: Node) -> Violation | None:
    """Two instances that would meet the wrong tile in a buffer's memory."""
    for array in program.arrays.values():
        if not array.tile:
            continue
        references = _references(program, array)
        users = frozenset(reference.statement for reference in references)
        if not users:
            continue
        around = common_ancestor(tree, users).around
        violation = _two_tiles(program, array, references, around) or _lifetime(
            program, array, references, around
        )
        if violation is not None:
            return violation
    return None


def _references(program: Program, array: Array) -> list[Reference]:
    return [
        Reference(statement.name, position)
        for statement in program.statements.values()
        for position, access in enumerate(statement.accesses)
        if access.array == array.name
    ]


def _tile_map(program: Program, array: Array, reference: Reference) -> isl.Map:
    """The relation from the instances of a reference to the tiles that it touches."""
    statement = program.statements[reference.statement]
    relation = access_relation(statement, statement.accesses[reference.position])
    return relation.project_out(isl.dim_type.out, array.tile, len(array.shape) - array.tile)


def _two_tiles(
    program: Program, array: Array, references: list[Reference], around: tuple[Loop, ...]
) -> Violation | None:
    prefixes = {
        reference: prefix_map(program.statements[reference.statement], around, [])
        for reference in references
    }
    tiles = {reference: _tile_map(program, array, reference) for reference in references}
    held = reduce(
        lambda left, right: left.union(right),
        (
            prefixes[reference].reverse().apply_range(tiles[reference])
            for reference in _distinct(program, references)
        ),
    )
    if held.is_single_valued():
        return None
    for first in references:
        for second in references:
            together = prefixes[first].apply_range(prefixes[second].reverse())
            same_tile = tiles[first].apply_range(tiles[second].reverse())
            apart = together.subtract(same_tile)
            if not apart.is_empty():
                return _violation(program, array, around, Cause.TWO_TILES, (first, second), apart)
    raise AssertionError("an iteration with two tiles has two references that touch them")


def _distinct(program: Program, references: list[Reference]) -> list[Reference]:
    """One reference for each statement and subscripts: an update reads what it writes."""
    found: dict[tuple[str, tuple[Expression, ...]], Reference] = {}
    for reference in references:
        access = program.statements[reference.statement].accesses[reference.position]
        found.setdefault((reference.statement, access.subscripts), reference)
    return list(found.values())


def _lifetime(
    program: Program, array: Array, references: list[Reference], around: tuple[Loop, ...]
) -> Violation | None:
    for read in references:
        if not read.position:
            continue
        flows = [
            dependence
            for dependence in program.dependences
            if dependence.kind is DependenceKind.FLOW and dependence.sink == read
        ]
        uncovered = program.statements[read.statement].domain
        for flow in flows:
            if not flow.reorderable:
                uncovered = uncovered.subtract(_in_one_iteration(flow, around).range())
        if uncovered.is_empty():
            continue
        for flow in sorted(flows, key=lambda flow: flow.reorderable):
            lost = flow.relation.intersect_range(uncovered)
            if not lost.is_empty():
                ends = (flow.source, read)
                return _violation(program, array, around, Cause.LIFETIME, ends, lost)
        point = smallest_point(uncovered)
        witness = Witness(point.parameters, occurrence(program, read, point))
        return Violation(
            ViolationKind.STORAGE,
            Cause.LIFETIME,
            witness,
            array=array.name,
            loop=_innermost(around),
        )
    return None


def _in_one_iteration(flow: Dependence, around: tuple[Loop, ...]) -> isl.Map:
    relation = flow.relation
    for loop in around:
        values = loop.values
        same = values[flow.source.statement].eq_map(values[flow.sink.statement])
        relation = relation.intersect(same)
    return relation


def _violation(
    program: Program,
    array: Array,
    around: tuple[Loop, ...],
    cause: Cause,
    ends: tuple[Reference, Reference],
    pairs: isl.Map,
) -> Violation:
    source, sink = smallest_pair(pairs)
    witness = Witness(
        source.parameters,
        occurrence(program, ends[0], source),
        occurrence(program, ends[1], sink),
    )
    return Violation(
        ViolationKind.STORAGE, cause, witness, array=array.name, loop=_innermost(around)
    )


def _innermost(around: tuple[Loop, ...]) -> str | None:
    return around[-1].name if around else None
