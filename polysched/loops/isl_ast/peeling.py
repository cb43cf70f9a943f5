"""Cutting loops in at most three, so that vectors in the middle one are full by construction.

isl isolates full tiles while it generates loops (:mod:`polysched.loops.isl_ast.separation`), but
for skewed tiles of parametric size it does not come to an end. There the loops are generated
together and cut afterwards (index-set splitting; Griebl, Feautrier, Lengauer: "Index set
splitting", IJPP 2000)::

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
*decided* at the innermost loop that is a loop in code and occurs in it. The first and the last part
are cut further where fixed loops can still be full there, but in those only the middle: the number
of copies of a body grows with the square of the number of loops around it, not exponentially.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Index, Operation, Parameter
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.linear import (
    Intervals,
    LinearForm,
    intersection,
    interval,
    linear_form,
    simplify,
)
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads
from polysched.ir.expr.traversal import walk as walk_expression
from polysched.loops.analysis.conditions import not_positive
from polysched.loops.ir.nodes import (
    For,
    If,
    LoopNode,
    block,
    children,
    map_children,
    variable_interval,
)

_ENDS = 1
"""How many first and last parts inside each other are cut further."""


@dataclass(frozen=True, eq=False)
class _Place:
    """The loops around a place, the outermost first, and intervals of variables and parameters."""

    known: Intervals
    loops: tuple[For, ...] = ()

    def inside(self, loop: For) -> _Place:
        """In the body of a loop."""
        reached = variable_interval(loop.lower, loop.upper, self.known)
        if not loop.kind.is_loop_in_code:
            reached = intersection(reached, loop.bounds)
        return _Place({**self.known, loop.variable: reached}, (*self.loops, loop))


@dataclass(frozen=True, eq=False)
class _Decided:
    """``form <= 0``, of which ``loop`` is the innermost loop in code that occurs in it."""

    form: LinearForm
    loop: For


def peel(node: LoopNode, known: Intervals) -> LoopNode:
    """The same iterations in the same order, with full vectors apart where a loop can tell them.

    A parallel loop stays one loop, for its parts would wait for each other: it chooses between two
    bodies.

    Args:
        node: loops before unrolled ones are written out.
        known: intervals of the parameters.
    """
    return _peeled(node, _Place(known), frozenset(), _ENDS)


def _peeled(node: LoopNode, place: _Place, holding: frozenset[LinearForm], ends: int) -> LoopNode:
    """``node`` where all forms ``holding`` are known to be at most 0.

    ``ends`` says how many first and last parts inside each other may be cut further.
    """
    if isinstance(node, For) and node.kind.is_loop_in_code:
        return _cut(node, place, holding, ends)
    if isinstance(node, For | If) and _holds(node, place, holding):
        if isinstance(node, If):
            return _peeled(node.then, place, holding, ends)
        first, last = node.bounds
        assert first is not None
        assert last is not None
        whole = replace(node, lower=Constant(first), upper=Constant(last + 1))
        return replace(whole, body=_peeled(node.body, place.inside(node), holding, ends))
    inner = place.inside(node) if isinstance(node, For) else place
    return map_children(node, lambda child: _peeled(child, inner, holding, ends))


def _holds(node: For | If, place: _Place, holding: frozenset[LinearForm]) -> bool:
    decided = _decided(node, place)
    return decided is not None and all(one.form in holding for one in decided)


def _cut(loop: For, place: _Place, holding: frozenset[LinearForm], ends: int) -> LoopNode:
    inner = place.inside(loop)
    forms = frozenset(_decided_at(loop, loop.body, inner, holding)) - holding
    middle = _peeled(loop.body, inner, holding | forms, ends)
    if not forms:
        return replace(loop, body=middle)
    outside = _peeled(loop.body, inner, holding, ends - 1) if ends else loop.body
    if loop.kind is LoopKind.PARALLEL:
        conditions = [form.expression() <= 0 for form in _strongest(forms)]
        return replace(loop, body=If(reduce(and_, conditions), middle, outside))
    ranges = _ranges(loop, _strongest(forms), place.known)
    if ranges[1] is None:
        return replace(loop, body=_peeled(loop.body, inner, holding, ends))
    bodies = (outside, middle, outside)
    return block(
        [
            replace(loop, lower=part[0], upper=part[1], body=body)
            for part, body in zip(ranges, bodies, strict=True)
            if part is not None
        ]
    )


def _decided_at(
    loop: For, node: LoopNode, place: _Place, holding: frozenset[LinearForm]
) -> Iterator[LinearForm]:
    """What ``loop`` decides of the fixed loops and masks below, if all holds that loops around it
    decide, and the rest can be decided by those inside.
    """
    if isinstance(node, For | If):
        decided = _decided(node, place) or ()
        around = place.loops[: place.loops.index(loop)]
        if all(one.form in holding for one in decided if one.loop in around):
            yield from (one.form for one in decided if one.loop is loop)
    inner = place.inside(node) if isinstance(node, For) else place
    for child in children(node):
        yield from _decided_at(loop, child, inner, holding)


def _decided(node: For | If, place: _Place) -> tuple[_Decided, ...] | None:
    """What must hold for a fixed loop to run its whole extent, or for a mask to hold throughout.

    None: it is neither, it never does, or no loop can tell.
    """
    forms = _whole_extent(node) if isinstance(node, For) else _mask(node, place)
    if forms is None:
        return None
    found = []
    for form in forms:
        low, high = interval(form, place.known)
        if high is not None and high <= 0:
            continue
        decided = None if low is not None and low > 0 else _innermost(form, place)
        if decided is None:
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
    for condition in _conjuncts(node.condition):
        match condition:
            case Operation(operator=Operator.LESS, operands=(left, right)):
                forms += not_positive(linear_form(left - right + 1, {}))
            case Operation(operator=Operator.LESS_EQUAL, operands=(left, right)):
                forms += not_positive(linear_form(left - right, {}))
            case _:
                return None
    return forms


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    match condition:
        case Operation(operator=Operator.AND, operands=operands):
            for operand in operands:
                yield from _conjuncts(operand)
        case _:
            yield condition


def _innermost(form: LinearForm, place: _Place) -> _Decided | None:
    """The form at the innermost loop in code that occurs in it, for all copies and lanes there.

    None: only a floor or an extremum has that loop, or there is none.
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
            worst = place.known[loop.variable][coefficient > 0]
            if worst is None:
                return None
            form = _without(form, loop).plus(LinearForm((), coefficient * worst))
    return None


def _coefficient(form: LinearForm, loop: For) -> int:
    return dict(form.terms).get(Index(loop.variable), 0)


def _without(form: LinearForm, loop: For) -> LinearForm:
    return form.plus(LinearForm(((Index(loop.variable), 1),), 0), -_coefficient(form, loop))


def _strongest(forms: Iterable[LinearForm]) -> list[LinearForm]:
    """The forms without those that another one, greater by a literal, implies; in a fixed order."""
    constants: dict[tuple[tuple[Expression, int], ...], int] = {}
    for form in sorted(forms, key=lambda form: (str(form.expression()), form.constant)):
        constants[form.terms] = max(form.constant, constants.get(form.terms, form.constant))
    return [LinearForm(terms, constant) for terms, constant in constants.items()]


def _ranges(
    loop: For, forms: list[LinearForm], known: Intervals
) -> tuple[tuple[Expression, Expression] | None, ...]:
    """The ends of the three parts; None for one that provably is empty.

    In the middle part, and there only, all ``forms`` are at most 0.
    """
    starts, ends = [], []
    for form in forms:
        coefficient, rest = _coefficient(form, loop), _without(form, loop).times(-1).expression()
        # coefficient * v <= rest
        if coefficient < 0:
            starts.append(-(rest // -coefficient))
        else:
            ends.append(rest // coefficient + 1)
    lower, upper = loop.lower, loop.upper
    first = reduce(maximum, starts) if starts else None
    end = reduce(minimum, ends) if ends else None
    begun = lower if first is None else _aligned(loop, maximum(lower, first))
    parts = (
        None if first is None else (lower, minimum(upper, first)),
        (begun, upper if end is None else minimum(upper, end)),
        None if end is None else (_aligned(loop, maximum(begun, end)), upper),
    )
    return tuple(None if part is None else _unless_empty(part, known) for part in parts)


def _aligned(loop: For, least: Expression) -> Expression:
    """The first value of a loop's variable that is at least ``least``, which its first one is not
    above.
    """
    if loop.step == 1:
        return least
    return loop.lower + loop.step * ((least - loop.lower + loop.step - 1) // loop.step)


def _unless_empty(
    ends: tuple[Expression, Expression], known: Intervals
) -> tuple[Expression, Expression] | None:
    lower, upper = (simplify(end, known) for end in ends)
    _, most = interval(linear_form(upper, known).plus(linear_form(lower, known), -1), known)
    return None if most is not None and most <= 0 else (lower, upper)
