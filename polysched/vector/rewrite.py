"""Traversal and rewriting of vector programs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace

from polysched.vector.ir import (
    Assign,
    Branch,
    Call,
    Loop,
    Node,
    Sequence,
    Statement,
    Store,
    Stream,
    Target,
    Tiles,
    children,
)
from polysched.vector.values import (
    Access,
    Apply,
    Convert,
    First,
    Gather,
    Load,
    Predicate,
    Shuffle,
    Sum,
    Unpack,
    Value,
)

Rule = Callable[[Value], Value]
"""Rewrite a value whose operands have been rewritten; return the value itself to keep it."""


def operands(value: Value) -> tuple[Value, ...]:
    """The operands of a value, including subscripts and terms of addresses."""
    match value:
        case Apply(operands=inner):
            return inner
        case Convert(operand=inner_value) | First(element=inner_value):
            return (inner_value,)
        case Load(access=access, where=where) if where is not None:
            return (*access_operands(access), where)
        case Load(access=access) | Unpack(access=access):
            return access_operands(access)
        case Sum(terms=terms):
            return tuple([term for term, _ in terms])
        case Shuffle(first=first, second=second):
            return (first, second)
    return ()


def access_operands(access: Access) -> tuple[Value, ...]:
    """The values that determine the address and the lanes' offsets of an access."""
    address = access.address
    parts = [value for value, _ in address.terms]
    parts += [value for _, value in address.scaled]
    if isinstance(access.movement, Gather):
        parts += access.movement.subscripts
    return tuple(parts)


def walk_value(value: Value) -> Iterator[Value]:
    """Yield a value and all values below it, in preorder."""
    open_values = [value]
    while open_values:
        value = open_values.pop()
        yield value
        open_values.extend(operands(value))


def target_access(target: Target) -> Access | None:
    """The access of a target in memory; None for a register target."""
    return target.access if isinstance(target, Store | Stream) else None


def statement_values(node: Statement) -> Iterator[Value]:
    """Yield the root values that a statement reads."""
    match node:
        case Assign(target=target, value=value):
            yield value
            access = target_access(target)
        case Call(target=target, before=before, operands=given):
            if before is not None:
                yield before
            yield from [operand for _, operand in given]
            access = target_access(target)
        case _:
            return
    yield from access_operands(access) if access is not None else ()
    if node.lanes is not None and isinstance(node.lanes.active, Predicate):
        yield node.lanes.active.condition


def map_statements(node: Node, function: Callable[[Statement], Node]) -> Node:
    """Rewrite every statement; unchanged nodes stay the same objects."""
    if isinstance(node, Sequence | Loop | Tiles | Branch):
        return map_children(node, lambda child: map_statements(child, function))
    return function(node)


def map_children(node: Node, function: Callable[[Node], Node]) -> Node:
    """Apply ``function`` to the nodes directly below a node.

    Returns the same object if ``function`` changes nothing.
    """
    before = children(node)
    after = tuple([function(child) for child in before])
    if all(map(operator.is_, before, after)):
        return node
    match node:
        case Sequence():
            return Sequence(after)
        case Loop() | Tiles():
            return replace(node, body=after[0])
        case Branch():
            return replace(node, then=after[0], otherwise=after[1] if after[1:] else None)
    return node


def map_value(value: Value, rule: Rule) -> Value:
    """Rewrite a value bottom-up, and subscripts of gathers; unchanged parts stay the same."""
    match value:
        case Apply(operands=inner):
            rewritten = tuple([map_value(operand, rule) for operand in inner])
            if not all(map(operator.is_, rewritten, inner)):
                value = replace(value, operands=rewritten)
        case Convert(operand=operand):
            only = map_value(operand, rule)
            if only is not operand:
                value = replace(value, operand=only)
        case Load(access=access) | Unpack(access=access):
            moved = _map_access(access, rule)
            if moved is not access:
                value = replace(value, access=moved)
            if isinstance(value, Load) and value.where is not None:
                where = map_value(value.where, rule)
                value = value if where is value.where else replace(value, where=where)
    return rule(value)


def map_assigned(node: Assign, rule: Rule) -> Assign:
    """Rewrite the value of an assignment, and the subscripts of its target."""
    value, target = map_value(node.value, rule), node.target
    if isinstance(target, Store | Stream):
        access = _map_access(target.access, rule)
        if access is not target.access:
            target = replace(target, access=access)
    if value is node.value and target is node.target:
        return node
    return replace(node, value=value, target=target)


def _map_access(access: Access, rule: Rule) -> Access:
    if not isinstance(access.movement, Gather):
        return access
    before = access.movement.subscripts
    rewritten = tuple([map_value(subscript, rule) for subscript in before])
    if all(map(operator.is_, rewritten, before)):
        return access
    return replace(access, movement=replace(access.movement, subscripts=rewritten))
