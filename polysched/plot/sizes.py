"""Choose parameter values with which a picture shows several tiles and stays readable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import islpy as isl
import numpy as np

from polysched.dependence.relations import Dependence
from polysched.errors import CallError, PlotError, suggestion
from polysched.ir.core.conditions import context_text
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import executed, path
from polysched.ir.isl.extrema import greatest, least
from polysched.ir.isl.smallest import SmallPoint
from polysched.ir.semantics.memory import check_parameters
from polysched.ir.semantics.points import box_size, points, values, with_parameters
from polysched.legality.verdicts.verdict import Occurrence, Violation
from polysched.legality.verdicts.witness import timestamp
from polysched.plot.dimensions import loop_value
from polysched.plot.instances import fixed_domain
from polysched.plot.view import Fixed
from polysched.schedule.core.program import Program

_WANTED = (8, 12, 18, 24, 40, 72)
"""Candidate sizes; the first with at least two tiles along every tile loop is used."""

_SMALLER = (6, 5, 4, 3, 2, 1)
"""Further candidates, for kernels that have too many instances at the sizes above."""

_READABLE = 6_000
"""Limit on the bounding boxes of all instances, in points, for chosen sizes."""


def chosen_sizes(
    program: Program,
    shown: Sequence[str],
    at: Fixed,
    tile: Mapping[str, Sequence[str]],
    given: Mapping[str, int],
    violation: Violation | None,
) -> dict[str, int]:
    """Values of all parameters: the given ones, and small values for the others.

    The values satisfy the context. They let every tile loop run at least twice, if that takes no
    more than some thousand instances, and keep the witness of a violation in the picture.
    """
    kernel = program.kernel
    for name in given:
        if name not in kernel.parameters:
            raise PlotError(
                f"kernel '{kernel.name}' has no parameter '{name}'"
                f"{suggestion(name, kernel.parameters)}"
            )
    if not kernel.parameters or len(given) == len(kernel.parameters):
        return _checked(kernel, given)
    tried = [_near(kernel, wanted, given) for wanted in (*_WANTED, *_SMALLER)]
    readable = [sizes for sizes in tried if _is_readable(program, shown, at, sizes)]
    if violation is not None:
        showing = [sizes for sizes in readable if shows(program, violation, sizes)]
        smallest = {**dict(violation.witness.parameters), **given}
        if not showing and shows(program, violation, smallest):
            return _checked(kernel, smallest)
        readable = showing or readable
    if not readable:
        return tried[-1]
    return next(
        (sizes for sizes in readable if _has_tiles(program, shown, at, tile, sizes)), readable[0]
    )


def _checked(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, int]:
    values_of = {name: sizes[name] for name in kernel.parameters}
    check_parameters(kernel.context, values_of)
    return values_of


def _near(kernel: Kernel, wanted: int, given: Mapping[str, int]) -> dict[str, int]:
    """Values that satisfy the context, each as near to ``wanted`` as possible."""
    context = kernel.context
    context = with_parameters(context, given)
    if context.is_empty():
        values_text = ", ".join(f"{name} = {value}" for name, value in given.items())
        raise CallError(f"{values_text} violates {context_text(kernel.context)}")
    chosen = dict(given)
    for name in kernel.parameters:
        if name not in chosen:
            chosen[name] = _nearest(context, name, wanted)
            context = with_parameters(context, {name: chosen[name]})
    return {name: chosen[name] for name in kernel.parameters}


def _nearest(context: isl.Set, name: str, wanted: int) -> int:
    """The least possible value of a parameter from ``wanted`` up, else the greatest below it."""
    position = context.find_dim_by_name(isl.dim_type.param, name)
    alone = isl.Set.from_params(context).insert_dims(isl.dim_type.set, 0, 1)
    alone = alone.equate(isl.dim_type.param, position, isl.dim_type.set, 0)
    alone = alone.project_out(isl.dim_type.param, 0, alone.dim(isl.dim_type.param))
    above = least(alone.lower_bound_val(isl.dim_type.set, 0, isl.Val(wanted)), 0)
    below = greatest(alone.upper_bound_val(isl.dim_type.set, 0, isl.Val(wanted)), 0)
    nearest = above if above is not None else below
    assert nearest is not None, "the context holds some value of every parameter"
    return nearest


def _is_readable(
    program: Program, shown: Sequence[str], at: Fixed, sizes: Mapping[str, int]
) -> bool:
    total = [box_size(fixed_domain(program, name, at), sizes) for name in shown]
    return sum(total) <= _READABLE and max(total, default=0) > 0


def _has_tiles(
    program: Program,
    shown: Sequence[str],
    at: Fixed,
    tile: Mapping[str, Sequence[str]],
    sizes: Mapping[str, int],
) -> bool:
    """Whether every tile loop has at least two values."""
    for name in shown:
        domain = fixed_domain(program, name, at)
        rows = points(domain, sizes) if tile[name] else None
        for loop in tile[name]:
            function = loop_value(program, name, loop)
            if function is not None and rows is not None:
                reached = np.unique(values(function, rows, sizes))
                if len(reached) < 2 and loop not in at:
                    return False
    return True


def shows(program: Program, violation: Violation, sizes: Mapping[str, int]) -> bool:
    """Whether the witness of a violation is also a witness at other sizes.

    This holds if both instances exist at these sizes, have the timestamps of the witness, and one
    still depends on the other. The instance of a single-instance witness must exist and have its
    timestamp.
    """
    witness = violation.witness
    pair = [instance for instance in (witness.source, witness.sink) if instance is not None]
    if dict(witness.parameters) == dict(sizes):
        return True
    return all(_runs(program, instance, sizes) for instance in pair) and (
        len(pair) < 2
        or violation.dependence is None
        or any(_relates(dependence, violation, sizes) for dependence in program.dependences)
    )


def _runs(program: Program, occurrence: Occurrence, sizes: Mapping[str, int]) -> bool:
    statement = program.statements.get(occurrence.statement)
    if statement is None:
        return False
    point = SmallPoint(_in_order(statement.domain, sizes), occurrence.instance)
    if point.restrict(statement.domain).is_empty():
        return False
    enclosing = path(executed(program.tree), occurrence.statement)
    return occurrence.new is None or timestamp(enclosing, statement, point) == occurrence.new


def _relates(dependence: Dependence, violation: Violation, sizes: Mapping[str, int]) -> bool:
    source, sink = violation.witness.source, violation.witness.sink
    if (
        sink is None
        or dependence.kind is not violation.dependence
        or dependence.array != violation.array
        or (dependence.source.statement, dependence.sink.statement)
        != (source.statement, sink.statement)
    ):
        return False
    pairs = dependence.relation.wrap().flatten()
    point = SmallPoint(_in_order(pairs, sizes), (*source.instance, *sink.instance))
    return not point.restrict(pairs).is_empty()


def _in_order(domain: isl.Set, sizes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    count = domain.dim(isl.dim_type.param)
    names = [str(domain.get_dim_name(isl.dim_type.param, position)) for position in range(count)]
    return tuple((name, sizes[name]) for name in names)
