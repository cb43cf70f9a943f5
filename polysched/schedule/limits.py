"""What no step may make of a program: nests, numbers and bodies too large for isl, LLVM or a cache.

Each primitive checks what it is given; here it is checked what several of them make together.
"""

from __future__ import annotations

import math

from polysched.errors import ScheduleError
from polysched.ir.limits import DEEPEST_NEST
from polysched.ir.magnitude import is_moderate
from polysched.ir.tree import Loop, LoopKind, loops, nest_depth, path
from polysched.schedule.program import Program, largest_extent
from polysched.schedule.unroll import LARGEST_UNROLLED


def require_sensible(before: Program, after: Program) -> None:
    """Check the program that a step has made of another.

    Raises:
        ScheduleError: it nests loops too deep, needs numbers beyond 64 bits to say which iteration
            is which, or writes a body out too often.
    """
    depth = nest_depth(after.tree)
    if depth > DEEPEST_NEST:
        raise ScheduleError(
            f"{depth} loops would be nested in each other; expected at most {DEEPEST_NEST}"
        )
    known = {id(value) for loop in loops(before.tree) for value in loop.values.values()}
    for loop in loops(after.tree):
        for value in loop.values.values():
            if id(value) not in known and not is_moderate(value):
                raise ScheduleError(
                    f"the value of loop '{loop.name}' would be computed with numbers that may "
                    "not fit 64 bits; take smaller factors"
                )
    for statement in after.statements:
        unrolled = _unrolled_around(after, statement)
        old = _unrolled_around(before, statement) if statement in before.statements else []
        if len(unrolled) > 1 and _identities(unrolled) != _identities(old):
            _require_few_copies(after, statement, unrolled)


def _unrolled_around(program: Program, statement: str) -> list[Loop]:
    return [loop for loop in path(program.tree, statement) if loop.kind is LoopKind.UNROLLED]


def _identities(unrolled: list[Loop]) -> set[int]:
    return {id(loop.values) for loop in unrolled}


def _require_few_copies(program: Program, statement: str, unrolled: list[Loop]) -> None:
    extents = [largest_extent(program, loop) for loop in unrolled]
    copies = math.prod(extent for extent in extents if extent is not None)
    if copies > LARGEST_UNROLLED:
        names = ", ".join(f"'{loop.name}'" for loop in unrolled)
        raise ScheduleError(
            f"the unrolled loops {names} would write statement '{statement}' out {copies:,} times; "
            f"expected at most {LARGEST_UNROLLED:,} times: unroll fewer of them, or by a factor"
        )
