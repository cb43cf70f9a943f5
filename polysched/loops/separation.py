"""Separate full tiles from partial tiles: cut loops so that vectors in the middle part are full.

Every way to loops ends here: loops by intervals and loops by isl are generated with full and
partial tiles together, and cut afterwards (index-set splitting; Griebl, Feautrier, Lengauer: "Index
set splitting", IJPP 2000)::

    for v in L..U:                                    for v in L..min(U, first):
      vector w in max(0, a - 16*v)..min(16, b - 16*v)   vector w in max(0, a - 16*v)..min(16, ...)
                                                      for v in max(L, first)..min(U, end):
                                                 ->     vector w in 0..16
                                                      for v in max(L, first, end)..U:
                                                        vector w in max(0, a - 16*v)..min(16, ...)

with ``first = ceil(a / 16)`` and ``end = floor(b / 16)``. An iteration before ``first`` belongs to
the first part, any other before ``end`` to the second, the rest to the third: whatever the values
are, each runs once, and in order.

*Fixed* loops are vector and unrolled ones, of which every iteration is written out. What keeps one
from its whole extent is a conjunction of ``form <= 0`` over the loops around it; each of these is
*decided* at the innermost loop that is a loop in code and occurs in it. In each part, conditions
and bounds are simplified by what holds there (:mod:`polysched.loops.analysis.facts`). The first and
the last part are cut further where fixed loops can still be full there, but in those only the
middle: the number of copies of a body grows with the square of the number of loops around it, not
exponentially.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Index, Operation, Parameter
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.linear import Intervals, LinearForm, linear_form
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads
from polysched.ir.expr.traversal import walk as walk_expression
from polysched.loops.analysis.conditions import not_positive
from polysched.loops.analysis.facts import Facts, conjuncts
from polysched.loops.ir.nodes import (
    Assign,
    Block,
    For,
    If,
    LoopNode,
    block,
    children,
    map_children,
    walk,
    with_value,
)

_ENDS = 1
"""How many first and last parts inside each other are cut further."""

_MOST_ASSIGNMENTS = 500
"""Above this number of assignments, first and last parts are not cut further.

The largest schedule of the library, a product with two packed operands on threads, has 80.
"""


@dataclass(frozen=True, eq=False)
class _Place:
    """The loops around a place, the outermost first, and what holds there."""

    facts: Facts
    loops: tuple[For, ...] = ()

    def inside(self, loop: For) -> _Place:
        """In the body of a loop."""
        return _Place(self.facts.inside(loop), (*self.loops, loop))

    def where(self, condition: Expression) -> _Place:
        """Where a condition holds."""
        return replace(self, facts=self.facts.where(condition))


@dataclass(frozen=True, eq=False)
class _Decided:
    """``form <= 0``, of which ``loop`` is the innermost loop in code that occurs in it.

    ``loop`` is None if no loop occurs in the form, but parameters only.
    """

    form: LinearForm
    loop: For | None


def separate_tiles(node: LoopNode, known: Intervals) -> LoopNode:
    """The same iterations in the same order, with full vectors apart where a loop can tell them.

    A parallel loop stays one loop, for its parts would wait for each other: it chooses between two
    bodies.

    Args:
        node: loops before unrolled ones are written out.
        known: intervals of the parameters.
    """
    place = _Place(Facts(known))
    made = _separated(node, place, _ENDS)
    if sum(isinstance(one, Assign) for one in walk(made)) > _MOST_ASSIGNMENTS:
        made = _separated(node, place, 0)
    return made


def _separated(node: LoopNode, place: _Place, ends: int) -> LoopNode:
    """The loops at a place; if ``ends`` is less than 0, they are simplified only."""
    match node:
        case If():
            return _chosen(node, place, ends)
        case For():
            if not place.loops and ends > 0:
                claims = _strongest(_decided_at(None, node, place, frozenset()))
                if claims:
                    return _versions(node, claims, place, ends)
            facts = place.facts
            node = _between(node, facts.end(node.lower), facts.end(node.upper))
            if _is_empty(node, place):
                return Block(())
            if node.kind.is_loop_in_code:
                return _cut(node, place, ends)
            forms = _whole_extent(node)
            if forms is not None and all(map(facts.holds, forms)):
                first, last = node.bounds
                assert first is not None
                assert last is not None
                node = _between(node, Constant(first), Constant(last + 1))
            return _with_body(node, _separated(node.body, place.inside(node), ends))
    return map_children(node, lambda child: _separated(child, place, ends))


def _versions(node: For, forms: tuple[LinearForm, ...], place: _Place, ends: int) -> LoopNode:
    """A nest in two versions: one where forms of parameters are at most 0, one for the rest."""
    condition = reduce(and_, (form.expression() <= 0 for form in forms))
    whole = _separated(node, place.where(condition), ends)
    return If(condition, whole, _separated(node, place, ends - 1))


def _chosen(node: If, place: _Place, ends: int) -> LoopNode:
    condition = place.facts.decide(node.condition)
    otherwise = Block(()) if node.otherwise is None else node.otherwise
    if isinstance(condition, Constant):
        return _separated(node.then if condition.value else otherwise, place, ends)
    then = _separated(node.then, place.where(condition), ends)
    otherwise = _separated(otherwise, place.where(~condition), ends)
    if then == Block(()) == otherwise:
        return then
    return replace(
        node,
        condition=condition,
        then=then,
        otherwise=None if otherwise == Block(()) else otherwise,
    )


def _with_body(loop: For, body: LoopNode) -> LoopNode:
    """A loop with another body; nothing if nothing is in the body."""
    if body is loop.body:
        return loop
    return body if body == Block(()) else replace(loop, body=body)


def _between(loop: For, lower: Expression, upper: Expression) -> For:
    """A loop with other bounds; the same object if they are the same."""
    if linear_form(lower, {}) == linear_form(loop.lower, {}):
        lower = loop.lower
    if linear_form(upper, {}) == linear_form(loop.upper, {}):
        upper = loop.upper
    if lower is loop.lower and upper is loop.upper:
        return loop
    return replace(loop, lower=lower, upper=upper)


def _cut(
    loop: For, place: _Place, ends: int, tried: frozenset[LinearForm] = frozenset()
) -> LoopNode:
    """A loop in code, in parts.

    Args:
        tried: forms by which the loop is cut already, of which it is not known whether they hold.
    """
    inner = place.inside(loop)
    forms = () if ends < 0 else tuple(_decided_at(loop, loop.body, inner, tried))
    if not forms:
        return _with_body(loop, _separated(loop.body, inner, ends))
    forms = _strongest(forms)
    if loop.kind is LoopKind.PARALLEL:
        condition = reduce(and_, (form.expression() <= 0 for form in forms))
        return replace(loop, body=_chosen(If(condition, loop.body, loop.body), inner, ends))
    parts = []
    for position, ends_of_part in enumerate(_ranges(loop, forms)):
        if ends_of_part is None:
            continue
        lower, upper = map(place.facts.end, ends_of_part)
        part = replace(loop, lower=lower, upper=upper)
        if _is_empty(part, place):
            continue
        is_single = _is_single(part, place)
        remaining = ends if position == 1 else ends - 1
        branch = _as_branch(part, place, remaining) if is_single else None
        if branch is not None:
            parts.append(branch)
        elif position == 1 or is_single:
            inner = place.inside(part)
            if position == 1:
                inner = replace(inner, facts=inner.facts.with_forms(forms))
            body = _separated(part.body, inner, remaining)
            parts.append(_with_body(part, body))
        else:
            parts.append(_cut(part, place, remaining, tried.union(forms)))
    return block(parts)


def _is_empty(loop: For, place: _Place) -> bool:
    """Whether a loop provably has no iteration."""
    length = linear_form(loop.upper, {}).plus(linear_form(loop.lower, {}), -1)
    return place.facts.holds(length)


def _is_single(loop: For, place: _Place) -> bool:
    """Whether a loop provably has at most one iteration."""
    length = linear_form(loop.upper, {}).plus(linear_form(loop.lower, {}), -1)
    return loop.step == 1 and place.facts.holds(length.plus(LinearForm((), 1), -1))


def _as_branch(loop: For, place: _Place, ends: int) -> LoopNode | None:
    """A loop of at most one iteration as a branch; None if the loop is to stay.

    A loop of exactly one iteration stays a loop: otherwise copies of its body would run beside
    those of other parts, and no tile of copies that is transposed in registers could be told from
    the others. A bound that is a minimum or maximum stays one variable: it may be used often.
    """
    if loop.prefetches or loop.instruction is not None:
        return None
    for one in walk_expression(loop.lower):
        if isinstance(one, Operation) and one.operator in (Operator.MINIMUM, Operator.MAXIMUM):
            return None
    condition = loop.lower < loop.upper
    if isinstance(place.facts.decide(condition), Constant):
        return None
    body = with_value(loop.body, loop.variable, loop.lower, place.facts.known)
    return _chosen(If(condition, body), place, ends)


def _decided_at(
    loop: For | None, node: LoopNode, place: _Place, tried: frozenset[LinearForm]
) -> Iterator[LinearForm]:
    """What ``loop`` decides of the fixed loops and masks below, if all holds that loops around it
    decide, and the rest can be decided by those inside.

    ``loop`` is None for what parameters decide; ``tried`` are forms that are not decided again.
    """
    if isinstance(node, For | If):
        decided = _decided(node, place) or ()
        around: tuple[For | None, ...] = ()
        if loop is not None:
            around = (None, *place.loops[: place.loops.index(loop)])
        if not any(one.loop in around or one.form in tried for one in decided):
            yield from (one.form for one in decided if one.loop is loop)
    match node:
        case For():
            yield from _decided_at(loop, node.body, place.inside(node), tried)
        case If(then=then, otherwise=otherwise):
            yield from _decided_at(loop, then, place.where(node.condition), tried)
            if otherwise is not None:
                yield from _decided_at(loop, otherwise, place.where(~node.condition), tried)
        case _:
            for child in children(node):
                yield from _decided_at(loop, child, place, tried)


def _decided(node: For | If, place: _Place) -> tuple[_Decided, ...] | None:
    """What must hold for a fixed loop to run its whole extent, or for a mask to hold throughout,
    and is not known.

    None: it is neither, it never does, or no loop can tell.
    """
    forms = _whole_extent(node) if isinstance(node, For) else _mask(node, place)
    if forms is None:
        return None
    found = []
    for form in forms:
        if place.facts.holds(form):
            continue
        decided = _innermost(form, place)
        if decided is None or place.facts.fails(decided.form):
            return None
        found.append(decided)
    return tuple(found)


def _whole_extent(loop: For) -> list[LinearForm] | None:
    """Forms that are all at most 0 where a fixed loop runs its whole extent."""
    first, last = loop.bounds
    if loop.kind.is_loop_in_code or loop.step != 1 or first is None or last is None:
        return None
    start = linear_form(loop.lower, {}).plus(LinearForm((), first), -1)
    end = LinearForm((), last + 1).plus(linear_form(loop.upper, {}), -1)
    return [*not_positive(start), *not_positive(end)]


def _mask(node: If, place: _Place) -> list[LinearForm] | None:
    """Forms that are all at most 0 where the condition of copies or lanes holds.

    A condition inside a loop in code is left to that loop; it costs little.
    """
    if node.otherwise is not None or not place.loops or place.loops[-1].kind.is_loop_in_code:
        return None
    forms: list[LinearForm] = []
    for condition in conjuncts(node.condition):
        match condition:
            case Operation(operator=Operator.LESS, operands=(left, right)):
                forms += not_positive(linear_form(left - right + 1, {}))
            case Operation(operator=Operator.LESS_EQUAL, operands=(left, right)):
                forms += not_positive(linear_form(left - right, {}))
            case _:
                return None
    return forms


def _innermost(form: LinearForm, place: _Place) -> _Decided | None:
    """The form at the innermost loop in code that occurs in it, for all copies and lanes there.

    None: only a floor or an extremum has that loop, or a copy or lane without bounds.
    """
    rest = [atom for atom, _ in form.terms if not isinstance(atom, Index | Parameter)]
    if any(loads(atom) for atom in rest):
        return None
    hidden = {
        node.name for atom in rest for node in walk_expression(atom) if isinstance(node, Index)
    }
    for loop in reversed(place.loops):
        coefficient = _coefficient(form, loop)
        if loop.variable in hidden:
            return None
        if loop.kind.is_loop_in_code:
            if coefficient:
                return _Decided(form, loop)
        elif coefficient:
            worst = place.facts.known[loop.variable][coefficient > 0]
            if worst is None:
                return None
            form = _without(form, loop).plus(LinearForm((), coefficient * worst))
    return _Decided(form, None)


def _coefficient(form: LinearForm, loop: For) -> int:
    return dict(form.terms).get(Index(loop.variable), 0)


def _without(form: LinearForm, loop: For) -> LinearForm:
    return form.plus(LinearForm(((Index(loop.variable), 1),), 0), -_coefficient(form, loop))


def _strongest(forms: Iterable[LinearForm]) -> tuple[LinearForm, ...]:
    """The forms without those that another one, greater by a literal, implies; in a fixed order."""
    strongest: dict[frozenset[tuple[Expression, int]], LinearForm] = {}
    for form in forms:
        key = frozenset(form.terms)
        if key not in strongest or form.constant > strongest[key].constant:
            strongest[key] = form
    return tuple(strongest.values())


def _ranges(
    loop: For, forms: tuple[LinearForm, ...]
) -> tuple[tuple[Expression, Expression] | None, ...]:
    """The ends of the three parts; in the middle one, and there only, all forms are at most 0."""
    starts, stops = [], []
    for form in forms:
        coefficient, rest = _coefficient(form, loop), _without(form, loop).times(-1).expression()
        # coefficient * v <= rest
        if coefficient < 0:
            starts.append(-(rest // -coefficient))
        else:
            stops.append(rest // coefficient + 1)
    lower, upper = loop.lower, loop.upper
    first = reduce(maximum, starts) if starts else None
    stop = reduce(minimum, stops) if stops else None
    begun = lower if first is None else _aligned(loop, maximum(lower, first))
    return (
        None if first is None else (lower, minimum(upper, first)),
        (begun, upper if stop is None else minimum(upper, stop)),
        None if stop is None else (_aligned(loop, maximum(begun, stop)), upper),
    )


def _aligned(loop: For, least: Expression) -> Expression:
    """The first value of a loop's variable that is at least ``least``, which its first one is not
    above.
    """
    if loop.step == 1:
        return least
    return loop.lower + loop.step * ((least - loop.lower + loop.step - 1) // loop.step)
