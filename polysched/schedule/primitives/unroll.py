"""unroll: write out the body of a loop once per iteration."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import ScheduleError
from polysched.ir.core.tree import LoopKind
from polysched.schedule.core.program import (
    Program,
    base_name,
    largest_extent,
    number_of_values,
    require_fresh,
    require_positive,
    sequential_loop,
)
from polysched.schedule.primitives.split import split_loop

LARGEST_UNROLLED = 1024
"""More copies of a body than this are refused: the code would not fit an instruction cache."""


@dataclass(frozen=True)
class Unroll:
    """Step record of :func:`unroll`, which documents the fields."""

    loop: str
    factor: int | None = None


def unroll(program: Program, step: Unroll) -> Program:
    """Unroll a loop completely, or by ``factor`` iterations at a time.

    With a factor, the loop is split: a loop ``<loop>o`` over chunks remains, and the loop
    ``<loop>i`` inside a chunk is unrolled.

    Args:
        loop (str): the loop; ``Schedule.unroll`` takes several.
        factor (int | None): iterations to write out at a time; by default all of them.

    before::

        for i in 0..3: S(i)

    after ``unroll("i")``::

        S(0)
        S(1)
        S(2)

    Checks:
        - The loop is sequential and has no prefetch, else ``StepError``.
        - Without a factor, the trip count has a literal bound of at most 1024, else ``StepError``.
        - A factor is positive and at most 1024, else ``StepError``.
        - With a factor, the names ``<loop>o`` and ``<loop>i`` are free, else ``StepError``.
        - Legality: always legal; the iterations keep their order.
    """
    loop = sequential_loop(program, step.loop)
    name = base_name(step.loop)
    if step.factor is not None:
        factor_name = f"the factor of unroll('{step.loop}')"
        require_positive(factor_name, step.factor)
        if step.factor > LARGEST_UNROLLED:
            raise ScheduleError(
                f"{factor_name} is {step.factor}; expected at most {LARGEST_UNROLLED}"
            )
        require_fresh(program, loop, f"{name}o", f"{name}i")
        kind = LoopKind.UNROLLED
        pair = split_loop(loop, step.factor, f"{name}o", f"{name}i", kind=kind)
        return program.with_node(loop, pair)
    extent = number_of_values(program, loop)
    if extent is None or extent > LARGEST_UNROLLED:
        extent = largest_extent(program, loop)
    if extent is None or extent > LARGEST_UNROLLED:
        count = "grows with a parameter" if extent is None else f"is {extent}"
        raise ScheduleError(
            f"loop '{step.loop}' cannot be unrolled whole: its number of iterations {count}; pass "
            "factor=, or split it first"
        )
    return program.with_node(loop, replace(loop, kind=LoopKind.UNROLLED))
