"""The linear form of an integer expression: a sum of atoms with integer coefficients."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from polysched.ir.expr.affine import weighted_sum
from polysched.ir.expr.expressions import Expression, Index, Parameter
from polysched.ir.expr.traversal import walk

Interval: TypeAlias = tuple[int | None, int | None]
"""Smallest and largest value; None if there is no literal bound."""

Intervals: TypeAlias = Mapping[str, Interval]
"""Intervals of indices and parameters by name; absent names are unbounded."""

UNBOUNDED: Interval = (None, None)

CACHED_FORM = "plain form"
"""Key in an expression's ``__dict__`` that caches its form without intervals.

Code generation needs the form of every subscript of every unrolled copy in each stage. The cache is
not a cached property because expressions do not depend on this module. A form depends only on the
expression's fields, so the cache is never stale.
"""


@dataclass(frozen=True)
class LinearForm:
    """``constant + sum of coefficient * atom``: no coefficient is 0, no atom occurs twice.

    The atoms are expressions that are not sums themselves.
    """

    terms: tuple[tuple[Expression, int], ...]
    constant: int

    @property
    def is_constant(self) -> bool:
        """Whether the sum has no terms."""
        return not self.terms

    def plus(self, other: LinearForm | int, factor: int = 1) -> LinearForm:
        """The sum ``self + factor * other``."""
        if isinstance(other, int):
            return LinearForm(self.terms, self.constant + factor * other)
        if not other.terms:
            return LinearForm(self.terms, self.constant + factor * other.constant)
        total = dict(self.terms)
        for atom, coefficient in other.terms:
            total[atom] = total.get(atom, 0) + factor * coefficient
        kept = tuple([term for term in total.items() if term[1]])
        return LinearForm(kept, self.constant + factor * other.constant)

    def times(self, factor: int) -> LinearForm:
        """The sum ``factor * self``."""
        return LinearForm((), 0).plus(self, factor)

    @cached_property
    def is_affine(self) -> bool:
        """Whether all atoms are indices and parameters."""
        return all(isinstance(atom, (Index, Parameter)) for atom, _ in self.terms)

    @cached_property
    def ordered_terms(self) -> tuple[tuple[Expression, int], ...]:
        """The terms in canonical order: equal sums have equal ordered terms."""
        return self.terms if len(self.terms) < 2 else tuple(sorted(self.terms, key=str))

    def without(self, name: str | None) -> tuple[LinearForm, int]:
        """Split off an index: the rest of the form in canonical order, and the coefficient."""
        terms = self.ordered_terms
        for position, (atom, coefficient) in enumerate(terms):
            if isinstance(atom, Index) and atom.name == name:
                rest = terms[:position] + terms[position + 1 :]
                return LinearForm(rest, self.constant), coefficient
        return LinearForm(terms, self.constant), 0

    def uses(self, names: Set[str]) -> bool:
        """Whether an index of one of these names occurs."""
        for atom, _ in self.terms:
            if isinstance(atom, Index):
                if atom.name in names:
                    return True
            elif not isinstance(atom, Parameter) and any(
                isinstance(node, Index) and node.name in names for node in walk(atom)
            ):
                return True
        return False

    def expression(self) -> Expression:
        """The form as an expression."""
        written = weighted_sum([(value, atom) for atom, value in self.terms], self.constant)
        if self.is_affine:
            # Cache the expression's form for later. `weighted_sum` writes positive terms first.
            terms = tuple(sorted(self.terms, key=lambda term: term[1] < 0))
            vars(written)[CACHED_FORM] = (
                self if terms == self.terms else LinearForm(terms, self.constant)
            )
        return written

    def with_values(self, values: Mapping[str, LinearForm]) -> LinearForm:
        """Substitute forms for indices of an affine form; the same object if none occurs."""
        if not any(atom.name in values for atom, _ in self.terms if isinstance(atom, Index)):
            return self
        terms: dict[Expression, int] = {}
        constant = self.constant
        for atom, coefficient in self.terms:
            value = values.get(atom.name) if isinstance(atom, Index) else None
            if value is None:
                add_term(atom, coefficient, terms)
                continue
            constant += coefficient * value.constant
            for inner, factor in value.terms:
                add_term(inner, coefficient * factor, terms)
        return LinearForm(tuple(terms.items()), constant)

    def where(self, known: Intervals) -> LinearForm:
        """Substitute atoms of an affine form whose interval is one number; else the same object."""
        single: dict[Expression, int] = {}
        for atom, _ in self.terms:
            low, high = known.get(atom.name, UNBOUNDED)  # type: ignore[attr-defined]
            if low is not None and low == high:
                single[atom] = low
        if not single:
            return self
        rest = tuple(term for term in self.terms if term[0] not in single)
        more = sum(c * single[atom] for atom, c in self.terms if atom in single)
        return LinearForm(rest, self.constant + more)


def add_term(atom: Expression, coefficient: int, terms: dict[Expression, int]) -> None:
    """Add a multiple of an atom to terms by atom; a term with coefficient 0 is removed."""
    total = terms.get(atom, 0) + coefficient
    if total:
        terms[atom] = total
    else:
        terms.pop(atom, None)
