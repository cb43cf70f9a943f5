"""Full tiles: the conditions under which vectors and unrolled loops run their whole extent.

A *fixed* loop is a vector loop or an unrolled loop: all its iterations are written out. A fixed
loop runs its whole extent where a conjunction of inequalities ``form <= 0`` over the loops around
it holds. Each inequality is *decided* at the innermost loop in the code whose variable occurs in
it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from polysched.ir.expr.expressions import Expression, Index, Operation, Parameter
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import LinearForm
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import index_names, loads
from polysched.loops.analysis.conditions import not_positive
from polysched.loops.analysis.facts import Facts, conjuncts
from polysched.loops.ir.nodes import For, If, LoopNode, children


@dataclass(frozen=True, eq=False)
class Scope:
    """The facts that hold inside some loops, and these loops, the outermost first.

    The scopes inside and the answers of :func:`_decided` are kept: each loop around asks again for
    those of the nodes below it.
    """

    facts: Facts
    loops: tuple[For, ...] = ()
    _inside: dict[int, tuple[For, Scope]] = field(default_factory=dict, init=False)
    """By the identity of a loop: the loop, which is kept alive, and the scope in its body."""
    _where: dict[Expression, Scope] = field(default_factory=dict, init=False)
    _claims: dict[int, tuple[For | If, tuple[_Decided, ...] | None]] = field(
        default_factory=dict, init=False
    )
    """By the identity of a node: the node, which is kept alive, and what decides it."""

    def inside(self, loop: For) -> Scope:
        """The scope in the body of a loop."""
        if id(loop) not in self._inside:
            self._inside[id(loop)] = loop, Scope(self.facts.inside(loop), (*self.loops, loop))
        return self._inside[id(loop)][1]

    def where(self, condition: Expression) -> Scope:
        """The scope where a condition holds."""
        if condition not in self._where:
            self._where[condition] = replace(self, facts=self.facts.where(condition))
        return self._where[condition]

    def decided(self, node: For | If) -> tuple[_Decided, ...] | None:
        """The inequalities of :func:`_decided`, computed once."""
        if id(node) not in self._claims:
            self._claims[id(node)] = node, _decided(node, self)
        return self._claims[id(node)][1]


@dataclass(frozen=True, eq=False)
class _Decided:
    """The inequality ``form <= 0`` and the innermost loop in the code whose variable occurs in it.

    ``loop`` is None if only parameters occur in the form.
    """

    form: LinearForm
    loop: For | None


def decided_at(
    loop: For | None, node: LoopNode, scope: Scope, tried: frozenset[LinearForm]
) -> Iterator[LinearForm]:
    """The forms that ``loop`` decides for the fixed loops and masks below a node.

    A fixed loop is left out if a loop around ``loop``, or a form in ``tried``, keeps it partial.

    Args:
        loop: a loop around the node; None for the forms over parameters only.
        tried: forms by which the loop has been cut already.
    """
    if isinstance(node, For | If):
        decided = scope.decided(node) or ()
        around: tuple[For | None, ...] = ()
        if loop is not None:
            around = (None, *scope.loops[: scope.loops.index(loop)])
        if not any(claim.loop in around or claim.form in tried for claim in decided):
            yield from (claim.form for claim in decided if claim.loop is loop)
    match node:
        case For():
            yield from decided_at(loop, node.body, scope.inside(node), tried)
        case If(then=then, otherwise=otherwise):
            yield from decided_at(loop, then, scope.where(node.condition), tried)
            if otherwise is not None:
                yield from decided_at(loop, otherwise, scope.where(~node.condition), tried)
        case _:
            for child in children(node):
                yield from decided_at(loop, child, scope, tried)


def _decided(node: For | If, scope: Scope) -> tuple[_Decided, ...] | None:
    """The unknown inequalities under which a fixed loop is full or a mask is true in all lanes.

    Returns:
        None if the node is neither a fixed loop nor a mask, if it is never full, or if an
        inequality is not decided by any loop.
    """
    forms = whole_extent(node) if isinstance(node, For) else _mask(node, scope)
    if forms is None:
        return None
    unknown = []
    for form in forms:
        if scope.facts.holds(form):
            continue
        decided = _innermost(form, scope)
        if decided is None or scope.facts.fails(decided.form):
            return None
        unknown.append(decided)
    return tuple(unknown)


def whole_extent(loop: For) -> list[LinearForm] | None:
    """Forms that are all at most 0 if and only if a fixed loop runs its whole extent."""
    first, last = loop.bounds
    if loop.kind.is_loop_in_code or loop.step != 1 or first is None or last is None:
        return None
    start = linear_form(loop.lower, {}).plus(-first)
    end = linear_form(loop.upper, {}).times(-1).plus(last + 1)
    return [*not_positive(start), *not_positive(end)]


def _mask(node: If, scope: Scope) -> list[LinearForm] | None:
    """Forms that are all at most 0 if and only if the condition of copies or lanes holds.

    A condition directly inside a loop in the code stays there: a branch per iteration is cheap.
    """
    if node.otherwise is not None or not scope.loops or scope.loops[-1].kind.is_loop_in_code:
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


def _innermost(form: LinearForm, scope: Scope) -> _Decided | None:
    """Bound a form over all copies and lanes, and find the innermost loop that decides it.

    Returns:
        None if the loop's variable occurs inside a floor or an extremum, or if the variable of a
        copy or lane is unbounded.
    """
    inner = [atom for atom, _ in form.terms if not isinstance(atom, Index | Parameter)]
    if any(loads(atom) for atom in inner):
        return None
    hidden = {*index_names(*inner)}
    for loop in reversed(scope.loops):
        coefficient = coefficient_of(form, loop)
        if loop.variable in hidden:
            return None
        if loop.kind.is_loop_in_code:
            if coefficient:
                return _Decided(form, loop)
        elif coefficient:
            worst = scope.facts.known[loop.variable][coefficient > 0]
            if worst is None:
                return None
            form = without(form, loop).plus(coefficient * worst)
    return _Decided(form, None)


def coefficient_of(form: LinearForm, loop: For) -> int:
    """The coefficient of a loop's variable in a form."""
    return dict(form.terms).get(Index(loop.variable), 0)


def without(form: LinearForm, loop: For) -> LinearForm:
    """The form without the term of a loop's variable."""
    return form.plus(LinearForm(((Index(loop.variable), 1),), 0), -coefficient_of(form, loop))


def strongest(forms: Iterable[LinearForm]) -> tuple[LinearForm, ...]:
    """Keep, of forms that differ by a literal only, the greatest one; in the order of the forms."""
    found: dict[frozenset[tuple[Expression, int]], LinearForm] = {}
    for form in forms:
        key = frozenset(form.terms)
        if key not in found or form.constant > found[key].constant:
            found[key] = form
    return tuple(found.values())
