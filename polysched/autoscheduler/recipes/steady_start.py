"""Make a loop start at the same value in every iteration of the loops around it.

Vectors and blocks count from the beginning of a loop. If ``j`` runs from ``i + 1`` on, the first
vector of each row is a partial one, and each row has its own place for each lane. Skewed by ``i``,
``j`` runs from 1 on in every row::

    for i: for j in i + 1..n: S(i, j)    ->    for i: for j in 1..n - i: S(i, j + i)
"""

from __future__ import annotations

import islpy as isl

from polysched.ir.core.tree import path
from polysched.schedule.core.program import Program, prefix_map
from polysched.schedule.primitives.skew import Skew


def steady_start(program: Program, statement: str, loop: str) -> tuple[Skew, ...]:
    """Return the step that makes a loop start at one value; none if it does or if no step can.

    The first value has to be a multiple of the value of one outer loop, plus a number or a
    parameter.
    """
    names, pieces = _first_values(program, statement, loop)
    position = len(names)
    if len(pieces) != 1 or pieces[0][1].dim(isl.dim_type.div):
        return ()
    first = pieces[0][1]
    factors = [
        (names[at], first.get_coefficient_val(isl.dim_type.in_, at)) for at in range(position)
    ]
    moving = [(by, factor) for by, factor in factors if not factor.is_zero()]
    if len(moving) != 1 or not moving[0][1].is_int():
        return ()
    by, factor = moving[0]
    return (Skew(f"{statement}.{loop}", f"{statement}.{by}", -factor.to_python()),)


def starts_at_one_value(program: Program, statement: str, loop: str) -> bool:
    """Return whether the first value of a loop does not depend on the loops around it."""
    names, pieces = _first_values(program, statement, loop)
    return not any(first.involves_dims(isl.dim_type.in_, 0, len(names)) for _, first in pieces)


def _first_values(
    program: Program, statement: str, loop: str
) -> tuple[list[str], list[tuple[isl.Set, isl.Aff]]]:
    """Return the names of the loops around a loop, and the pieces of its first value."""
    around = path(program.tree, statement)
    names = [outer.name for outer in around]
    position = names.index(loop)
    reached = prefix_map(program.statements[statement], around[: position + 1], []).range()
    inside = isl.Map.from_range(reached).move_dims(
        isl.dim_type.in_, 0, isl.dim_type.out, 0, position
    )
    return names[:position], inside.dim_min(0).get_pieces()
