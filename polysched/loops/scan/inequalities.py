"""Integer inequalities over loops numbered by depth, and the boxes that they allow.

Where sizes are literals, what a loop runs through follows from interval arithmetic: no projection
of isl is needed. A box is never too small; what is exact beyond it stays in the inequalities.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import TypeAlias

Box: TypeAlias = Mapping[int, tuple[int, int]]
"""The least and the greatest value of each variable."""

_ROUNDS = 32
"""So often are boxes tightened: digits of a number take one or two, spirals would take forever."""


@dataclass(frozen=True)
class AffineExpr:
    """``constant + sum of coefficient * variable``; variables ascend, no coefficient is 0."""

    terms: tuple[tuple[int, int], ...]
    constant: int

    def coefficient(self, variable: int) -> int:
        """The coefficient of a variable, 0 where it does not occur."""
        for one, coefficient in self.terms:
            if one == variable:
                return coefficient
        return 0

    @cached_property
    def variables(self) -> frozenset[int]:
        """The variables that occur."""
        return frozenset(variable for variable, _ in self.terms)

    def least(self, box: Box) -> int:
        """The least value in a box of all the variables."""
        return self.constant + sum(
            coefficient * box[variable][coefficient < 0] for variable, coefficient in self.terms
        )

    def greatest(self, box: Box) -> int:
        """The greatest value in a box of all the variables."""
        return self.constant + sum(
            coefficient * box[variable][coefficient > 0] for variable, coefficient in self.terms
        )

    def without(self, variable: int) -> AffineExpr:
        """The sum without a variable's term."""
        return AffineExpr(tuple(term for term in self.terms if term[0] != variable), self.constant)

    def negated(self) -> AffineExpr:
        """The sum times -1."""
        return AffineExpr(
            tuple((one, -coefficient) for one, coefficient in self.terms), -self.constant
        )

    def plus(self, constant: int) -> AffineExpr:
        """The sum and a number."""
        return AffineExpr(self.terms, self.constant + constant)

    def with_value(self, variable: int, value: AffineExpr) -> AffineExpr:
        """The sum with another one in a variable's place."""
        factor = self.coefficient(variable)
        return self.without(variable).with_times(factor, value) if factor else self

    def with_times(self, factor: int, other: AffineExpr) -> AffineExpr:
        """The sum and a multiple of another one."""
        total = dict(self.terms)
        for one, coefficient in other.terms:
            total[one] = total.get(one, 0) + factor * coefficient
        terms = tuple(sorted((one, many) for one, many in total.items() if many))
        return AffineExpr(terms, self.constant + factor * other.constant)

    def at_extreme(self, variables: Iterable[int], box: Box, *, greatest: bool) -> AffineExpr:
        """The sum with each of some variables at the end of its range where the sum is greatest,
        or least.
        """
        inside = frozenset(variables)
        constant, terms = self.constant, []
        for one, coefficient in self.terms:
            if one in inside:
                constant += coefficient * box[one][(coefficient > 0) == greatest]
            else:
                terms.append((one, coefficient))
        return AffineExpr(tuple(terms), constant)


def not_negative(sum_: AffineExpr) -> AffineExpr:
    """The inequality ``sum >= 0`` by smaller numbers: over integers it says the same."""
    divisor = gcd(*(coefficient for _, coefficient in sum_.terms))
    if divisor < 2:
        return sum_
    terms = tuple((one, coefficient // divisor) for one, coefficient in sum_.terms)
    return AffineExpr(terms, sum_.constant // divisor)


@dataclass(frozen=True)
class System:
    """Inequalities ``sum >= 0`` and a box: what holds is both together."""

    inequalities: tuple[AffineExpr, ...]
    box: Box

    def with_value(self, variable: int, value: AffineExpr) -> System | None:
        """The system with a variable replaced by a sum of others; None if it has no solution."""
        low, high = self.box[variable]
        bounds = (value.plus(-low), value.negated().plus(high))
        box = {one: ends for one, ends in self.box.items() if one != variable}
        changed = (one.with_value(variable, value) for one in self.inequalities)
        return tightened((*changed, *bounds), box)

    def within(self, variable: int, low: int, high: int) -> System | None:
        """The system where a variable lies in a range; None if it has no solution."""
        ends = self.box[variable]
        tighter = (max(low, ends[0]), min(high, ends[1]))
        if tighter == ends:
            return self
        if tighter[0] > tighter[1]:
            return None
        return tightened(self.inequalities, {**self.box, variable: tighter})


def tightened(inequalities: Iterable[AffineExpr], box: Box) -> System | None:
    """The same points by a box as tight as intervals tell, and what it does not imply.

    None: there is no point.
    """
    found = dict(box)
    kept = [not_negative(one) for one in dict.fromkeys(inequalities)]
    for _ in range(_ROUNDS):
        before, remaining, kept = dict(found), kept, []
        for one in remaining:
            if one.least(found) >= 0:
                continue
            highest = one.greatest(found)
            if highest < 0:
                return None
            _tighten(one, highest, found)
            if one.least(found) < 0:
                kept.append(one)
        if before == found:
            break
    return System(tuple(kept), found)


def _tighten(one: AffineExpr, highest: int, box: dict[int, tuple[int, int]]) -> None:
    """Make the box of an inequality's variables as small as the others allow."""
    for variable, coefficient in one.terms:
        low, high = box[variable]
        if coefficient > 0:
            # coefficient * v >= -(the greatest value of the rest)
            rest = highest - coefficient * high
            low = max(low, -(rest // coefficient))
        else:
            rest = highest - coefficient * low
            high = min(high, rest // -coefficient)
        box[variable] = (low, high)
