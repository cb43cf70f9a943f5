"""Pass: load and store elements at literal distances as whole vectors and shuffles.

Of ``x[2*i + lane // 4]`` or ``x[4*i + 2*lane]`` every lane's distance from the first element is
literal. If a few vectors hold all elements, loading these and shuffling takes a fraction of a
gather. The pass turns :class:`~polysched.vector.ir.Offsets` of such statements, all of whose lanes
run, into a :class:`~polysched.vector.ir.Window`.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.vector.ir import Assign, Statement, Store, VectorProgram
from polysched.vector.rewrite import map_assigned, map_statements
from polysched.vector.values import Access, All, Load, Offsets, Value, Window

MOST = 4
"""Vectors of a window; more than four loads and three shuffles are no faster than a gather."""


def form_windows(program: VectorProgram) -> VectorProgram:
    """Turn literal distances of unmasked statements into windows."""
    return replace(program, body=map_statements(program.body, _rewritten))


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
