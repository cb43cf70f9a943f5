"""Affine facts that hold at a point of the loops, and decisions by them, without isl.

A fact is a linear form that is at most 0. Facts come from the bounds of the loops around and from
the conditions around. A claim follows if a combination of facts with positive factors cancels the
terms whose intervals are too wide (Fourier-Motzkin elimination, guided by the claim).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, reduce
from math import gcd

from polysched.ir.expr.expressions import Constant, Expression, Index, Operation, Parameter
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.linear import intersection, interval, linear_form, simplify
from polysched.ir.expr.linear_form import UNBOUNDED, Interval, Intervals, LinearForm
from polysched.ir.expr.operators import Operator
from polysched.loops.analysis.conditions import not_positive, reduced
from polysched.loops.ir.nodes import For, variable_interval

_CHAIN = 3
"""The most facts that are combined for one claim.

Tiles of triangular nests in the gallery need two: the bound of the tile and the bound of its block.
"""


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts that hold at a point of the loops.

    Attributes:
        known: intervals of loop variables and parameters.
        sources: the loops around, and linear forms that are at most 0.
    """

    known: Intervals
    sources: tuple[For | LinearForm, ...] = ()

    @cached_property
    def _by_term(self) -> Mapping[tuple[Expression, bool], list[tuple[LinearForm, int]]]:
        """The facts by each of their atoms and whether its coefficient is positive.

        They are computed when the first claim needs them: intervals decide most claims.
        """
        by_term: dict[tuple[Expression, bool], list[tuple[LinearForm, int]]] = {}
        for source in self.sources:
            forms = (
                _range_forms(source.variable, source.lower, source.upper)
                if isinstance(source, For)
                else (source,)
            )
            for form in forms:
                for atom, coefficient in form.terms:
                    by_term.setdefault((atom, coefficient > 0), []).append((form, coefficient))
        return by_term

    def inside(self, loop: For) -> Facts:
        """The facts in the body of a loop."""
        values = variable_interval(loop.lower, loop.upper, self.known)
        if not loop.kind.is_loop_in_code:
            values = intersection(values, loop.bounds)
        return Facts({**self.known, loop.variable: values}, (*self.sources, loop))

    def where(self, condition: Expression) -> Facts:
        """The facts where a condition holds, as far as it is affine."""
        return self.with_forms(_demands(condition))

    def with_forms(self, forms: Iterable[LinearForm]) -> Facts:
        """The facts and further forms that are at most 0."""
        known = dict(self.known)
        for form in forms:
            if len(form.terms) == 1:
                ((atom, coefficient),) = form.terms
                if isinstance(atom, Index | Parameter):
                    known[atom.name] = intersection(
                        known.get(atom.name, UNBOUNDED), _half_line(coefficient, form.constant)
                    )
        return Facts(known, (*self.sources, *forms))

    def holds(self, form: LinearForm) -> bool:
        """Whether a form is provably at most 0."""
        _, high = interval(form, self.known)
        if high is not None and high <= 0:
            return True
        return all(self._follows(part, _CHAIN) for part in not_positive(form))

    def fails(self, form: LinearForm) -> bool:
        """Whether a form is provably at least 1."""
        return self.holds(form.times(-1).plus(1))

    def _follows(self, form: LinearForm, chain: int) -> bool:
        low, high = interval(form, self.known)
        if high is not None and high <= 0:
            return True
        if not chain or (low is not None and low > 0):
            return False
        unbounded = [
            term for term in form.terms if interval(LinearForm((term,), 0), self.known)[1] is None
        ]
        if len(unbounded) > chain:
            return False
        # A term without a bound has to cancel; otherwise any term may.
        for atom, coefficient in unbounded[:1] or form.terms:
            for fact, factor in self._by_term.get((atom, coefficient > 0), ()):
                common = gcd(coefficient, factor)
                scale = abs(factor) // common
                rest = form if scale == 1 else form.times(scale).plus(1 - scale)
                # An integer is at most 0 if `scale` times the integer is less than `scale`.
                rest = reduced(rest.plus(fact, -(abs(coefficient) // common)))
                if self._follows(rest, chain - 1):
                    return True
        return False

    def decide(self, condition: Expression) -> Expression:
        """Simplify a condition: a truth value if the facts imply it or its negation."""
        match condition:
            case Operation(operator=Operator.AND):
                facts, kept = self, []
                for operand in conjuncts(condition):
                    decided = facts.decide(operand)
                    if decided == Constant(False):
                        return decided
                    if decided != Constant(True):
                        kept.append(decided)
                        facts = facts.where(decided)
                return reduce(Expression.__and__, kept) if kept else Constant(True)
            case Operation(
                operator=Operator.LESS | Operator.LESS_EQUAL | Operator.EQUAL,
                operands=(left, right),
            ):
                difference = linear_form(left, {}).plus(linear_form(right, {}), -1)
                if condition.operator is Operator.EQUAL:
                    opposite = difference.times(-1)
                    if self.holds(difference) and self.holds(opposite):
                        return Constant(True)
                    if self.fails(difference) or self.fails(opposite):
                        return Constant(False)
                else:
                    if condition.operator is Operator.LESS:
                        difference = difference.plus(1)
                    if self.holds(difference):
                        return Constant(True)
                    if self.fails(difference):
                        return Constant(False)
        return simplify(condition, self.known)

    def end(self, bound: Expression) -> Expression:
        """Simplify the bound of a loop: drop operands of extrema that another operand implies."""
        if isinstance(bound, Constant):
            return bound
        form = linear_form(bound, self.known)
        for operator, join, sign in (
            (Operator.MINIMUM, minimum, 1),
            (Operator.MAXIMUM, maximum, -1),
        ):
            operands = list(self._operands(replace(form, constant=0), operator))
            if len(operands) > 1:
                kept: list[LinearForm] = []
                for position, operand in enumerate(operands):
                    others = (*kept, *operands[position + 1 :])
                    if not any(self.holds(other.plus(operand, -1).times(sign)) for other in others):
                        kept.append(operand)
                extremum = reduce(join, (operand.expression() for operand in kept))
                return simplify(extremum + form.constant, self.known)
        return form.expression()

    def _operands(self, form: LinearForm, operator: Operator) -> Iterator[LinearForm]:
        """The forms of which a form is the minimum or maximum."""
        match form.terms:
            case ((Operation(operator=joined, operands=operands), 1),) if joined is operator:
                for operand in operands:
                    inner = linear_form(self.end(operand), self.known)
                    yield from self._operands(inner.plus(form.constant), operator)
            case _:
                yield form


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """The conditions that a conjunction joins."""
    match condition:
        case Operation(operator=Operator.AND, operands=operands):
            for operand in operands:
                yield from conjuncts(operand)
        case _:
            yield condition


def _demands(condition: Expression) -> list[LinearForm]:
    """Forms that are at most 0 where a condition holds; none if it is not affine."""
    match condition:
        case Operation(operator=Operator.AND, operands=operands):
            return [form for operand in operands for form in _demands(operand)]
        case Operation(
            operator=Operator.NOT,
            operands=(Operation(operator=Operator.LESS, operands=(left, right)),),
        ):
            return _demands(right <= left)
        case Operation(
            operator=Operator.NOT,
            operands=(Operation(operator=Operator.LESS_EQUAL, operands=(left, right)),),
        ):
            return _demands(right < left)
        case Operation(
            operator=Operator.LESS | Operator.LESS_EQUAL | Operator.EQUAL as operator,
            operands=(left, right),
        ):
            difference = linear_form(left, {}).plus(linear_form(right, {}), -1)
            if operator is Operator.LESS:
                return not_positive(difference.plus(1))
            if operator is Operator.LESS_EQUAL:
                return not_positive(difference)
            return [*not_positive(difference), *not_positive(difference.times(-1))]
    return []


@lru_cache(maxsize=2**12)
def _range_forms(variable: str, lower: Expression, upper: Expression) -> tuple[LinearForm, ...]:
    """Forms that are at most 0 where a loop's variable lies between the loop's bounds.

    The facts of each scope ask for the forms of all loops around.
    """
    index = LinearForm(((Index(variable), 1),), 0)
    after = linear_form(upper, {}).plus(-1)
    return (
        *not_positive(linear_form(lower, {}).plus(index, -1)),
        *not_positive(index.plus(after, -1)),
    )


def _half_line(coefficient: int, constant: int) -> Interval:
    """The integers ``x`` with ``coefficient * x + constant <= 0``."""
    if coefficient > 0:
        return None, -constant // coefficient
    return -(-constant // -coefficient), None
