"""Make the occurrences of a witness: instances with accesses, elements and timestamps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.core.data_dependent import outermost_loads
from polysched.ir.core.kernel import Access, Statement, access_relation
from polysched.ir.core.printing import format_element
from polysched.ir.core.tree import Loop, executed, path
from polysched.ir.expr.expressions import Expression
from polysched.ir.isl.smallest import SmallPoint, smallest_point
from polysched.ir.semantics.points import evaluate_many
from polysched.legality.verdicts.verdict import Occurrence, Timestamp
from polysched.schedule.core.program import Program


def occurrence(
    program: Program,
    reference: Reference,
    point: SmallPoint,
    touched: tuple[int, ...] | None = None,
) -> Occurrence:
    """Make the occurrence of one instance with the access of ``reference``.

    Args:
        touched: the element of a data-dependent access; by default the smallest possible element.
    """
    statement = program.statements[reference.statement]
    access = statement.accesses[reference.position]
    tile_count = program.arrays[access.array].tile
    numbers = touched
    if numbers is None and access.is_data_dependent:
        numbers = smallest_point(_reached(statement, access, point)).values
    elif numbers is None:
        numbers = element(statement, access, point)
    return Occurrence(
        statement=statement.name,
        instance=point.values,
        action="reads" if reference.position else "writes",
        access=format_element(access.array, access.subscripts[tile_count:]),
        array=access.array,
        element=numbers[tile_count:],
        tile=numbers[:tile_count],
        old=_declared_time(program, statement, point),
        new=_executed_time(program, statement, point),
        location=access.location or statement.location,
        depends_on=tuple(
            format_element(load.array, load.subscripts)
            for load in outermost_loads(access.subscripts)
        ),
    )


def occurrences(
    program: Program, ends: tuple[Reference, Reference], points: tuple[SmallPoint, SmallPoint]
) -> tuple[Occurrence, Occurrence]:
    """Make the occurrences of two instances that touch one element.

    If an access depends on data, choose the smallest element that both may touch.
    """
    accesses = [program.statements[end.statement].accesses[end.position] for end in ends]
    touched: tuple[int, ...] | None = None
    if any(access.is_data_dependent for access in accesses):
        reached = [
            _reached(program.statements[end.statement], access, point)
            for end, access, point in zip(ends, accesses, points, strict=True)
        ]
        touched = smallest_point(reached[0].intersect(reached[1])).values
    source, sink = (
        occurrence(program, end, point, touched) for end, point in zip(ends, points, strict=True)
    )
    return source, sink


def _reached(statement: Statement, access: Access, point: SmallPoint) -> isl.Set:
    place = isl.Set.from_point(_place(statement, point))
    return place.apply(access_relation(statement, access))


def bare_occurrence(
    program: Program, statement: Statement, point: SmallPoint, *, runs: bool = True
) -> Occurrence:
    """Make the occurrence of an instance without an access.

    Args:
        runs: whether the schedule runs the instance.
    """
    return Occurrence(
        statement=statement.name,
        instance=point.values,
        action="runs",
        access=None,
        array=None,
        element=(),
        tile=(),
        old=_declared_time(program, statement, point),
        new=_executed_time(program, statement, point) if runs else None,
        location=statement.location,
    )


def element(statement: Statement, access: Access, point: SmallPoint) -> tuple[int, ...]:
    """Return the element that an access touches at one instance, with its tile dimensions."""
    variables = {
        **dict(point.parameters),
        **dict(zip(statement.indices, point.values, strict=True)),
    }
    return numbers(access.subscripts, variables)


def numbers(expressions: Sequence[Expression], variables: Mapping[str, int]) -> tuple[int, ...]:
    """Evaluate integer expressions."""
    return tuple(int(evaluate_many(expression, variables)) for expression in expressions)


def timestamp(around: tuple[Loop, ...], statement: Statement, point: SmallPoint) -> Timestamp:
    """Return the values of the loops around a statement at one instance."""
    place = _place(statement, point)
    return tuple(
        (loop.name, int(loop.values[statement.name].eval(place).to_python())) for loop in around
    )


def _declared_time(program: Program, statement: Statement, point: SmallPoint) -> Timestamp | None:
    declared = program.kernel.statements.get(statement.name)
    if declared is None:
        return None
    copies = program.recomputed.get(statement.name)
    if copies is not None and statement is not declared:
        origin = isl.Set.from_point(_place(statement, point)).apply(copies)
        if origin.is_empty():
            return None
        point = smallest_point(origin)
    return timestamp(path(program.kernel.body, statement.name), declared, point)


def _executed_time(program: Program, statement: Statement, point: SmallPoint) -> Timestamp:
    return timestamp(path(executed(program.tree), statement.name), statement, point)


def _place(statement: Statement, point: SmallPoint) -> isl.Point:
    return point.restrict(isl.Set.universe(statement.domain.get_space())).sample_point()
