"""Pass: load and store elements at literal distances as whole vectors and shuffles.

In ``x[2*i + lane // 4]`` or ``x[4*i + 2*lane]`` every lane's distance from the first element is
literal. If a few vectors hold all elements, loading the vectors and shuffling them takes a fraction
of the time of a gather. The pass turns :class:`~polysched.vector.ir.Offsets` of such statements
into a :class:`~polysched.vector.ir.Window`. If only the first lanes run, as in the remainder of a
loop, the vectors are loaded and stored under masks, and no element beyond the last active lane is
read. If data decide which lanes run, only the elements of these lanes are read.

Windows that begin a few elements apart, such as the even and the odd elements of a row or the
columns of a small matrix, share their vectors if the same lanes read both windows in one statement
sequence, because then the elements of both windows may be loaded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from polysched.vector.ir import Assign, Node, Sequence, Statement, Store, VectorProgram
from polysched.vector.passes.unmask import has_fixed_lanes
from polysched.vector.rewrite import map_assigned, map_children, map_statements, walk_value
from polysched.vector.values import (
    Access,
    Active,
    Address,
    All,
    Lanes,
    Load,
    Offsets,
    Predicate,
    Range,
    Value,
    Window,
)

MOST = 4
"""Limit on the vectors of a window: five loads and four shuffles are no faster than a gather."""
MOST_NARROW = 8
"""The same for loads of 1 or 2 bytes, for which processors have no gathers.

Measured on Zen 4: chroma from 2 by 2 pixels of 3 bytes, which are 6 bytes apart, takes a third of
the time.
"""


def form_windows(program: VectorProgram) -> VectorProgram:
    """Turn literal distances into windows."""
    return replace(program, body=_with_shared(map_statements(program.body, _rewritten)))


def _with_shared(node: Node) -> Node:
    """Share the vectors of windows in each sequence of statements."""
    match node:
        case Assign():
            return _sharing([node])[0]
        case Sequence(nodes=nodes):
            shared: list[Node] = []
            for lanes, group in groupby(nodes, _fixed_lanes):
                run = list(group)
                shared += map(_with_shared, run) if lanes is None else _sharing(run)
            return Sequence(tuple(shared))
    return map_children(node, _with_shared)


def _fixed_lanes(node: Node) -> Lanes | None:
    """The lanes of an assignment if they are constant in an iteration of the loops around."""
    lanes = node.lanes if isinstance(node, Assign) else None
    return lanes if lanes is not None and has_fixed_lanes(lanes) else None


def _sharing(run: list[Node]) -> list[Node]:
    """Share the vectors of windows in consecutive statements that run the same lanes."""
    windows: dict[_Family, set[_Span]] = {}
    for node in run:
        lanes = _fixed_lanes(node)
        if isinstance(node, Assign) and lanes is not None:
            for load in walk_value(node.value):
                if isinstance(load, Load) and _is_plain(load):
                    windows.setdefault(_family(load.access, lanes), set()).add(_span(load.access))
    groups = {
        (family, span): _extended(group, family, spans)
        for family, spans in windows.items()
        for group in _groups(sorted(spans), family.count)
        for span in group
    }

    def shared(value: Value, lanes: Lanes) -> Value:
        if not isinstance(value, Load) or not _is_plain(value):
            return value
        access, span = value.access, _span(value.access)
        group = groups[_family(access, lanes), span]
        if group == span:
            return value
        assert isinstance(access.movement, Window)
        distances = access.movement.distances
        moved = tuple(distance + span.start - group.start for distance in distances)
        # All lanes read, or the windows of the group have equal distances and move together.
        beyond = group.end - group.start - max(distances)
        window = Window(moved, tuple(distance + beyond for distance in distances))
        address = replace(access.address, constant=group.start)
        return replace(value, access=Access(address, window, value.dtype.bytes, access.is_private))

    if all(group == span for (_, span), group in groups.items()):
        return run
    return [
        map_assigned(node, partial(shared, lanes=lanes))
        if isinstance(node, Assign) and (lanes := _fixed_lanes(node)) is not None
        else node
        for node in run
    ]


def _is_plain(load: Load) -> bool:
    """Whether all lanes of the statement load from a window."""
    return load.where is None and isinstance(load.access.movement, Window)


@dataclass(frozen=True, order=True)
class _Span:
    """The first and the last element of a window, as distances from the address of its family."""

    start: int
    end: int


@dataclass(frozen=True)
class _Family:
    """The key of windows that may share vectors.

    Attributes:
        base: the address without its constant.
        count: the lanes.
        distances: the distances of the lanes, where not all lanes run: each lane then has to read
            the elements after its own. None where all lanes run.
    """

    base: Address
    count: int
    distances: tuple[int, ...] | None


def _family(access: Access, lanes: Lanes) -> _Family:
    assert isinstance(access.movement, Window)
    distances = None if lanes.active == All() else access.movement.distances
    return _Family(replace(access.address, constant=0), lanes.count, distances)


def _span(access: Access) -> _Span:
    assert isinstance(access.movement, Window)
    start = access.address.constant
    return _Span(start, start + max(access.movement.distances))


def _extended(group: list[_Span], family: _Family, spans: Collection[_Span]) -> _Span:
    """The elements that the vectors of a group hold: whole vectors, if the windows allow it.

    All elements between the first and the last element of a family's windows may be read. Vectors
    that do not overlap need fewer shuffles: two of them form a wider vector.
    """
    start, end = group[0].start, max(span.end for span in group)
    missing = (start - end - 1) % family.count
    if family.distances is not None or end - start < family.count or not missing:
        return _Span(start, end)
    if end + missing <= max(span.end for span in spans):
        return _Span(start, end + missing)
    if start - missing >= min(span.start for span in spans):
        return _Span(start - missing, end)
    return _Span(start, end)


def _groups(spans: list[_Span], count: int) -> Iterator[list[_Span]]:
    """Group windows that together need as many vectors as the longest window alone."""
    group: list[_Span] = []
    end = longest = 0
    for span in spans:
        together = max(end, span.end)
        alone = max(longest, span.end - span.start)
        if group and (together - group[0].start) // count > alone // count:
            yield group
            group = []
        if group:
            end, longest = together, alone
        else:
            end, longest = span.end, span.end - span.start
        group.append(span)
    yield group


def _rewritten(node: Statement) -> Statement:
    if not isinstance(node, Assign) or node.lanes is None:
        return node
    active = node.lanes.active
    node = map_assigned(node, lambda value: _load(value, active))
    if isinstance(node.target, Store):
        access = node.target.access
        if isinstance(access.movement, Offsets) and _are_different(access.movement):
            node = replace(node, target=Store(_window(access, active)))
    return node


def _load(value: Value, active: Active) -> Value:
    if not isinstance(value, Load):
        return value
    most = MOST if value.dtype.bytes >= 4 else MOST_NARROW
    own = active if value.where is None else Predicate(value.where, All())
    access = _window(value.access, own, most)
    return value if access is value.access else replace(value, access=access)


def _window(access: Access, active: Active, most: int = MOST) -> Access:
    """The access as a window if at most the allowed number of vectors holds all elements."""
    movement = access.movement
    if not isinstance(movement, Offsets):
        return access
    distances = movement.distances
    if max(distances) >= most * len(distances) or not _is_maskable(movement, active):
        return access
    return replace(access, movement=Window(distances))


def _is_maskable(movement: Offsets, active: Active) -> bool:
    """Whether the active lanes determine a mask of the elements without much work."""
    if isinstance(active, Range):
        is_sorted = list(movement.distances) == sorted(movement.distances)
        return active.lower is None and active.step == 1 and is_sorted
    return not isinstance(active, Predicate) or _are_different(movement)


def _are_different(movement: Offsets) -> bool:
    return len(set(movement.distances)) == len(movement.distances)
