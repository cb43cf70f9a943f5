"""Chains of operations from one iteration of a scalar loop to the next, in cycles."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from polysched.ir.expr.operators import Operator
from polysched.vector.ir import Assign, Keep, Loop, Node, Sequence
from polysched.vector.rewrite import operands, walk_value
from polysched.vector.values import Address, Apply, Load, Register, Value, dtype_of

EXTREMA = frozenset({Operator.MINIMUM, Operator.MAXIMUM})

Body: TypeAlias = tuple[Assign, ...]
"""The assignments of a loop's body in order."""

Latencies: TypeAlias = Mapping[Operator, int]
"""Cycles of operations; those not listed take 1 cycle."""

SCALAR: Latencies = MappingProxyType(dict.fromkeys(EXTREMA | {Operator.ABSOLUTE}, 2))
"""A scalar minimum of integers is a comparison and a conditional move."""

_ITERATIONS = 4
"""Iterations over which chains are averaged: values may pass through several registers."""


def scalar_body(node: Node) -> Body:
    """The body of a loop if it is scalar assignments with integer extrema; else nothing."""
    if not isinstance(node, Loop) or node.region is not None:
        return ()
    body = node.body.nodes if isinstance(node.body, Sequence) else (node.body,)
    scalar = tuple([part for part in body if isinstance(part, Assign) and part.lanes is None])
    if len(scalar) < len(body) or not any(has_extremum(part.value) for part in scalar):
        return ()
    return scalar


def has_extremum(value: Value) -> bool:
    """Whether a value contains a minimum or maximum of integers."""
    return any(map(is_extremum, walk_value(value)))


def is_extremum(value: Value) -> bool:
    """Whether a value is a minimum or maximum of integers."""
    return isinstance(value, Apply) and value.operator in EXTREMA and dtype_of(value).is_integer


def growth(body: Body, latencies: Latencies) -> dict[str, int]:
    """Cycles by which the value of each register is later after `_ITERATIONS` iterations."""
    kept = {node.target.register.array for node in body if isinstance(node.target, Keep)}
    ready: dict[str, int | None] = dict.fromkeys(kept, 0)
    before = dict(ready)
    for iteration in range(2 * _ITERATIONS):
        if iteration == _ITERATIONS:
            before = dict(ready)
        stored: dict[Address, int | None] = {}
        for node in body:
            time = ready_at(node.value, ready, stored, latencies)
            if isinstance(node.target, Keep):
                ready[node.target.register.array] = time
            else:
                stored[node.target.access.address] = time
    return {name: (ready[name] or 0) - (before[name] or 0) for name in kept}


def ready_at(
    value: Value,
    registers: Mapping[str, int | None],
    stored: Mapping[Address, int | None],
    latencies: Latencies,
) -> int | None:
    """The cycle in which a value is computed; None if it depends on no earlier iteration."""
    match value:
        case Register(array=array):
            return registers.get(array)
        case Load(access=access) if access.address in stored:
            return stored[access.address]
    times = [ready_at(operand, registers, stored, latencies) for operand in operands(value)]
    latest = max([time for time in times if time is not None], default=None)
    if latest is None or not isinstance(value, Apply):
        return latest
    return latest + latencies.get(value.operator, 1)
