"""Printer of dependences as a text table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import islpy as isl

from polysched.dependence.carried import Part, parts
from polysched.dependence.distance import format_distance
from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.dependence.values import value_flows
from polysched.ir.core.kernel import Statement
from polysched.ir.core.printing import format_access
from polysched.ir.core.tree import LoopKind, Node
from polysched.ir.isl.budget import time_budget
from polysched.ir.isl.quota import QuotaExceededError, operation_quota

QUOTA = 500_000
"""Limit on isl operations for one dependence, and for computing the value-based flows."""

_HEADER = ("kind", "value", "source", "sink", "order", "distance", "carried by")
_UNORDERED_KINDS = frozenset({LoopKind.VECTOR, LoopKind.PARALLEL})

_Values: TypeAlias = Mapping[tuple[Reference, Reference], isl.Map]


@time_budget()
def format_dependences(
    dependences: Sequence[Dependence],
    statements: Mapping[str, Statement],
    tree: Node,
    *,
    relations: bool = False,
) -> str:
    """Format dependences as a table with one line for each dependence and carrier loop.

    ========== ====================================================================================
    kind       flow, anti or output; preceded by ``may`` if a subscript depends on data (the record
               is conservative), by ``shared`` if a step made different elements share memory
    value      for a flow: whether the reads see the value that the source wrote: yes, no (another
               write comes between), or some of them, with their distances
    source,    statement and access; the source accesses the element first
    sink
    order      kept, or any for a reduction with ``order="any"``
    distance   the number of iterations from source to sink along each common loop
    carried by the outermost common loop whose value differs between source and sink; "backwards" if
               the loop runs the sink first, "at once" if its iterations have no order (lanes,
               threads); "in the body" if loop-independent, "no loop" without a common loop
    ========== ====================================================================================

    If isl exceeds the quota, the dependence has a single line that reports it.

    Args:
        dependences: complete records of a program.
        statements: the program's statements by name.
        tree: the execution order: the declared tree, or the executed tree of a schedule.
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
    """The value-based pairs between references; None if isl exceeds the quota."""
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
    return " ".join([*(mark for mark, holds in marks if holds), dependence.kind.value])


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
        carrier = "in the body" if part.around else "no loop"
    else:
        carrier = part.loop.name
        if part.loop.kind in _UNORDERED_KINDS:
            return f"{carrier}, at once"
    return f"{carrier}, backwards" if part.backwards else carrier
