"""Execution times of a statement as integer inequalities over the loops around it.

This form exists if all sizes are literals and every stride has its own loop, as after ``split``:
the indices of an instance are then sums over its time, and the times are one convex set.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polysched.errors import PolyschedError
from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Loop, Node, path, statements
from polysched.ir.isl.extrema import greatest, least
from polysched.loops.scan.inequalities import AffineExpr, Box, System, tightened
from polysched.schedule.core.program import Program, prefix_map


@dataclass(frozen=True, eq=False)
class TimeSet:
    """The execution times of a statement, and the indices of its instances as sums over a time."""

    system: System
    instance: tuple[AffineExpr, ...]


class NotScannedError(PolyschedError):
    """Intervals do not determine the loops of a program."""


def time_sets(program: Program, tree: Node) -> dict[str, TimeSet]:
    """The execution times of all statements whose domain is not empty.

    Args:
        program: the scheduled program.
        tree: the schedule tree in execution order.

    Raises:
        NotScannedError: there are parameters, or a statement has several pieces or strides.
    """
    if program.kernel.parameters:
        raise NotScannedError(f"sizes of kernel '{program.kernel.name}' are parameters")
    by_name = {}
    for name in statements(tree):
        statement = program.statements[name]
        if not statement.domain.is_empty():
            by_name[name] = _time_set(statement, path(tree, name))
    return by_name


def _time_set(statement: Statement, around: tuple[Loop, ...]) -> TimeSet:
    instances = prefix_map(statement, around, [])
    times = instances.range()
    box = _box(times)
    if times.n_basic_set() != 1 or _has_unknowns(times):
        # A loop with a single value needs no stride, which isl would express by an unknown.
        for position, (low, high) in (box or {}).items():
            if low == high:
                times = times.fix_val(isl.dim_type.set, position, isl.Val(low))
        times = times.coalesce()
    is_plain = times.n_basic_set() == 1 and not _has_unknowns(times)
    instance = _instance(instances) if is_plain else None
    if box is None or instance is None:
        raise NotScannedError(f"the times of statement '{statement.name}' are not one convex set")
    system = tightened(_inequalities(times), box)
    assert system is not None
    return TimeSet(system, instance)


def _box(times: isl.Set) -> Box | None:
    """The ranges of a statement's loops; None if a loop is unbounded.

    They are asked of isl, because intervals alone do not give them all: isl drops inequalities that
    other inequalities imply.
    """
    box = {}
    for position in range(times.dim(isl.dim_type.set)):
        low, high = least(times, position), greatest(times, position)
        if low is None or high is None:
            return None
        box[position] = (low, high)
    return box


def _has_unknowns(times: isl.Set) -> bool:
    return any(part.dim(isl.dim_type.div) for part in times.get_basic_sets())


def _inequalities(times: isl.Set) -> list[AffineExpr]:
    count = times.dim(isl.dim_type.set)
    inequalities = []
    for constraint in times.get_basic_sets()[0].get_constraints():
        sum_ = _sum(constraint, isl.dim_type.set, count)
        inequalities.append(sum_)
        if constraint.is_equality():
            inequalities.append(sum_.times(-1))
    return inequalities


def _instance(instances: isl.Map) -> tuple[AffineExpr, ...] | None:
    """The indices of an instance as sums over its time; None if they are not sums.

    Args:
        instances: the map from instances to times.
    """
    functions = isl.PwMultiAff.from_map(instances.reverse())
    indices = []
    for position in range(functions.dim(isl.dim_type.out)):
        pieces = functions.get_pw_aff(position).get_pieces()
        function = pieces[0][1]
        is_sum = function.dim(isl.dim_type.div) == 0 and function.get_denominator_val().is_one()
        if len(pieces) > 1 or not is_sum:
            return None
        indices.append(_sum(function, isl.dim_type.in_, function.dim(isl.dim_type.in_)))
    return tuple(indices)


def _sum(form: isl.Constraint | isl.Aff, kind: isl.dim_type, count: int) -> AffineExpr:
    values = (form.get_coefficient_val(kind, position) for position in range(count))
    terms = tuple(
        (position, int(value.to_python()))
        for position, value in enumerate(values)
        if not value.is_zero()
    )
    return AffineExpr(terms, int(form.get_constant_val().to_python()))
