"""Writing unrolled loops out: the loop IR without loops of kind UNROLLED."""

from __future__ import annotations

from dataclasses import replace

from polysched.errors import LoweringError
from polysched.ir.expressions import Constant, Expression, Index, Load
from polysched.ir.functions import equal
from polysched.ir.kernel import Access
from polysched.ir.linear import (
    Intervals,
    LinearForm,
    intersection,
    interval,
    linear_form,
    simplify,
)
from polysched.ir.traversal import transform
from polysched.ir.tree import LoopKind
from polysched.loops.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    block,
    variable_interval,
)


def expand(node: LoopNode, known: Intervals) -> LoopNode:
    """Replace every unrolled loop by copies of its body; leave out what then holds nothing.

    A loop whose number of iterations is not a literal, but bounded by one, becomes guarded copies.

    Raises:
        LoweringError: nothing bounds the number of iterations.
    """
    return _expand(node, {}, known)


def _expand(node: LoopNode, values: dict[str, Expression], known: Intervals) -> LoopNode:
    match node:
        case For():
            return _expand_loop(node, values, known)
        case If(condition=condition, then=then, otherwise=otherwise):
            return _guarded(
                _substituted(condition, values, known),
                _expand(then, values, known),
                None if otherwise is None else _expand(otherwise, values, known),
            )
        case Block(children=children):
            return block([_expand(child, values, known) for child in children])
        case Allocate(body=body):
            return replace(node, body=_expand(body, values, known))
        case Assign(target=target, value=value, instance=instance):
            return Assign(
                node.statement,
                tuple(_substituted(one, values, known) for one in instance),
                Access(
                    target.array,
                    tuple(
                        simplify(_substituted_value(one, values, known), known)
                        for one in target.subscripts
                    ),
                    target.location,
                ),
                _substituted_value(value, values, known),
            )


def _expand_loop(node: For, values: dict[str, Expression], known: Intervals) -> LoopNode:
    lower = _substituted(node.lower, values, known)
    upper = _substituted(node.upper, values, known)
    if node.kind is not LoopKind.UNROLLED:
        reached = variable_interval(lower, upper, known)
        if node.kind is LoopKind.VECTOR:
            reached = intersection(reached, (0, node.lanes - 1))
        inner = {**known, node.variable: reached}
        shadowed = {name: value for name, value in values.items() if name != node.variable}
        body = _expand(node.body, shadowed, inner)
        if body == Block(()):
            return body
        asked = tuple(
            replace(one, start=tuple(_substituted(at, shadowed, inner) for at in one.start))
            for one in node.prefetches
        )
        return replace(node, lower=lower, upper=upper, body=body, prefetches=asked)
    copies = []
    for here in _iterations(node, lower, upper, known):
        body = _expand(node.body, {**values, node.variable: here}, known)
        copies.append(_guarded(_runs(here, lower, upper, node.step, known), body, None))
    return block(copies)


def _runs(
    here: Expression, lower: Expression, upper: Expression, step: int, known: Intervals
) -> Expression:
    """The condition under which a loop has the iteration ``here``."""
    if all(isinstance(one, Constant) for one in (here, lower, upper)):
        at, first, end = (linear_form(one, known).constant for one in (here, lower, upper))
        return Constant(at in range(first, end, step))
    runs = (lower <= here) & (here < upper) & equal((here - lower) % step, 0)
    return simplify(runs, known)


def _iterations(
    node: For, lower: Expression, upper: Expression, known: Intervals
) -> list[Expression]:
    """The values of an unrolled loop's variable, in order; some may lie outside of its bounds.

    Literals where the loop's values have literal bounds, for they make subscripts literal; else the
    lower end plus literals.
    """
    start = linear_form(lower, known)
    _, longest = interval(linear_form(upper, known).plus(start, -1), known)
    first, last = node.values
    if first is not None and last is not None and not start.is_constant:
        literal = range(first, last + 1)
        if longest is None or len(literal) <= longest:
            return [Constant(value) for value in literal]
    if last is not None and start.is_constant:
        most = last - start.constant + 1
        longest = most if longest is None else min(longest, most)
    if longest is None:
        raise LoweringError(
            f"loop '{node.loop}' is unrolled, but no literal bounds its number of iterations, from "
            f"{lower} to {upper}; split it by a literal and unroll the inner loop"
        )
    return [
        start.plus(LinearForm((), offset)).expression() for offset in range(0, longest, node.step)
    ]


def _guarded(condition: Expression, then: LoopNode, otherwise: LoopNode | None) -> LoopNode:
    if condition == Constant(True):
        return then
    if condition == Constant(False) or (then == Block(()) and otherwise is None):
        return Block(()) if otherwise is None else otherwise
    return If(condition, then, otherwise)


def _substituted(
    expression: Expression, values: dict[str, Expression], known: Intervals
) -> Expression:
    return simplify(_replaced(expression, values), known)


def _replaced(expression: Expression, values: dict[str, Expression]) -> Expression:
    if not values:
        return expression
    return transform(
        expression, lambda node: values.get(node.name) if isinstance(node, Index) else None
    )


def _substituted_value(
    expression: Expression, values: dict[str, Expression], known: Intervals
) -> Expression:
    def rule(node: Expression) -> Expression | None:
        if isinstance(node, Index):
            return values.get(node.name)
        if isinstance(node, Load):
            return replace(node, subscripts=tuple(simplify(one, known) for one in node.subscripts))
        return None

    return transform(expression, rule)
