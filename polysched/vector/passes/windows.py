"""Pass: load and store elements at literal distances as whole vectors and shuffles.

Of ``x[2*i + lane // 4]`` or ``x[4*i + 2*lane]`` every lane's distance from the first element is
literal. If a few vectors hold all elements, loading these and shuffling takes a fraction of a
gather. The pass turns :class:`~polysched.vector.ir.Offsets` of such statements, all of whose lanes
run, into a :class:`~polysched.vector.ir.Window`.

Windows of consecutive statements that lie a few elements apart, such as ``x[2*i]`` and
``x[2*i + 1]``, begin at one address and end at one element. Their whole vectors are then the same,
and LLVM loads them once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as Sequenced
from dataclasses import replace
from itertools import groupby

from polysched.vector.ir import (
    Assign,
    Branch,
    Loop,
    Node,
    Sequence,
    Statement,
    Store,
    VectorProgram,
)
from polysched.vector.rewrite import (
    map_assigned,
    map_statements,
    map_value,
    statement_values,
    walk_value,
)
from polysched.vector.values import Access, Address, All, Load, Offsets, Unit, Value, Window

MOST = 4
"""Vectors of a window; more than four loads and three shuffles are no faster than a gather."""


def form_windows(program: VectorProgram) -> VectorProgram:
    """Turn literal distances of unmasked statements into windows."""
    return replace(program, body=_with_common_vectors(map_statements(program.body, _rewritten)))


def _rewritten(node: Statement) -> Statement:
    if not isinstance(node, Assign) or node.lanes is None:
        return node
    if not isinstance(node.lanes.active, All):
        return node
    node = map_assigned(node, _load)
    if isinstance(node.target, Store):
        access = node.target.access
        if isinstance(access.movement, Offsets) and _are_different(access.movement):
            node = replace(node, target=Store(_window(access)))
    return node


def _load(value: Value) -> Value:
    if not isinstance(value, Load):
        return value
    access = _window(value.access)
    return value if access is value.access else replace(value, access=access)


def _window(access: Access) -> Access:
    """The access as a window if few enough vectors hold all elements."""
    movement = access.movement
    if not isinstance(movement, Offsets):
        return access
    distances = movement.distances
    if max(distances) >= MOST * len(distances):
        return access
    return replace(access, movement=Window(distances))


def _are_different(movement: Offsets) -> bool:
    """Whether no two lanes access one element."""
    return len(set(movement.distances)) == len(movement.distances)


def _with_common_vectors(node: Node) -> Node:
    match node:
        case Sequence(nodes=nodes):
            made: list[Node] = []
            for is_plain, group in groupby(nodes, _is_plain):
                run = tuple(group)
                made += _aligned(run) if is_plain else map(_with_common_vectors, run)
            return Sequence(tuple(made))
        case Loop(body=body):
            return replace(node, body=_with_common_vectors(body))
        case Branch(then=then, otherwise=otherwise):
            rest = None if otherwise is None else _with_common_vectors(otherwise)
            return replace(node, then=_with_common_vectors(then), otherwise=rest)
    return next(_aligned((node,))) if _is_plain(node) else node


def _is_plain(node: Node) -> bool:
    return isinstance(node, Assign) and node.lanes is not None and node.lanes.active == All()


def _aligned(run: tuple[Node, ...]) -> Iterator[Node]:
    """Yield statements that all run, with windows of common vectors."""
    found: dict[tuple[Address, int], dict[Access, None]] = {}
    for node in run:
        assert isinstance(node, Assign)
        for value in statement_values(node):
            for one in walk_value(value):
                if isinstance(one, Load) and isinstance(one.access.movement, Window):
                    found.setdefault(_key(one.access), {})[one.access] = None
    moved = {old: new for several in found.values() for old, new in _with_one_address(several)}

    def rule(value: Value) -> Value:
        if not isinstance(value, Load) or value.access not in moved:
            return value
        return replace(value, access=moved[value.access])

    for node in run:
        assert isinstance(node, Assign)
        yield replace(node, value=map_value(node.value, rule)) if moved else node


def _key(access: Access) -> tuple[Address, int]:
    """What windows of common vectors share: the address without its constant, and the lanes."""
    assert isinstance(access.movement, Window)
    return replace(access.address, constant=0), len(access.movement.distances)


def _with_one_address(several: Iterable[Access]) -> Iterator[tuple[Access, Access]]:
    """Yield windows with their replacements, where as many vectors hold the elements of several."""
    group: list[Access] = []
    for access in sorted(several, key=lambda one: one.address.constant):
        first = group[0] if group else access
        size = max(_end(one, first) for one in (*group, access))
        if access.address.unit is Unit.ELEMENT and _vectors(access, size) <= _vectors(
            access, _end(access, access)
        ):
            group.append(access)
            continue
        yield from _grouped(group)
        group = [access]
    yield from _grouped(group)


def _grouped(group: Sequenced[Access]) -> Iterator[tuple[Access, Access]]:
    """Yield the windows of a group with their replacements: all begin and end with the group."""
    if len(group) < 2:
        return
    first = group[0]
    size = max(_end(one, first) for one in group)
    private = all(one.is_private for one in group)
    for access in group:
        assert isinstance(access.movement, Window)
        behind = access.address.constant - first.address.constant
        distances = tuple(behind + distance for distance in access.movement.distances)
        yield access, replace(first, movement=Window(distances, size), is_private=private)


def _end(access: Access, first: Access) -> int:
    """The elements from the address of the first access to the last one of an access."""
    assert isinstance(access.movement, Window)
    behind = access.address.constant - first.address.constant
    return behind + max(access.movement.distances) + 1


def _vectors(access: Access, size: int) -> int:
    assert isinstance(access.movement, Window)
    return -(-size // len(access.movement.distances))
