"""Dependences as a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import islpy as isl

from polysched.dependence.carried import Part, parts
from polysched.dependence.distance import format_distance
from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.dependence.values import value_flows
from polysched.ir.budget import time_budget
from polysched.ir.kernel import Statement
from polysched.ir.printing import format_access
from polysched.ir.quota import QuotaExceededError, operation_quota
from polysched.ir.tree import LoopKind, Node

QUOTA = 500_000
"""Operations of isl for one dependence, and for finding out which flows carry values."""

_HEADER = ("kind", "value", "source", "sink", "order", "distance", "carried by")
_AT_ONCE = frozenset({LoopKind.VECTOR, LoopKind.PARALLEL})

_Values: TypeAlias = Mapping[tuple[Reference, Reference], isl.Map]


@time_budget()
def format_dependences(
    dependences: Sequence[Dependence],
    statements: Mapping[str, Statement],
    tree: Node,
    *,
    relations: bool = False,
) -> str:
    """A table of the dependences, a line for every loop of a tree that carries a part of one.

    ========== ====================================================================================
    kind       flow, anti or output; ``may`` before it where a subscript depends on data (the record
               is conservative), ``shared`` where a step made different elements share memory
    value      of a flow, whether the reads see what the source wrote: yes, no (it is overwritten
               before), or some of them, with the distances of these
    source,    statement and access; the source touches the element first
    sink
    order      kept, or any for a reduction that is free in its order
    distance   by how many iterations of each loop around both ends the sink is later
    carried by the outermost loop that parts the two; "backwards" if it runs the sink first, "at
               once" if its iterations have no order (lanes, threads); "in the body" if they run in
               one iteration of all loops around both, "no loop" if none is around both
    ========== ====================================================================================

    Where isl needs too long a dependence has one line that says so.

    Args:
        dependences: complete records of a program.
        statements: its statements by name.
        tree: the order looked at: the declared one, or that of a schedule as it is executed.
        relations: add the exact relation between the instances to each line.
    """
    values = _values(dependences)
    rows = [
        row
        for dependence in dependences
        for row in _rows(dependence, statements, tree, values, relations=relations)
    ]
    if not rows:
        return "no dependences\n"
    table = [(*_HEADER, "relation") if relations else _HEADER, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )
    return "".join(f"{line}\n" for line in lines)


def _values(dependences: Sequence[Dependence]) -> _Values | None:
    """The value-based pairs between references; None if isl needs too long."""
    united: dict[tuple[Reference, Reference], isl.Map] = {}
    try:
        with operation_quota(QUOTA):
            for flow in value_flows(dependences):
                key = (flow.source, flow.sink)
                known = united.get(key)
                united[key] = flow.relation if known is None else known.union(flow.relation)
    except (QuotaExceededError, isl.Error):
        return None
    return united


def _rows(
    dependence: Dependence,
    statements: Mapping[str, Statement],
    tree: Node,
    values: _Values | None,
    *,
    relations: bool,
) -> list[tuple[str, ...]]:
    kind = _kind(dependence)
    ends = [_access(statements, end) for end in (dependence.source, dependence.sink)]
    order = "any" if dependence.reorderable else "kept"
    try:
        with operation_quota(QUOTA):
            return [
                (
                    kind,
                    _value(part, values),
                    *ends,
                    order,
                    _distance(part),
                    _carrier(part),
                    *([part.pairs.coalesce().to_str()] if relations else ()),
                )
                for part in parts(dependence, tree)
            ]
    except (QuotaExceededError, isl.Error):
        unknown = ["unknown: isl needs too long", *[""] * relations]
        return [(kind, "", *ends, order, "", *unknown)]


def _kind(dependence: Dependence) -> str:
    marks = (("may", dependence.may), ("shared", dependence.storage))
    return " ".join([*(word for word, holds in marks if holds), dependence.kind.value])


def _access(statements: Mapping[str, Statement], end: Reference) -> str:
    return f"{end.statement}: {format_access(statements[end.statement].accesses[end.position])}"


def _value(part: Part, values: _Values | None) -> str:
    dependence = part.dependence
    if dependence.kind is not DependenceKind.FLOW:
        return ""
    if values is None:
        return "unknown"
    seen = values.get((dependence.source, dependence.sink))
    if seen is None or part.pairs.is_disjoint(seen):
        return "no"
    if part.pairs.is_subset(seen):
        return "yes"
    return f"some {_distance(part, part.pairs.intersect(seen))}" if part.around else "some"


def _distance(part: Part, pairs: isl.Map | None = None) -> str:
    if not part.around:
        return "-"
    return f"({', '.join(map(format_distance, part.distances(pairs)))})"


def _carrier(part: Part) -> str:
    if part.loop is None:
        place = "in the body" if part.around else "no loop"
    else:
        place = part.loop.name
        if part.loop.kind in _AT_ONCE:
            return f"{place}, at once"
    return f"{place}, backwards" if part.backwards else place
