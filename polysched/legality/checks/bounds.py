"""Bounds check: accesses stay inside their arrays, and reads see elements that were written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import reduce

import islpy as isl

from polysched.dependence.equivalence import EquivalenceClasses, by_position
from polysched.dependence.relations import DependenceKind, Reference, timestamps
from polysched.dependence.table import with_sink
from polysched.ir.core.kernel import Access, Role, Statement, access_relation, extent_set
from polysched.ir.isl.smallest import SmallPoint, smallest_pair
from polysched.legality.verdicts.verdict import Cause, Violation, ViolationKind, Witness
from polysched.legality.verdicts.witness import numbers, occurrence
from polysched.schedule.core.program import Program


def bounds_violation(program: Program, statements: Iterable[Statement]) -> Violation | None:
    """Find an instance whose access lies outside its array for some parameters of the context."""
    extents = {
        name: extent_set(array, program.kernel.parameters) for name, array in program.arrays.items()
    }
    numbers, proved = EquivalenceClasses(), set()
    for statement in statements:
        domain = numbers.up_to_names(statement.domain)
        for position, access in enumerate(statement.accesses):
            array = program.arrays[access.array]
            key = (domain, by_position(statement, access), array.shape, array.tile)
            if key in proved:
                continue
            proved.add(key)
            relation = access_relation(statement, access)
            inside = extents[access.array]
            if not relation.range().is_subset(inside):
                outside = relation.subtract_range(inside)
                reference = Reference(statement.name, position)
                return _violation(program, reference, outside, ViolationKind.BOUNDS, Cause.OUTSIDE)
    return None


def undefined_violation(program: Program) -> Violation | None:
    """Find a read of an element that no earlier instance of the declared program has written.

    The caller defines inputs and inouts; outputs and temporaries start undefined.

    Args:
        program: the program before the first step.
    """
    for reference, undefined in undefined_reads(program, program.arrays):
        return _violation(
            program, reference, undefined, ViolationKind.UNDEFINED, Cause.NEVER_WRITTEN
        )
    return None


def undefined_reads(
    program: Program, arrays: Collection[str]
) -> Iterator[tuple[Reference, isl.Map]]:
    """Yield the reads of elements that no earlier instance has written, as for the check.

    Args:
        program: the program before the first step.
        arrays: the arrays whose reads are looked at.

    Yields:
        a reference, and its instances with these elements.
    """
    for statement in program.statements.values():
        for position, access in enumerate(statement.accesses):
            role = program.arrays[access.array].role
            if position == 0 or role not in (Role.OUTPUT, Role.TEMPORARY):
                continue
            if access.array in arrays:
                reference = Reference(statement.name, position)
                undefined = _read_undefined(program, statement, access, reference)
                if not undefined.is_empty():
                    yield reference, undefined


def _read_undefined(
    program: Program, statement: Statement, access: Access, reference: Reference
) -> isl.Map:
    """Return the instances of a read, with the elements that no earlier write must have defined.

    A write whose subscripts depend on data is a may-write: it defines no element for certain. If
    the read depends on data, every element that it may touch must have been written.
    """
    relation = access_relation(statement, access)
    if access.is_data_dependent:
        return relation.subtract(_written_before(program, statement, relation))
    defined = [
        dependence.relation.range()
        for dependence in with_sink(program.dependences, reference)
        if dependence.kind is DependenceKind.FLOW and not dependence.may
    ]
    instances = reduce(isl.Set.subtract, defined, statement.domain)
    return relation.intersect_domain(instances)


def _written_before(program: Program, reader: Statement, touched: isl.Map) -> isl.Map:
    """Return the pairs of ``touched`` (instance -> element) whose element was certainly written."""
    array = touched.get_tuple_name(isl.dim_type.out)
    nothing = touched.subtract(touched)
    times = timestamps(program.tree, program.statements)
    relations = (
        times[reader.name]
        .lex_gt_map(times[writer.name])
        .apply_range(access_relation(writer, writer.target))
        for writer in program.statements.values()
        if writer.target.array == array and not writer.target.is_data_dependent
    )
    return reduce(isl.Map.union, relations, nothing)


def _violation(
    program: Program, reference: Reference, touched: isl.Map, kind: ViolationKind, cause: Cause
) -> Violation:
    """Make a violation of the lexicographically smallest instance and element in ``touched``."""
    point, element = smallest_pair(touched)
    shown = occurrence(program, reference, point, element.values)
    assert shown.array is not None
    return Violation(
        kind,
        cause,
        Witness(point.parameters, shown),
        array=shown.array,
        shape=array_shape(program, shown.array, point),
    )


def array_shape(program: Program, array: str, point: SmallPoint) -> tuple[int, ...]:
    """Return the extents of an array at the point's parameters, without the tile dimensions."""
    return numbers(program.arrays[array].stored_shape, dict(point.parameters))
