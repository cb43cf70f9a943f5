"""Statements inside the loops being made, with the inequalities that their times still fulfill."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from polysched.loops.scan.inequalities import AffineExpr, Box, System


@dataclass(frozen=True, eq=False)
class Run:
    """A statement where the values of some of its loops are given.

    Attributes:
        statement: its name.
        system: the inequalities of its times, over the variables of loops in code around and the
            loops inside.
    """

    statement: str
    system: System


def hull(runs: Iterable[Run], depth: int) -> tuple[int, int]:
    """The range of a loop's values in all the runs together."""
    ends = [run.system.box[depth] for run in runs]
    return min(low for low, _ in ends), max(high for _, high in ends)


def with_value(run: Run, depth: int, value: AffineExpr) -> Run | None:
    """The run where a loop has a value; None if the statement does not run then."""
    system = run.system.with_value(depth, value)
    return None if system is None else replace(run, system=system)


def without(run: Run, enforced: frozenset[AffineExpr]) -> Run:
    """The run where some inequalities hold by the loops around, and what these imply."""
    box = run.system.box
    kept = [one for one in run.system.inequalities if one not in enforced]
    for one in tuple(kept):
        if any(_is_implied(one, known, kept, box) for known in enforced):
            kept.remove(one)
    return replace(run, system=System(tuple(kept), box))


def _is_implied(one: AffineExpr, known: AffineExpr, others: list[AffineExpr], box: Box) -> bool:
    """Whether an inequality is a multiple of a known one and something that holds: in the box, or
    by another inequality.

    That of a block, ``4 p <= o``, with the tiles in it: ``4 * 18 p <= 18 o + 6 i`` holds as well.
    """
    if not known.terms:
        return False
    variable, coefficient = known.terms[0]
    factor, remainder = divmod(one.coefficient(variable), coefficient)
    if factor < 1 or remainder:
        return False
    rest = one.with_times(-factor, known)
    return rest.least(box) >= 0 or any(
        rest.terms == other.terms and rest.constant >= other.constant
        for other in others
        if other is not one
    )
