"""Estimate the trip counts of loops that data bounds, as in rows of a sparse matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from polysched.autoscheduler.facts.subscripts import Form, slopes_of
from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Loop, LoopKind
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.traversal import walk
from polysched.loops.analysis.data_bounds import data_bounds

ONE_SIDED = 0.5
"""The part of a loop that runs if data bounds one of its ends, as in a triangle."""


def trimmed_trips(
    statement: Statement, around: Sequence[Loop], indices: Mapping[str, Form], trips: list[float]
) -> list[float]:
    """Return the trip counts after `trim_no_ops`.

    If data bounds a loop on both sides, rows are assumed to share its iterations among them. A loop
    is not trimmed if a loop inside of it changes the bounds.
    """
    ends: dict[str, dict[bool, set[str]]] = {}
    for bound in data_bounds(statement.target, statement.value):
        for name in _indices(bound.form.expression()):
            of_index = ends.setdefault(name, {})
            of_index.setdefault(bound.is_upper, set()).update(_indices(bound.value))
    trips = list(trips)
    for index, sides in ends.items():
        own = _positions({index}, around, indices)
        rows = _positions(set().union(*sides.values()), around, indices)
        # Vector loops run inside all others.
        inside = {at for at in rows if around[at].kind is LoopKind.VECTOR}
        if not own or inside or max(rows, default=-1) >= min(own):
            continue
        iterations = math.prod(trips[at] for at in own)
        share = ONE_SIDED
        if len(sides) == 2:
            share = 1 / max(1.0, math.prod(trips[at] for at in rows))
        strip = max(1.0, iterations / trips[own[0]])
        partial = (strip - 1) / strip
        trips[own[0]] = min(trips[own[0]], trips[own[0]] * share + partial)
    return trips


def _indices(expression: Expression) -> set[str]:
    return {node.name for node in walk(expression) if isinstance(node, Index)}


def _positions(names: set[str], around: Sequence[Loop], indices: Mapping[str, Form]) -> list[int]:
    """Return the positions of the loops on which indices depend."""
    slopes = [slopes_of(indices[name][0]) for name in names]
    return [at for at, loop in enumerate(around) if any(loop.name in slope for slope in slopes)]
