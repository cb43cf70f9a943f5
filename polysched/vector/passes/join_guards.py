"""Pass: run statements with the same guard together, so that they share its test.

::

    if 0 < m: r0 = r0 + x[0]*y[0]            if 0 < m:
    if 1 < m: r1 = r1 + x[0]*y[1]              r0 = r0 + x[0]*y[0]
    if 0 < m: r2 = r2 + x[1]*y[0]              r2 = r2 + x[1]*y[0]
    if 1 < m: r3 = r3 + x[1]*y[1]            if 1 < m:
                                               r1 = r1 + x[0]*y[1]
                                               r3 = r3 + x[1]*y[1]

The copies of an unrolled loop with an unknown trip count are guarded, and copies of a loop around
it repeat all guards. Statements move only if no two with different guards access the same register
or array, unless both read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from polysched.vector.ir import Assign, Branch, Keep, Node, Sequence, Store, VectorProgram, walk
from polysched.vector.passes.unmask import has_fixed_lanes, is_fixed, lane_ends
from polysched.vector.rewrite import map_children, statement_values, walk_value
from polysched.vector.values import Lanes, Load, Register, Unpack, Value

_Guard = Value | Lanes | None


def join_guards(program: VectorProgram) -> VectorProgram:
    """Join the statements of a sequence that have the same guard."""
    return replace(program, body=_joined(program.body))


def _joined(node: Node) -> Node:
    match node:
        case Sequence(nodes=nodes):
            joined: list[Node] = []
            for is_movable, group in groupby(map(_joined, nodes), _is_movable):
                run = list(group)
                joined += _with_shared_guards(run) if is_movable else run
            return Sequence(tuple(joined))
    return map_children(node, _joined)


def _is_movable(node: Node) -> bool:
    return all(
        isinstance(part, Sequence | Branch)
        or (isinstance(part, Assign) and isinstance(part.target, Keep | Store))
        for part in walk(node)
    )


def _guard(node: Node) -> _Guard:
    """The condition of a node, or its lanes if they may be empty; None if it always runs."""
    match node:
        case Branch(condition=condition, otherwise=None) if is_fixed(condition):
            return condition
        case Assign(lanes=Lanes(some=False) as lanes) if has_fixed_lanes(lanes):
            return lanes
    return None


def _with_shared_guards(nodes: list[Node]) -> list[Node]:
    """Order nodes by guard and join branches, if no two guards have an access in common."""
    groups: dict[_Guard, list[Node]] = {}
    for node in nodes:
        groups.setdefault(_guard(node), []).append(node)
    if len(groups) in (1, len(nodes)) or _has_conflict(groups):
        return nodes
    return [node for group in groups.values() for node in _branch(group)]


def _branch(group: list[Node]) -> list[Node]:
    """One branch for branches with the same condition."""
    first = group[0]
    if _guard(first) is None or not isinstance(first, Branch) or len(group) == 1:
        return group
    bodies = [branch.then for branch in group if isinstance(branch, Branch)]
    return [replace(first, then=_joined(Sequence(tuple(bodies))))]


def _has_conflict(groups: dict[_Guard, list[Node]]) -> bool:
    """Whether nodes with different guards access the same register or array, and one writes it."""
    users: dict[object, set[_Guard]] = {}
    written: set[object] = set()
    for guard, group in groups.items():
        for node in group:
            for name, is_write in _accesses(node):
                users.setdefault(name, set()).add(guard)
                if is_write:
                    written.add(name)
    return any(len(users[name]) > 1 for name in written)


def _accesses(node: Node) -> Iterator[tuple[object, bool]]:
    """Yield the registers and arrays that a node accesses, and whether it writes them."""
    for part in walk(node):
        values: tuple[Value, ...] = ()
        match part:
            case Branch(condition=condition):
                values = (condition,)
            case Assign(target=target, lanes=lanes):
                values = (*statement_values(part), *lane_ends(lanes))
                if isinstance(target, Keep):
                    yield (target.register.array, target.register.number), True
                elif isinstance(target, Store):
                    yield target.access.address.array, True
        for value in (inner for outermost in values for inner in walk_value(outermost)):
            if isinstance(value, Register):
                yield (value.array, value.number), False
            elif isinstance(value, Load | Unpack):
                yield value.access.address.array, False
