"""Separate full tiles from partial tiles: cut loops so that vectors in the middle part are full.

isl generates loops with full and partial tiles together. They are cut afterwards (index-set
splitting; Griebl, Feautrier, Lengauer: "Index set splitting", IJPP 2000)::

    for v in L..U:                                    for v in L..min(U, first):
      vector w in max(0, a - 16*v)..min(16, b - 16*v)   vector w in max(0, a - 16*v)..min(16, ...)
                                                      for v in max(L, first)..min(U, end):
                                                 ->     vector w in 0..16
                                                      for v in max(L, first, end)..U:
                                                        vector w in max(0, a - 16*v)..min(16, ...)

with ``first = ceil(a / 16)`` and ``end = floor(b / 16)``. Iterations before ``first`` belong to the
first part, later ones before ``end`` to the second part, the rest to the third. Each iteration runs
once and in order, for any values of ``first`` and ``end``.

:mod:`polysched.loops.full_tiles` finds the inequalities at which a loop is cut. In each part,
conditions and bounds are simplified by the facts that hold there
(:mod:`polysched.loops.analysis.facts`). The first and the last part are cut further if vectors can
still be full there, but only the middle part of these: the number of copies of a body grows with
the square of the number of loops around it, and not exponentially.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_

from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Operation
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import Intervals, LinearForm
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import walk as walk_expression
from polysched.loops.analysis.conditions import as_condition
from polysched.loops.analysis.facts import Facts
from polysched.loops.full_tiles import (
    Scope,
    coefficient_of,
    decided_at,
    strongest,
    whole_extent,
    without,
)
from polysched.loops.ir.nodes import (
    Assign,
    Block,
    For,
    If,
    LoopNode,
    block,
    map_children,
    walk,
    with_value,
)

_ENDS = 1
"""Nesting depth of first and last parts that are cut further."""

_TILE_ENDS = 2
"""The same around instructions on tiles.

The rows, lanes and terms of a tile may all be partial, and only literal numbers of them are another
shape of the tile.
"""

_MOST_ASSIGNMENTS = 500
"""Above this number of assignments, first and last parts are not cut further.

The library's products have at most 20 (measured: seven shapes, three layouts, one and two threads).
"""


def separate_tiles(node: LoopNode, known: Intervals) -> LoopNode:
    """Cut loops so that full vectors run without masks; iterations and their order stay the same.

    A parallel loop is not cut, because the threads would wait between its parts: its body becomes a
    choice between two versions.

    Args:
        node: loops before unrolled loops are expanded.
        known: intervals of the parameters.
    """
    scope = Scope(Facts(known))
    has_tiles = any(
        isinstance(part, For) and part.instruction is not None and part.instruction.is_tile
        for part in walk(node)
    )
    separated = _separated(node, scope, _TILE_ENDS if has_tiles else _ENDS)
    if sum(isinstance(part, Assign) for part in walk(separated)) > _MOST_ASSIGNMENTS:
        separated = _separated(node, scope, 0)
    return separated


def simplified_where(node: LoopNode, known: Intervals, condition: Expression) -> LoopNode:
    """Simplify loops that run only where a condition on the parameters holds."""
    return _separated(node, Scope(Facts(known)).where(condition), -1)


def _separated(node: LoopNode, scope: Scope, ends: int) -> LoopNode:
    """Separate the loops of a node; if ``ends`` is negative, only simplify them."""
    match node:
        case If():
            return _chosen(node, scope, ends)
        case For():
            if not scope.loops and ends > 0:
                claims = strongest(decided_at(None, node, scope, frozenset()))
                if claims:
                    return _versions(node, claims, scope, ends)
            facts = scope.facts
            node = _between(node, facts.end(node.lower), facts.end(node.upper))
            if _is_empty(node, scope):
                return Block(())
            if node.kind.is_loop_in_code:
                return _cut(node, scope, ends)
            forms = whole_extent(node)
            if forms is not None and all(map(facts.holds, forms)):
                first, last = node.bounds
                assert first is not None
                assert last is not None
                node = _between(node, Constant(first), Constant(last + 1))
            return _with_body(node, _separated(node.body, scope.inside(node), ends))
    return map_children(node, lambda child: _separated(child, scope, ends))


def _versions(node: For, forms: tuple[LinearForm, ...], scope: Scope, ends: int) -> LoopNode:
    """A nest in two versions: one where the forms, over parameters, are at most 0, and the rest."""
    condition = reduce(and_, map(as_condition, forms))
    whole = _separated(node, scope.where(condition), ends)
    return If(condition, whole, _separated(node, scope.where(~condition), ends - 1))


def _chosen(node: If, scope: Scope, ends: int) -> LoopNode:
    condition = scope.facts.decide(node.condition)
    otherwise = Block(()) if node.otherwise is None else node.otherwise
    if isinstance(condition, Constant):
        return _separated(node.then if condition.value else otherwise, scope, ends)
    then = _separated(node.then, scope.where(condition), ends)
    otherwise = _separated(otherwise, scope.where(~condition), ends)
    if then == Block(()) == otherwise:
        return then
    return replace(
        node,
        condition=condition,
        then=then,
        otherwise=None if otherwise == Block(()) else otherwise,
    )


def _with_body(loop: For, body: LoopNode) -> LoopNode:
    """Replace the body of a loop; the result is empty if the body is."""
    if body is loop.body:
        return loop
    return body if body == Block(()) else replace(loop, body=body)


def _between(loop: For, lower: Expression, upper: Expression) -> For:
    """Replace the bounds of a loop; the result is the same object if the bounds are equal."""
    if linear_form(lower, {}) == linear_form(loop.lower, {}):
        lower = loop.lower
    if linear_form(upper, {}) == linear_form(loop.upper, {}):
        upper = loop.upper
    if lower is loop.lower and upper is loop.upper:
        return loop
    return replace(loop, lower=lower, upper=upper)


def _cut(
    loop: For, scope: Scope, ends: int, tried: frozenset[LinearForm] = frozenset()
) -> LoopNode:
    """Cut a loop that is a loop in the code.

    Args:
        tried: forms by which the loop has been cut already, and that are undecided in this part.
    """
    inner = scope.inside(loop)
    forms = () if ends < 0 else tuple(decided_at(loop, loop.body, inner, tried))
    if not forms:
        return _with_body(loop, _separated(loop.body, inner, ends))
    forms = strongest(forms)
    if loop.kind is LoopKind.PARALLEL:
        condition = reduce(and_, map(as_condition, forms))
        return replace(loop, body=_chosen(If(condition, loop.body, loop.body), inner, ends))
    parts = []
    for position, ends_of_part in enumerate(_ranges(loop, forms)):
        if ends_of_part is None:
            continue
        lower, upper = map(scope.facts.end, ends_of_part)
        part = replace(loop, lower=lower, upper=upper)
        if _is_empty(part, scope):
            continue
        is_single = _is_single(part, scope)
        remaining = ends if position == 1 else ends - 1
        branch = _as_branch(part, scope, remaining) if is_single else None
        if branch is not None:
            parts.append(branch)
        elif position == 1 or is_single:
            inner = scope.inside(part)
            if position == 1:
                inner = replace(inner, facts=inner.facts.with_forms(forms))
            body = _separated(part.body, inner, remaining)
            parts.append(_with_body(part, body))
        else:
            parts.append(_cut(part, scope, remaining, tried.union(forms)))
    return block(parts)


def _is_empty(loop: For, scope: Scope) -> bool:
    """Whether a loop provably has no iteration."""
    length = linear_form(loop.upper, {}).plus(linear_form(loop.lower, {}), -1)
    return scope.facts.holds(length)


def _is_single(loop: For, scope: Scope) -> bool:
    """Whether a loop provably has at most one iteration."""
    length = linear_form(loop.upper, {}).plus(linear_form(loop.lower, {}), -1)
    return loop.step == 1 and scope.facts.holds(length.plus(-1))


def _as_branch(loop: For, scope: Scope, ends: int) -> LoopNode | None:
    """Replace a loop of at most one iteration by a branch; None if it should stay a loop.

    A loop of exactly one iteration stays a loop: it keeps the copies of its body apart from those
    of other parts, so that a tile of copies that is transposed in registers can be recognized. A
    bound that is a minimum or a maximum keeps its variable, because its value may be used often.
    """
    if loop.prefetches or loop.instruction is not None:
        return None
    extrema = (Operator.MINIMUM, Operator.MAXIMUM)
    for part in walk_expression(loop.lower):
        if isinstance(part, Operation) and part.operator in extrema:
            return None
    condition = loop.lower < loop.upper
    if isinstance(scope.facts.decide(condition), Constant):
        return None
    body = with_value(loop.body, loop.variable, loop.lower, scope.facts.known)
    return _chosen(If(condition, body), scope, ends)


def _ranges(
    loop: For, forms: tuple[LinearForm, ...]
) -> tuple[tuple[Expression, Expression] | None, ...]:
    """The bounds of the three parts; all forms are at most 0 exactly in the middle part."""
    starts, stops = [], []
    for form in forms:
        coefficient, rest = coefficient_of(form, loop), without(form, loop).times(-1).expression()
        # coefficient * v <= rest
        if coefficient < 0:
            starts.append(-(rest // -coefficient))
        else:
            stops.append(rest // coefficient + 1)
    lower, upper = loop.lower, loop.upper
    first = reduce(maximum, starts) if starts else None
    stop = reduce(minimum, stops) if stops else None
    middle = lower if first is None else _aligned(loop, maximum(lower, first))
    return (
        None if first is None else (lower, minimum(upper, first)),
        (middle, upper if stop is None else minimum(upper, stop)),
        None if stop is None else (_aligned(loop, maximum(middle, stop)), upper),
    )


def _aligned(loop: For, least: Expression) -> Expression:
    """The first value of a loop's variable that is at least ``least``.

    ``least`` must not be below the loop's first value.
    """
    if loop.step == 1:
        return least
    return loop.lower + loop.step * ((least - loop.lower + loop.step - 1) // loop.step)
