"""Planes of an iteration space around a witness: the instances and their timestamps.

Only the shown instances are evaluated, so the cost does not depend on the size of the domain. The
arithmetic uses Python integers, so no number overflows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

import islpy as isl
import numpy as np

from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Loop, LoopKind, Node, executed, map_children, time_columns
from polysched.ir.expr.affine import from_pw_aff, from_set, named
from polysched.ir.expr.expressions import Expression
from polysched.ir.isl.extrema import greatest, least
from polysched.ir.semantics.points import at_parameters, evaluate_many
from polysched.legality.verdicts.verdict import Occurrence, Witness
from polysched.schedule.core.program import Program

Marks: TypeAlias = Mapping[tuple[int, ...], str]
"""Letters of instances (A, B), by the values of their indices."""

_ORDERED_KINDS = frozenset({LoopKind.SEQUENTIAL, LoopKind.UNROLLED})


@dataclass(frozen=True)
class Axis:
    """One dimension of a plane: its index and the shown values; None marks left-out values."""

    name: str
    values: tuple[int | None, ...]


@dataclass(frozen=True)
class Cell:
    """An instance: its letter or an empty text, and its timestamp in the schedule.

    Instances with equal timestamps run at once: lanes, or iterations of a parallel loop.
    """

    mark: str
    time: tuple[int, ...]


@dataclass(frozen=True)
class Plane:
    """Instances of a statement near a witness that differ in one or two dimensions.

    Attributes:
        fixed: the other indices, with their values.
        axes: the one or two dimensions, the outer first.
        cells: the instances by their values on the axes. A lookup with None, an axis value that is
            left out, finds nothing.
    """

    statement: str
    fixed: tuple[tuple[str, int], ...]
    axes: tuple[Axis, ...]
    cells: Mapping[tuple[int | None, ...], Cell]


def planes(program: Program, witness: Witness, size: tuple[int, int]) -> tuple[Plane, ...]:
    """Return one plane with both instances of a witness, marked A and B, or one plane for each.

    The result is empty for a witness of one instance, or if a statement has no index.

    Args:
        size: the numbers of outer and of inner values to show, each at least 2. If there are two
            planes, each shows fewer than half as many outer values.
    """
    source, sink = witness.source, witness.sink
    if sink is None or not (source.instance and sink.instance):
        return ()
    chosen = _chosen(source.instance, sink.instance)
    if _in_one_plane(source, sink, chosen):
        parts: list[tuple[str, Marks]] = [
            (source.statement, {source.instance: "A", sink.instance: "B"})
        ]
    else:
        parts = [(source.statement, {source.instance: "A"}), (sink.statement, {sink.instance: "B"})]
        size = (max(2, (size[0] - 1) // 2), size[1])
    tree = _without_concurrent(executed(program.tree))
    return tuple(
        _plane(
            program.statements[name],
            dict(witness.parameters),
            marks,
            chosen,
            size,
            time_columns(tree, name),
        )
        for name, marks in parts
    )


def _chosen(source: tuple[int, ...], sink: tuple[int, ...]) -> tuple[int, ...]:
    """Choose the one or two dimensions to show.

    The first dimension in which the instances differ decides their order in the program. The second
    choice is the first dimension with a negative distance, because that one makes another loop
    order illegal.
    """
    pairs = list(enumerate(zip(source, sink, strict=False)))
    differing = [position for position, (a, b) in pairs if a != b]
    if not differing:
        return tuple(position for position, _ in pairs[-2:])
    backwards = [position for position, (a, b) in pairs if a > b]
    others = [position for position in (*backwards, *differing) if position != differing[0]]
    return tuple(sorted({differing[0], *others[:1]}))


def _in_one_plane(source: Occurrence, sink: Occurrence, chosen: tuple[int, ...]) -> bool:
    return source.statement == sink.statement and all(
        a == b or position in chosen
        for position, (a, b) in enumerate(zip(source.instance, sink.instance, strict=True))
    )


def _without_concurrent(node: Node) -> Node:
    """Return the tree without its vector and parallel loops, whose iterations run at once."""
    if isinstance(node, Loop) and node.kind not in _ORDERED_KINDS:
        return _without_concurrent(node.body)
    return map_children(node, _without_concurrent)


def _plane(
    statement: Statement,
    parameters: Mapping[str, int],
    marks: Marks,
    chosen: tuple[int, ...],
    size: tuple[int, int],
    times: tuple[isl.PwAff | int, ...],
) -> Plane:
    base = next(iter(marks))
    fixed = [position for position in range(len(base)) if position not in chosen]
    domain = at_parameters(statement.domain, parameters)
    for position, name in enumerate(statement.indices):
        domain = domain.set_dim_name(isl.dim_type.set, position, name)
        if position in fixed:
            domain = domain.fix_val(isl.dim_type.set, position, isl.Val(base[position]))
    windows = [
        _window(domain, position, {instance[position] for instance in marks}, count)
        for position, count in zip(chosen, size[-len(chosen) :], strict=True)
    ]
    grid = list(product(*([value for value in window if value is not None] for window in windows)))
    variables: dict[str, Any] = {**parameters, **dict(zip(statement.indices, base, strict=True))}
    for position, column in zip(chosen, zip(*grid, strict=True), strict=True):
        variables[statement.indices[position]] = np.array(column, object)
    inside = _evaluated(from_set(domain), variables, len(grid))
    rows = [
        [column] * len(grid)
        if isinstance(column, int)
        else _evaluated(from_pw_aff(named(column, statement.indices)), variables, len(grid))
        for column in times
    ]
    instances = [_with(base, chosen, values) for values in grid]
    cells: dict[tuple[int | None, ...], Cell] = {
        values: Cell(marks.get(instance, ""), tuple(time))
        for values, instance, is_inside, *time in zip(grid, instances, inside, *rows, strict=True)
        if is_inside
    }
    return Plane(
        statement.name,
        tuple((statement.indices[position], base[position]) for position in fixed),
        tuple(
            Axis(statement.indices[position], _trimmed(window, {place[i] for place in cells}))
            for i, (position, window) in enumerate(zip(chosen, windows, strict=True))
        ),
        cells,
    )


def _with(
    base: tuple[int, ...], chosen: tuple[int, ...], values: tuple[int, ...]
) -> tuple[int, ...]:
    changed = list(base)
    for position, value in zip(chosen, values, strict=True):
        changed[position] = value
    return tuple(changed)


def _evaluated(expression: Expression, variables: Mapping[str, Any], count: int) -> list[Any]:
    """Evaluate an expression at ``count`` points, exactly: the arrays hold Python integers."""
    values = np.asarray(evaluate_many(expression, variables), object)
    return list(np.broadcast_to(values, count))


def _window(domain: isl.Set, position: int, centers: set[int], count: int) -> list[int | None]:
    """Choose about ``count`` values of a dimension that include ``centers``; None marks a gap."""
    lowest, highest = least(domain, position), greatest(domain, position)
    first, last = min(centers), max(centers)
    if last - first < count:
        runs = [_run(first, last, count, lowest, highest)]
    else:
        half = max(1, count // 2)
        runs = [_run(center, center, half, lowest, highest) for center in (first, last)]
        if runs[0].stop >= runs[1].start - 1:  # a mark for one value would save nothing
            runs = [range(runs[0].start, runs[1].stop)]
    window: list[int | None] = []
    if lowest is None or lowest < runs[0].start:
        window.append(None)
    for before, run in zip((None, *runs), runs, strict=False):
        if before is not None and _is_any(domain, position, range(before.stop, run.start)):
            window.append(None)
        window += run
    if highest is None or highest >= runs[-1].stop:
        window.append(None)
    return window


def _is_any(domain: isl.Set, position: int, between: range) -> bool:
    above = domain.lower_bound_val(isl.dim_type.set, position, isl.Val(between.start))
    inside = above.upper_bound_val(isl.dim_type.set, position, isl.Val(between.stop - 1))
    return not inside.is_empty()


def _run(first: int, last: int, count: int, lowest: int | None, highest: int | None) -> range:
    """Return ``count`` consecutive values around ``first`` to ``last``, inside the bounds."""
    start = first - (count - (last - first + 1)) // 2
    if highest is not None:
        start = min(start, highest - count + 1)
    if lowest is not None:
        start = max(start, lowest)
    stop = start + count
    return range(start, stop if highest is None else min(stop, highest + 1))


def _trimmed(window: list[int | None], used: set[int | None]) -> tuple[int | None, ...]:
    """Drop the values at the ends of a window that no instance has."""
    shown = [place for place, value in enumerate(window) if value is None or value in used]
    return tuple(window[shown[0] : shown[-1] + 1])
