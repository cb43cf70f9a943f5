"""Integer inequalities over loop variables numbered by depth, and boxes that enclose their points.

If all sizes are literals, interval arithmetic gives the range of each loop, without a projection by
isl. A box contains every point of its inequalities. It may be larger than the set of points; the
inequalities that it does not imply are kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import TypeAlias

from polysched.ir.expr.linear_form import LinearSum

Box: TypeAlias = Mapping[int, tuple[int, int]]
"""The least and the greatest value of each variable."""

_ROUNDS = 32
"""Most rounds of tightening a box.

The digits of a split index take one or two rounds. Some inequalities, such as ``x <= y / 2`` and
``y <= x + 1``, tighten a box by ever smaller steps.
"""


@dataclass(frozen=True)
class AffineExpr(LinearSum[int]):
    """A linear sum of loop variables, which are depths of loops.

    Variables ascend, so equal sums have equal terms.
    """

    @cached_property
    def variables(self) -> frozenset[int]:
        """The variables with a term."""
        return frozenset(variable for variable, _ in self.terms)

    def least(self, box: Box) -> int:
        """The least value at a point of the box."""
        return self.constant + sum(
            coefficient * box[variable][coefficient < 0] for variable, coefficient in self.terms
        )

    def greatest(self, box: Box) -> int:
        """The greatest value at a point of the box."""
        return self.constant + sum(
            coefficient * box[variable][coefficient > 0] for variable, coefficient in self.terms
        )

    def plus(self, other: AffineExpr | int, factor: int = 1) -> AffineExpr:
        """The sum ``self + factor * other``."""
        total = super().plus(other, factor)
        return AffineExpr(tuple(sorted(total.terms)), total.constant)

    def without(self, variable: int) -> AffineExpr:
        """The sum without the term of a variable."""
        return AffineExpr(tuple(term for term in self.terms if term[0] != variable), self.constant)

    def with_value(self, variable: int, value: AffineExpr) -> AffineExpr:
        """Substitute a sum for a variable."""
        factor = self.coefficient(variable)
        return self.without(variable).plus(value, factor) if factor else self

    def at_extreme(self, variables: Iterable[int], box: Box, *, greatest: bool) -> AffineExpr:
        """Replace each of the given variables by the end of its range that extremizes the sum."""
        replaced = frozenset(variables)
        constant, terms = self.constant, []
        for variable, coefficient in self.terms:
            if variable in replaced:
                constant += coefficient * box[variable][(coefficient > 0) == greatest]
            else:
                terms.append((variable, coefficient))
        return AffineExpr(tuple(terms), constant)


def not_negative(sum_: AffineExpr) -> AffineExpr:
    """Divide ``sum >= 0`` by the common divisor of its coefficients, rounding the constant down."""
    divisor = gcd(*(coefficient for _, coefficient in sum_.terms))
    if divisor < 2:
        return sum_
    terms = tuple((variable, coefficient // divisor) for variable, coefficient in sum_.terms)
    return AffineExpr(terms, sum_.constant // divisor)


@dataclass(frozen=True)
class System:
    """The points that fulfill inequalities ``sum >= 0`` and lie in a box."""

    inequalities: tuple[AffineExpr, ...]
    box: Box

    def with_value(self, variable: int, value: AffineExpr) -> System | None:
        """Substitute a sum of other variables for a variable; None if no point is left."""
        low, high = self.box[variable]
        bounds = (value.plus(-low), value.times(-1).plus(high))
        box = {other: ends for other, ends in self.box.items() if other != variable}
        changed = (inequality.with_value(variable, value) for inequality in self.inequalities)
        return tightened((*changed, *bounds), box)

    def within(self, variable: int, low: int, high: int) -> System | None:
        """Restrict a variable to a range; None if no point is left."""
        ends = self.box[variable]
        tighter = (max(low, ends[0]), min(high, ends[1]))
        if tighter == ends:
            return self
        if tighter[0] > tighter[1]:
            return None
        return tightened(self.inequalities, {**self.box, variable: tighter})


def tightened(inequalities: Iterable[AffineExpr], box: Box) -> System | None:
    """Shrink a box by interval arithmetic, and drop the inequalities that the new box implies.

    Returns:
        A system with the same points; None if there is no point.
    """
    tight = dict(box)
    kept = [not_negative(inequality) for inequality in dict.fromkeys(inequalities)]
    for _ in range(_ROUNDS):
        before, remaining, kept = dict(tight), kept, []
        for inequality in remaining:
            if inequality.least(tight) >= 0:
                continue
            highest = inequality.greatest(tight)
            if highest < 0:
                return None
            _tighten(inequality, highest, tight)
            if inequality.least(tight) < 0:
                kept.append(inequality)
        if before == tight:
            break
    return System(tuple(kept), tight)


def _tighten(inequality: AffineExpr, highest: int, box: dict[int, tuple[int, int]]) -> None:
    """Shrink the range of each variable of an inequality as far as the other ranges permit."""
    for variable, coefficient in inequality.terms:
        low, high = box[variable]
        if coefficient > 0:
            # coefficient * v >= -(the greatest value of the rest)
            rest = highest - coefficient * high
            low = max(low, -(rest // coefficient))
        else:
            rest = highest - coefficient * low
            high = min(high, rest // -coefficient)
        box[variable] = (low, high)
