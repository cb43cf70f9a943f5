"""Pass: combine the operands of integer minima and maxima in the order in which they are ready.

A value of the previous iteration is ready late. Each operation after it lengthens the chain that
bounds the time of an iteration, so the late operand comes last::

    for j: { h = max(max(h - 1, x[j]), y[j]) }      two operations after h
    for j: { h = max(max(x[j], y[j]), h - 1) }      one

Minima and maxima of integers are exact in any order. Intermediate results that other statements of
the body keep in registers are combined anew if that makes the chain shorter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from polysched.ir.expr.operators import Operator
from polysched.vector.ir import Assign, Keep, Store, VectorProgram, walk
from polysched.vector.recurrences import SCALAR, Body, is_extremum, ready_at, scalar_body
from polysched.vector.rewrite import map_statements, map_value, walk_value
from polysched.vector.values import Address, Apply, Load, Register, Unpack, Value

MOST_OPERANDS = 16
"""Limit on the operands that one value combines; values with more are not reordered."""


def combine_late_operands(program: VectorProgram) -> VectorProgram:
    """Let late operands of integer minima and maxima come last in scalar loops."""
    changed: dict[int, Assign] = {}
    for node in walk(program.body):
        body = scalar_body(node)
        changed |= {
            id(old): new for old, new in zip(body, _reordered(body), strict=True) if new is not old
        }
    if not changed:
        return program
    whole = map_statements(program.body, lambda node: changed.get(id(node), node))
    return replace(program, body=whole)


def _reordered(body: Body) -> Iterator[Assign]:
    """The statements of a body, with operands in the order in which they are ready."""
    kept = {node.target.register.array for node in body if isinstance(node.target, Keep)}
    ready: dict[str, int | None] = dict.fromkeys(kept, 0)
    stored: dict[Address, int | None] = {}
    known: dict[str, Value] = {}
    """The extrema that registers hold, as long as their operands have not changed."""

    def time(value: Value) -> int | None:
        return ready_at(value, ready, stored, SCALAR)

    def rule(value: Value) -> Value:
        if not isinstance(value, Apply) or not is_extremum(value):
            return value
        before, parts = time(value), list(_operands(value, value.operator, known))
        if before is None or len(parts) > MOST_OPERANDS:
            return value
        waiting = sorted(((time(part), part) for part in parts), key=_order)
        while len(waiting) > 1:
            (_, first), (_, second), *others = waiting
            joined = replace(value, operands=(first, second))
            waiting = sorted([(time(joined), joined), *others], key=_order)
        (after, combined), *_ = waiting
        return combined if after is None or after < before else value

    for node in body:
        changed = map_value(node.value, rule)
        at = time(changed)
        written = node.target.access.address.array if isinstance(node.target, Store) else None
        if isinstance(node.target, Keep):
            written = node.target.register.array
            ready[written] = at
        elif isinstance(node.target, Store):
            stored[node.target.access.address] = at
        known = {name: value for name, value in known.items() if not _reads(value, written)}
        if isinstance(node.target, Keep) and not _reads(changed, written):
            known[node.target.register.array] = changed
        yield node if changed is node.value else replace(node, value=changed)


def _order(part: tuple[int | None, Value]) -> int:
    """Values that wait for no earlier iteration come first."""
    time, _ = part
    return -1 if time is None else time


def _operands(value: Value, operator: Operator, known: dict[str, Value]) -> Iterator[Value]:
    """The operands of nested extrema of one kind, also of those that registers hold."""
    if isinstance(value, Register):
        held = known.get(value.array)
        if isinstance(held, Apply) and held.operator is operator:
            value = held
    if not isinstance(value, Apply) or value.operator is not operator:
        yield value
        return
    for operand in value.operands:
        yield from _operands(operand, operator, known)


def _reads(value: Value, array: str | None) -> bool:
    """Whether a value reads an array or a register."""
    return any(
        part.array == array
        if isinstance(part, Register)
        else isinstance(part, Load | Unpack) and part.access.address.array == array
        for part in walk_value(value)
    )
