"""Where in the range of a loop the fixed loops inside run their whole extent.

Fixed loops are vector and unrolled ones. An inequality that keeps one from its whole extent is
*decided* at the outermost loop in code that can tell: of which no iteration has both whole and
partial extents inside. There the range is cut, and in its middle part the inequality holds whatever
the loops inside do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from polysched.loops.scan.inequalities import AffineExpr, Box, System, tightened


@dataclass(frozen=True, eq=False)
class Run:
    """A statement where the values of some of its loops are given.

    Attributes:
        system: the inequalities of its times, over the variables of loops in code around and the
            loops inside.
        fixed: the depths of its vector and unrolled loops.
    """

    statement: str
    system: System
    fixed: frozenset[int]


@dataclass(frozen=True, eq=False)
class Part:
    """Iterations of a loop: those in which all ``conditions`` are not negative, and what runs."""

    runs: list[Run]
    conditions: tuple[AffineExpr, ...]


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


def parts(runs: list[Run], depth: int) -> list[Part] | None:
    """The range of a loop cut where fixed loops inside become whole, in ascending order.

    None: it would have to be cut at several places at once that depend on the loops around.
    """
    decided = {condition: None for run in runs for condition, _ in _decided(run, depth)}
    rising, falling = (
        [one for one in decided if (one.coefficient(depth) > 0) is is_rising]
        for is_rising in (True, False)
    )
    sides = _strongest(rising), _strongest(falling)
    if None in sides:
        return None
    holding: tuple[AffineExpr, ...] = ()
    before: list[Part] = []
    after: list[Part] = []
    for one in sides[0] or ():
        before.append(_part(runs, depth, (*holding, _broken(one))))
        holding = (*holding, one)
    for one in sides[1] or ():
        after.insert(0, _part(runs, depth, (*holding, _broken(one))))
        holding = (*holding, one)
    middle = _part(runs, depth, holding, frozenset(decided))
    if not middle.runs:
        return [Part(runs, ())]
    return [part for part in (*before, middle, *after) if part.runs]


def _strongest(conditions: list[AffineExpr]) -> list[AffineExpr] | None:
    """Of conditions on one side of a loop's range those that imply the others: one on the loop
    alone, and one that depends on loops around; None if there are several of these.
    """
    strongest: dict[tuple[tuple[int, int], ...], AffineExpr] = {}
    for one in conditions:
        known = strongest.get(one.terms)
        if known is None or one.constant < known.constant:
            strongest[one.terms] = one
    literal = [one for one in strongest.values() if len(one.terms) == 1]
    others = [one for one in strongest.values() if len(one.terms) > 1]
    return None if len(others) > 1 else literal + others


def _broken(condition: AffineExpr) -> AffineExpr:
    return condition.negated().plus(-1)


def _part(
    runs: list[Run],
    depth: int,
    conditions: tuple[AffineExpr, ...],
    implied: frozenset[AffineExpr] = frozenset(),
) -> Part:
    """The part where conditions hold.

    Args:
        implied: what fixed loops need to be whole; it holds in this part.
    """
    found = []
    for run in runs:
        system: System | None = run.system
        if conditions:
            rest = run.system.inequalities
            if implied:
                whole = {one for condition, one in _decided(run, depth) if condition in implied}
                rest = tuple(one for one in rest if one not in whole)
            system = tightened((*rest, *conditions), run.system.box)
        if system is not None:
            found.append(replace(run, system=system))
    return Part(found, conditions)


def _decided(run: Run, depth: int) -> list[tuple[AffineExpr, AffineExpr]]:
    """The conditions on a loop and those around it by which fixed loops inside are whole, and the
    inequality that each of them implies.
    """
    found: dict[AffineExpr, AffineExpr] = {}
    for fixed in run.fixed:
        if fixed > depth:
            binding = [one for one in run.system.inequalities if fixed in one.variables]
            found.update(_conditions(run, depth, binding))
    return [(condition, one) for one, condition in found.items()]


def _conditions(run: Run, depth: int, binding: list[AffineExpr]) -> dict[AffineExpr, AffineExpr]:
    """For each of the inequalities that bind a fixed loop the condition by which it holds for all
    that is inside; nothing if the loop at this depth cannot tell.
    """
    if any(not one.coefficient(depth) for one in binding):
        return {}
    box = run.system.box
    inside = frozenset(one for sum_ in binding for one in sum_.variables if one > depth)
    between = inside - run.fixed
    found = {one: one.at_extreme(inside, box, greatest=False) for one in binding}
    if any(len(condition.terms) > 1 for condition in found.values()):
        return {} if between else found
    low, high = box[depth]
    first, last = low, high
    for condition in found.values():
        factor = condition.coefficient(depth)
        if factor > 0:
            first = max(first, -(condition.constant // factor))
        else:
            last = min(last, condition.constant // -factor)
    if first > last:
        return {}
    best = [
        condition.plus(
            one.at_extreme(between, box, greatest=True)
            .at_extreme(inside - between, box, greatest=False)
            .constant
            - condition.constant
        )
        for one, condition in found.items()
    ]
    can_tell = (first == low or _fails(best, depth, first - 1, 1)) and (
        last == high or _fails(best, depth, last + 1, -1)
    )
    return found if can_tell else {}


def _fails(sums: list[AffineExpr], depth: int, value: int, sign: int) -> bool:
    """Whether one of the sums is negative at a value of the loop, and beyond it."""
    for one in sums:
        factor = one.coefficient(depth)
        if factor * sign > 0 and one.constant + factor * value < 0:
            return True
    return False
