"""Statements inside partly generated loops, with the inequalities that remain to be enforced."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from polysched.loops.scan.inequalities import AffineExpr, Box, System


@dataclass(frozen=True, eq=False)
class Run:
    """A statement inside loops that have been generated.

    Attributes:
        statement: name of the statement.
        system: inequalities that its execution times still have to fulfill, over the variables of
            the generated loops and of the loops inside.
    """

    statement: str
    system: System


def hull(runs: Iterable[Run], depth: int) -> tuple[int, int]:
    """The smallest range that contains a loop's values for all statements."""
    ends = [run.system.box[depth] for run in runs]
    return min(low for low, _ in ends), max(high for _, high in ends)


def with_value(run: Run, depth: int, value: AffineExpr) -> Run | None:
    """Substitute the value of a loop; None if the statement then never runs."""
    system = run.system.with_value(depth, value)
    return None if system is None else replace(run, system=system)


def without(run: Run, enforced: frozenset[AffineExpr]) -> Run:
    """Drop inequalities that the generated loops enforce, and those that follow from them."""
    box = run.system.box
    kept = [inequality for inequality in run.system.inequalities if inequality not in enforced]
    for inequality in tuple(kept):
        if any(_is_implied(inequality, known, kept, box) for known in enforced):
            kept.remove(inequality)
    return replace(run, system=System(tuple(kept), box))


def _is_implied(
    inequality: AffineExpr, known: AffineExpr, others: list[AffineExpr], box: Box
) -> bool:
    """Whether an inequality is a positive multiple of a known one plus a nonnegative rest.

    The rest is nonnegative in the box or by another inequality. For example, the bound of a block,
    ``4 p <= o``, implies the bound of its tiles, ``72 p <= 18 o + 6 i``, if ``i >= 0``.
    """
    if not known.terms:
        return False
    variable, coefficient = known.terms[0]
    factor, remainder = divmod(inequality.coefficient(variable), coefficient)
    if factor < 1 or remainder:
        return False
    rest = inequality.plus(known, -factor)
    return rest.least(box) >= 0 or any(
        rest.terms == other.terms and rest.constant >= other.constant
        for other in others
        if other is not inequality
    )
