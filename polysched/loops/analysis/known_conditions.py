"""Simplify loops by conditions whose truth values are known.

A statement ``x = select(c, e, x)`` changes nothing if ``c`` does not hold, and is dropped where
that is known. Conditions stay known until a statement changes an array that they read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import TypeAlias

from polysched.ir.core.guards import reads_target
from polysched.ir.core.kernel import Access
from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Cast, Constant, Expression, Load, Operation
from polysched.ir.expr.literal_conditions import FALSE, TRUE, folded
from polysched.ir.expr.neutral import neutral_element
from polysched.ir.expr.operators import COMPARISONS, Operator
from polysched.ir.expr.traversal import children as operands_of
from polysched.ir.expr.traversal import loads, rebuild
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    block,
    children,
    controls,
    walk,
)

Facts: TypeAlias = Mapping[Expression, Constant]
"""Values of conditions, and of elements that hold literals."""

MOST_CONDITIONS = 8
"""Conditions that are tried for one loop or block. The time is proportional to their number."""

_NEUTRAL = (Operator.ADD, Operator.MULTIPLY, Operator.MINIMUM, Operator.MAXIMUM)


@dataclass(frozen=True)
class Simplified:
    """A node that computes the same as another one where some conditions have known values.

    Attributes:
        node: the simpler node.
        facts: what is known after it.
        changed: the arrays whose elements it may change.
    """

    node: LoopNode
    facts: Facts
    changed: frozenset[str]


def fact(condition: Expression, holds: bool) -> Facts:
    """The fact that a condition holds, or that it does not hold."""
    while isinstance(condition, Operation) and condition.operator is Operator.NOT:
        condition, holds = condition.operands[0], not holds
    return {condition: TRUE if holds else FALSE}


def simplified(node: LoopNode, facts: Facts) -> Simplified:
    """Simplify a node by facts that hold before it."""
    match node:
        case Assign():
            return _assignment(node, facts)
        case Block():
            return _block(node, facts)
        case If():
            return _branch(node, facts)
        case For():
            return _loop(node, facts)
        case Allocate(body=body):
            inner = simplified(body, facts)
            if inner.node == Block(()):
                return inner
            return replace(
                inner, node=node if inner.node is body else replace(node, body=inner.node)
            )
    changed = frozenset(part.target.array for part in walk(node) if isinstance(part, Assign))
    return Simplified(node, _without(facts, changed), changed)


def _assignment(node: Assign, facts: Facts) -> Simplified:
    target, value = node.target, value_where(node.value, facts)
    subscripts = tuple([value_where(subscript, facts) for subscript in target.subscripts])
    if any(map(lambda new, old: new is not old, subscripts, target.subscripts)):
        target = replace(target, subscripts=subscripts)
    if _is_kept(value, target):
        return Simplified(Block(()), facts, frozenset())
    changed = frozenset({target.array})
    facts = _without(facts, changed)
    if isinstance(value, Constant) and value.dtype is not None and not target.subscripts:
        facts = {**facts, Load(target.array, (), value.dtype): value}
    if value is not node.value or target is not node.target:
        node = replace(node, target=target, value=value)
    return Simplified(node, facts, changed)


def _block(node: Block, facts: Facts) -> Simplified:
    kept: list[LoopNode] = []
    changed: frozenset[str] = frozenset()
    for child in node.children:
        part = simplified(child, facts)
        facts, changed = part.facts, changed | part.changed
        kept.append(part.node)
    if all(map(lambda new, old: new is old, kept, node.children)):
        return Simplified(node, facts, changed)
    return Simplified(block([node for node in kept if node != Block(())]), facts, changed)


def _branch(node: If, facts: Facts) -> Simplified:
    condition = value_where(node.condition, facts)
    otherwise = node.otherwise or Block(())
    if condition in (TRUE, FALSE):
        return simplified(node.then if condition == TRUE else otherwise, facts)
    first, second = simplified(node.then, facts), simplified(otherwise, facts)
    changed = first.changed | second.changed
    after = _without(facts, changed)
    if first.node == second.node == Block(()):
        return Simplified(Block(()), after, changed)
    if condition is node.condition and first.node is node.then and second.node is otherwise:
        return Simplified(node, after, changed)
    other = None if second.node == Block(()) else second.node
    return Simplified(If(condition, first.node, other), after, changed)


def _loop(node: For, facts: Facts) -> Simplified:
    lower, upper = value_where(node.lower, facts), value_where(node.upper, facts)
    until = None if node.until is None else value_where(node.until, facts)
    while True:
        # What holds before the loop holds in all iterations if none changes its arrays.
        body = simplified(node.body, facts)
        kept = _without(facts, body.changed)
        if len(kept) == len(facts):
            break
        facts = kept
    if body.node == Block(()):
        return replace(body, node=Block(()), facts=facts)
    ends = zip((lower, upper, until), (node.lower, node.upper, node.until), strict=True)
    if body.node is not node.body or any(new is not old for new, old in ends):
        node = replace(node, body=body.node, lower=lower, upper=upper, until=until)
    return Simplified(node, facts, body.changed)


def _without(facts: Facts, changed: frozenset[str]) -> Facts:
    """The facts that read no changed array."""
    if not any(load.array in changed for known in facts for load in loads(known)):
        return facts
    return {
        known: value
        for known, value in facts.items()
        if not any(load.array in changed for load in loads(known))
    }


def value_where(expression: Expression, facts: Facts) -> Expression:
    """Simplify an expression by facts; the same object if nothing is known about it."""
    known = facts.get(expression)
    if known is not None:
        return known
    operands = operands_of(expression)
    if not operands:
        return expression
    if isinstance(expression, Operation) and expression.operator is Operator.SELECT:
        condition = value_where(operands[0], facts)
        if condition in (TRUE, FALSE):
            return value_where(operands[1 if condition == TRUE else 2], facts)
    result = rebuild(expression, tuple([value_where(operand, facts) for operand in operands]))
    return result if result is expression else folded(result)


def _is_kept(value: Expression, target: Access) -> bool:
    """Whether a value is the content of its target."""
    match value:
        case Load():
            return reads_target(value, target)
        case Operation(operator=Operator.SUBTRACT, operands=(left, Constant(value=number))):
            return repr(number) in ("0", "0.0") and _is_kept(left, target)
        case Operation(operator=operator, operands=(left, right), dtype=dtype) if (
            operator in _NEUTRAL and dtype is not None
        ):
            neutral = repr(neutral_element(operator, dtype).value)
            return any(
                isinstance(other, Constant)
                and repr(other.value) == neutral
                and _is_kept(one, target)
                for one, other in ((left, right), (right, left))
            )
    return False


def conditions_of(node: LoopNode, flags: Set[str]) -> list[Expression]:
    """The conditions on some scalars in a node, in order, at most `MOST_CONDITIONS`."""
    found: dict[Expression, None] = {}
    for part in walk(node):
        values = [part.value] if isinstance(part, Assign) else list(controls(part))
        for value in values:
            found |= dict.fromkeys(_atoms(value, flags))
        if len(found) >= MOST_CONDITIONS:
            break
    return list(found)[:MOST_CONDITIONS]


def _atoms(value: Expression, flags: Set[str]) -> Iterator[Expression]:
    """Yield the parts of a value that are conditions on some scalars and literals only."""
    if isinstance(value, Load):
        if value.array in flags and value.dtype == boolean:
            yield value
        return
    if isinstance(value, Operation) and value.operator in COMPARISONS:
        read = loads(value)
        if read and all(load.array in flags for load in read) and _is_literal(value):
            yield value
            return
    for operand in operands_of(value):
        yield from _atoms(operand, flags)


def _is_literal(comparison: Operation) -> bool:
    """Whether a comparison is between scalars, also converted ones, and literals."""
    plain = [
        operand.operand if isinstance(operand, Cast) else operand for operand in comparison.operands
    ]
    return all(isinstance(operand, Constant | Load) for operand in plain)


def accesses(node: LoopNode) -> Iterator[str]:
    """Yield the array of each access in a node, also in bounds and conditions."""
    for part in walk(node):
        yield from (load.array for control in controls(part) for load in loads(control))
        if isinstance(part, Assign):
            yield part.target.array
            yield from (load.array for load in part.reads)


def own_arrays(node: LoopNode, scalars: Set[str], uses: Mapping[str, int]) -> frozenset[str]:
    """The buffers of a node, and the scalars that it writes first and that nothing else accesses.

    Args:
        scalars: the temporaries of one element.
        uses: the number of accesses to each array in the program.
    """
    inner = Counter(accesses(node))
    candidates = {name for name in scalars if inner[name] and inner[name] == uses[name]}
    own = {part.array for part in walk(node) if isinstance(part, Allocate)}
    seen: set[str] = set()
    for child in _straight(node):
        if isinstance(child, Assign):
            seen |= {load.array for load in child.reads}
            if child.target.array in candidates - seen:
                own.add(child.target.array)
            seen.add(child.target.array)
        else:
            for part in children(child):
                own |= own_arrays(part, scalars, uses)
            seen |= set(accesses(child))
    return frozenset(own)


def _straight(node: LoopNode) -> Iterator[LoopNode]:
    """The nodes that run one after another in each run of a node."""
    if isinstance(node, Block | Allocate):
        for child in children(node):
            yield from _straight(child)
    else:
        yield node
