"""From a pair of instances in numbers to what a person needs to see of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.expressions import Expression
from polysched.ir.kernel import Access, Statement
from polysched.ir.points import evaluate_many
from polysched.ir.printing import format_element
from polysched.ir.tree import Loop, executed, path
from polysched.legality.smallest import SmallPoint
from polysched.legality.verdict import Occurrence, Timestamp
from polysched.schedule.program import Program


def occurrence(program: Program, reference: Reference, point: SmallPoint) -> Occurrence:
    """One instance with the access of ``reference``, in numbers."""
    statement = program.statements[reference.statement]
    access = statement.accesses[reference.position]
    tile_count = program.arrays[access.array].tile
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
    )


def bare_occurrence(
    program: Program, statement: Statement, point: SmallPoint, *, runs: bool = True
) -> Occurrence:
    """One instance without any access; ``runs`` says whether the schedule runs it."""
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
    """The element that an access touches at one instance, tile dimensions included."""
    variables = {
        **dict(point.parameters),
        **dict(zip(statement.indices, point.values, strict=True)),
    }
    return numbers(access.subscripts, variables)


def numbers(expressions: Sequence[Expression], variables: Mapping[str, int]) -> tuple[int, ...]:
    """The values of integer expressions."""
    return tuple(int(evaluate_many(expression, variables)) for expression in expressions)


def timestamp(around: tuple[Loop, ...], statement: Statement, point: SmallPoint) -> Timestamp:
    """The values of the loops around a statement at one instance."""
    place = _place(statement, point)
    return tuple(
        (loop.name, int(loop.values[statement.name].eval(place).to_python())) for loop in around
    )


def _declared_time(program: Program, statement: Statement, point: SmallPoint) -> Timestamp | None:
    if statement.name not in program.kernel.statements:
        return None
    return timestamp(path(program.kernel.body, statement.name), statement, point)


def _executed_time(program: Program, statement: Statement, point: SmallPoint) -> Timestamp:
    return timestamp(path(executed(program.tree), statement.name), statement, point)


def _place(statement: Statement, point: SmallPoint) -> isl.Point:
    place = isl.Set.universe(statement.domain.get_space())
    for kind, values in (
        (isl.dim_type.param, [value for _, value in point.parameters]),
        (isl.dim_type.set, point.values),
    ):
        for position, value in enumerate(values):
            place = place.fix_val(kind, position, isl.Val(value))
    return place.sample_point()
