"""When the instances of a statement run, as integer inequalities over the loops around it.

That is possible where the sizes are literals and all strides have gone into loops of their own, as
after ``split``: an instance follows from its time by sums, and the times are one convex set.
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
    """The times of a statement, and the indices of its instances as sums over these."""

    system: System
    instance: tuple[AffineExpr, ...]


class NotScannedError(PolyschedError):
    """The loops of a program do not follow from intervals."""


def time_sets(program: Program, tree: Node) -> dict[str, TimeSet]:
    """The times of all statements that ever run.

    Args:
        tree: the program's tree as it is executed.

    Raises:
        NotScannedError: there are parameters, or a statement has several pieces or strides.
    """
    if program.kernel.parameters:
        raise NotScannedError(f"sizes of kernel '{program.kernel.name}' are parameters")
    found = {}
    for name in statements(tree):
        statement = program.statements[name]
        if not statement.domain.is_empty():
            found[name] = _time_set(statement, path(tree, name))
    return found


def _time_set(statement: Statement, around: tuple[Loop, ...]) -> TimeSet:
    instances = prefix_map(statement, around, [])
    times = instances.range()
    box = _box(times)
    if times.n_basic_set() != 1 or _has_unknowns(times):
        # Where a loop has one value, that it is a multiple of something says nothing.
        for position, (low, high) in (box or {}).items():
            if low == high:
                times = times.fix_val(isl.dim_type.set, position, isl.Val(low))
        times = times.coalesce()
    is_plain = times.n_basic_set() == 1 and not _has_unknowns(times)
    instance = _instance(instances) if is_plain else None
    if box is None or instance is None:
        raise NotScannedError(f"the times of statement '{statement.name}' are no inequalities")
    system = tightened(_inequalities(times), box)
    assert system is not None
    return TimeSet(system, instance)


def _box(times: isl.Set) -> Box | None:
    """The ranges of a statement's loops; None if one has no end.

    Intervals alone would not see all of these: isl drops what other inequalities imply.
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
    found = []
    for constraint in times.get_basic_sets()[0].get_constraints():
        sum_ = _sum(constraint, isl.dim_type.set, count)
        found.append(sum_)
        if constraint.is_equality():
            found.append(sum_.negated())
    return found


def _instance(instances: isl.Map) -> tuple[AffineExpr, ...] | None:
    """The indices of an instance as sums over its time, given the map from instances to times."""
    functions = isl.PwMultiAff.from_map(instances.reverse())
    found = []
    for position in range(functions.dim(isl.dim_type.out)):
        pieces = functions.get_pw_aff(position).get_pieces()
        function = pieces[0][1]
        is_sum = function.dim(isl.dim_type.div) == 0 and function.get_denominator_val().is_one()
        if len(pieces) > 1 or not is_sum:
            return None
        found.append(_sum(function, isl.dim_type.in_, function.dim(isl.dim_type.in_)))
    return tuple(found)


def _sum(form: isl.Constraint | isl.Aff, kind: isl.dim_type, count: int) -> AffineExpr:
    values = (form.get_coefficient_val(kind, position) for position in range(count))
    terms = tuple(
        (position, int(value.to_python()))
        for position, value in enumerate(values)
        if not value.is_zero()
    )
    return AffineExpr(terms, int(form.get_constant_val().to_python()))
