"""Limits on a scheduled program: nest depth, size of numbers, unrolled copies.

Each primitive checks its own arguments; these checks cover several steps in combination. They keep
programs within the reach of isl, LLVM and the instruction cache.
"""

from __future__ import annotations

import math

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.core.limits import DEEPEST_NEST
from polysched.ir.core.tree import Leaf, Loop, LoopKind, Node, Sequence, loops, nest_depth
from polysched.ir.isl.extrema import as_int
from polysched.schedule.core.program import Program, largest_extent, number_of_values
from polysched.schedule.primitives.unroll import LARGEST_UNROLLED

LARGEST = 2**62
"""Largest absolute coefficient or constant: half the 64-bit range, which leaves room for sums."""

STEEPEST = 2**31
"""Largest growth rate with respect to the variables; safe for variables below 2**31."""


def require_within_limits(before: Program, after: Program) -> None:
    """Check the program that a step has made of another.

    Raises:
        ScheduleError: the loops are nested too deep, the value of a loop may not fit 64 bits, or a
            statement is unrolled into too many copies.
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
    old = _unrolled(before.tree)
    for statement, unrolled in _unrolled(after.tree).items():
        if len(unrolled) > 1 and _identities(unrolled) != _identities(old.get(statement, ())):
            _require_few_copies(after, statement, unrolled)


def _unrolled(tree: Node) -> dict[str, tuple[Loop, ...]]:
    """Return the unrolled loops around each statement, the outermost first."""
    unrolled: dict[str, tuple[Loop, ...]] = {}
    open_nodes: list[tuple[Node, tuple[Loop, ...]]] = [(tree, ())]
    while open_nodes:
        node, around = open_nodes.pop()
        match node:
            case Loop(kind=kind, body=body, instruction=mark):
                is_copied = kind is LoopKind.UNROLLED and not (mark and mark.is_tile)
                inside = (*around, node) if is_copied else around
                open_nodes.append((body, inside))
            case Sequence(children=children):
                open_nodes += ((child, around) for child in reversed(children))
            case Leaf(statement=statement):
                unrolled[statement] = around
    return unrolled


def _identities(unrolled: tuple[Loop, ...]) -> set[int]:
    return {id(loop.values) for loop in unrolled}


def _require_few_copies(program: Program, statement: str, unrolled: tuple[Loop, ...]) -> None:
    counts = [number_of_values(program, loop) for loop in unrolled]
    bounds = [count for count in counts if count is not None]
    if len(bounds) == len(unrolled) and math.prod(bounds) <= LARGEST_UNROLLED:
        return  # the cheap bound suffices
    extents = [largest_extent(program, loop) for loop in unrolled]
    copies = math.prod(extent for extent in extents if extent is not None)
    if copies > LARGEST_UNROLLED:
        names = ", ".join(f"'{loop.name}'" for loop in unrolled)
        raise ScheduleError(
            f"the unrolled loops {names} would write statement '{statement}' out {copies:,} times; "
            f"expected at most {LARGEST_UNROLLED:,} times: unroll fewer of them, or by a factor"
        )


def is_moderate(function: isl.PwAff) -> bool:
    """Whether a function does not overflow 64 bits if its variables are below 2**31.

    Sufficient: its coefficients, constants and divisors are at most ``LARGEST``, and its growth
    rate is at most ``STEEPEST``.
    """
    return all(_growth(piece) <= STEEPEST for _, piece in function.get_pieces())


def _growth(function: isl.Aff) -> float:
    """Bound a function's growth rate with respect to its variables.

    The result is infinite if a coefficient, constant or divisor exceeds ``LARGEST``.
    """
    growth = 0.0
    numbers = [function.get_denominator_val(), function.get_constant_val()]
    for kind in (isl.dim_type.param, isl.dim_type.in_, isl.dim_type.div):
        for position in range(function.dim(kind)):
            coefficient = function.get_coefficient_val(kind, position)
            if coefficient.is_zero():
                continue
            numbers.append(coefficient)
            inner = _growth(function.get_div(position)) if kind == isl.dim_type.div else 1.0
            growth += inner * _numerator(coefficient) / as_int(coefficient.get_den_val())
    return growth if all(_numerator(number) <= LARGEST for number in numbers) else math.inf


def _numerator(number: isl.Val) -> int:
    if number.is_int():
        return abs(as_int(number))
    return abs(int(number.to_str().partition("/")[0]))
