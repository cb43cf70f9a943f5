"""Storage: one piece of memory serves all the tiles of a buffer, one tile after the other.

Dependences relate the elements of one tile only, as if every tile had memory of its own. The memory
is allocated where :mod:`polysched.schedule.lifetime` says, anew in every iteration of the loops
around that node. So two things are demanded, and together they suffice:

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

import islpy as isl

from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.ir.kernel import Array, access_relation
from polysched.ir.smallest import smallest_pair
from polysched.ir.tree import Loop, Node
from polysched.legality.verdict import Cause, Violation, ViolationKind, Witness
from polysched.legality.witness import occurrence, occurrences
from polysched.schedule.lifetime import lifetime, references_to, tile_map
from polysched.schedule.program import Program, prefix_map


def storage_violation(program: Program, tree: Node) -> Violation | None:
    """Two instances that would meet the wrong tile in a buffer's memory, or find it gone."""
    for array in program.arrays.values():
        life = lifetime(program, tree, array) if array.tile else None
        if life is None:
            continue
        around = life.position.around
        if not life.one_tile:
            return _two_tiles(program, array, around)
        lost = _lost_value(program, array, around)
        if lost is not None:
            return lost
    return None


def _two_tiles(program: Program, array: Array, around: tuple[Loop, ...]) -> Violation:
    references = references_to(program, array)
    for first in references:
        for second in references:
            prefixes = [
                prefix_map(program.statements[reference.statement], around, [])
                for reference in (first, second)
            ]
            together = prefixes[0].apply_range(prefixes[1].reverse())
            tiles = [tile_map(program, array, reference) for reference in (first, second)]
            apart = together.subtract(tiles[0].apply_range(tiles[1].reverse()))
            if not apart.is_empty():
                ends = (first, second)
                return _violation(program, array, around, Cause.TWO_TILES, ends, apart)
    raise AssertionError("an iteration with two tiles has two references that touch them")


def _lost_value(program: Program, array: Array, around: tuple[Loop, ...]) -> Violation | None:
    for read in references_to(program, array):
        if not read.position:
            continue
        flows = [
            dependence
            for dependence in program.dependences
            if dependence.kind is DependenceKind.FLOW and dependence.sink == read
        ]
        uncovered = _uncovered(program, around, read, flows)
        if not uncovered.is_empty():
            return _uncovered_read(program, array, around, read, flows, uncovered)
    return None


def _uncovered(
    program: Program, around: tuple[Loop, ...], read: Reference, flows: list[Dependence]
) -> isl.Map:
    """What a read may touch of all that its own iteration has not written: instance to element."""
    reader = program.statements[read.statement]
    access = reader.accesses[read.position]
    instances, elements = reader.domain, access_relation(reader, access)
    for flow in flows:
        writer = program.statements[flow.source.statement]
        # A write that may go elsewhere covers nothing.
        if flow.reorderable or writer.target.is_data_dependent:
            continue
        inside = _in_one_iteration(flow, around)
        if access.is_data_dependent:
            written = access_relation(writer, writer.target)
            elements = elements.subtract(inside.reverse().apply_range(written))
        else:
            instances = instances.subtract(inside.range())
    return elements.intersect_domain(instances)


def _uncovered_read(
    program: Program,
    array: Array,
    around: tuple[Loop, ...],
    read: Reference,
    flows: list[Dependence],
    uncovered: isl.Map,
) -> Violation:
    for flow in sorted(flows, key=lambda flow: flow.reorderable):
        writer = program.statements[flow.source.statement]
        meeting = access_relation(writer, writer.target).apply_range(uncovered.reverse())
        lost = flow.relation.intersect(meeting)
        if not lost.is_empty():
            ends = (flow.source, read)
            return _violation(program, array, around, Cause.LIFETIME, ends, lost)
    point, element = smallest_pair(uncovered)
    return Violation(
        ViolationKind.STORAGE,
        Cause.LIFETIME,
        Witness(point.parameters, occurrence(program, read, point, element.values)),
        array=array.name,
        loop=_innermost(around),
    )


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
    if cause is Cause.LIFETIME:
        shown = occurrences(program, ends, (source, sink))
    else:
        shown = occurrence(program, ends[0], source), occurrence(program, ends[1], sink)
    witness = Witness(source.parameters, *shown)
    return Violation(
        ViolationKind.STORAGE, cause, witness, array=array.name, loop=_innermost(around)
    )


def _innermost(around: tuple[Loop, ...]) -> str | None:
    return around[-1].name if around else None
