"""Repair by asking for less: another order, fewer tiled loops, no fusion, a free reduction."""

from __future__ import annotations

from itertools import combinations, permutations

from polysched.ir.core.kernel import Order
from polysched.legality.repairs.repair import Case, OrderEdit, StepEdit, leave_out, replace_step
from polysched.schedule.core.program import find_loop, prefix_loops
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.tile import Tile

MOST_PERMUTED = 4
"""Most loops of a reorder whose other orders are tried (4 loops: 24 orders)."""


def other_orders(case: Case) -> list[StepEdit]:
    """Propose other orders for an offending reorder, those with the fewest inversions first."""
    step = case.step
    if not isinstance(step, Reorder) or len(step.order) > MOST_PERMUTED:
        return []
    program = case.before
    unchanged = tuple(
        sorted(step.order, key=lambda name: len(prefix_loops(program, find_loop(program, name))))
    )
    others = (order for order in permutations(step.order) if order not in (step.order, unchanged))
    nearest = sorted(others, key=lambda order: _inversions(order, step.order))
    return [replace_step(case.schedule, case.index, (Reorder(order),)) for order in nearest]


def _inversions(order: tuple[str, ...], wanted: tuple[str, ...]) -> int:
    """Count the pairs of loops in ``order`` that ``wanted`` has the other way round."""
    places = [wanted.index(name) for name in order]
    return sum(first > second for first, second in combinations(places, 2))


def fewer_tiled_loops(case: Case) -> list[StepEdit]:
    """Propose an offending tile with fewer loops; drop outer loops first, keep at least two."""
    step = case.step
    if not isinstance(step, Tile):
        return []
    count = len(step.loops)
    edits = []
    for size in range(count - 1, 1, -1):
        for kept in reversed(list(combinations(range(count), size))):
            tile = Tile(
                tuple(step.loops[i] for i in kept),
                tuple(step.factors[i] for i in kept),
                None if step.outer is None else tuple(step.outer[i] for i in kept),
                None if step.inner is None else tuple(step.inner[i] for i in kept),
            )
            edits.append(replace_step(case.schedule, case.index, (tile,)))
    return edits


def unfused(case: Case) -> list[StepEdit]:
    """Propose to leave out one of the fusions, the last first."""
    indices = range(case.index, -1, -1)
    return [
        leave_out(case.schedule, index)
        for index in indices
        if isinstance(case.schedule.steps[index], Fuse)
    ]


def free_reductions(case: Case) -> list[OrderEdit]:
    """Propose the order policy ``any`` for a reduction of the violation."""
    statements = case.schedule.kernel.statements
    concerned = {case.violation.array}
    concerned |= {statements[name].target.array for name in case.ends if name in statements}
    return [
        OrderEdit(
            f"declare statement '{name}' with order=\"any\", if its instances may combine in "
            "another order than the program's",
            name,
        )
        for name, statement in statements.items()
        if statement.reduction is not None
        and statement.reduction.order is Order.EXACT
        and statement.target.array in concerned
    ]


def omissions(case: Case) -> list[StepEdit]:
    """Propose to leave out the offending step."""
    return [leave_out(case.schedule, case.index)]
