"""Which iterations are full tiles: where unrolled and vector loops run their whole extent.

Code for full tiles needs no bounds and no masks in its inner loops, so isl is asked to *isolate*
them (the ``isolate`` option of its AST generation, Grosser, Verdoolaege, Cohen: "Polyhedral AST
generation is more than scanning polyhedra", TOPLAS 2015). Each fixed loop's fullness is decided at
the outermost loop at which it can be: a tail in one dimension leaves the others alone. A parallel
loop is not cut in two for that, since its parts would wait for each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from polysched.ir.extrema import greatest, least
from polysched.ir.kernel import Statement
from polysched.ir.tree import Loop, LoopKind, Node, path, statements


@dataclass(frozen=True, eq=False)
class FullTiles:
    """The iterations ``[outer..., own]`` of a loop in which a fixed loop runs its whole extent."""

    loop: Loop
    iterations: isl.Set


def full_tiles(tree: Node, program_statements: Mapping[str, Statement]) -> list[FullTiles]:
    """For each loop at which partial tiles part from full ones, the set of iterations that are
    full.

    ``tree`` is the tree as it is executed, vector loops innermost.
    """
    found: dict[int, FullTiles] = {}
    for name in statements(tree):
        around = path(tree, name)
        if all(loop.kind.is_loop_in_code for loop in around):
            continue
        times = _times(program_statements[name], around)
        for position, loop in enumerate(around):
            if loop.kind.is_loop_in_code:
                continue
            full = _full_part(times, around, position)
            if full is not None:
                earlier = found.get(id(full.loop))
                if earlier is not None:
                    full = FullTiles(full.loop, full.iterations.intersect(earlier.iterations))
                found[id(full.loop)] = full
    return list(found.values())


def _times(statement: Statement, around: tuple[Loop, ...]) -> isl.Set:
    times = isl.Map.from_domain(statement.domain)
    for loop in around:
        times = times.flat_range_product(isl.Map.from_pw_aff(loop.values[statement.name]))
    return times.intersect_domain(statement.domain).range()


def _full_part(times: isl.Set, around: tuple[Loop, ...], position: int) -> FullTiles | None:
    """Where the fixed loop at ``position`` is full, at the outermost loop that can tell."""
    low, high = least(times, position), greatest(times, position)
    if around[position].kind is LoopKind.VECTOR:
        low, high = 0, around[position].lanes - 1
    if low is None or high is None:
        return None
    box = times.eliminate(isl.dim_type.set, position, 1)
    box = box.lower_bound_val(isl.dim_type.set, position, isl.Val(low))
    box = box.upper_bound_val(isl.dim_type.set, position, isl.Val(high))
    deciding = [index for index in range(position) if around[index].kind.is_loop_in_code]
    partial = _onto(box.subtract(times), deciding)
    if partial.is_empty():
        return None
    full = _convex(_onto(times, deciding).subtract(partial), times, deciding, position, (low, high))
    for count, index in enumerate(deciding, start=1):
        if around[index].kind is LoopKind.PARALLEL:
            continue
        outer = deciding[:count]
        full_here = _onto(full, outer)
        if full_here.is_disjoint(_onto(partial, outer)):
            size = full_here.dim(isl.dim_type.set)
            kept = full_here.project_out(isl.dim_type.set, index + 1, size - index - 1)
            return FullTiles(around[index], _in_one_piece(kept))
    return None


def _convex(
    full: isl.Set, times: isl.Set, deciding: list[int], position: int, ends: tuple[int, int]
) -> isl.Set:
    """The set ``full`` in a convex form, if it is where both ends of the fixed loop run.

    isl isolates a convex set only; subtraction leaves unions that coalescing cannot always mend.
    """
    at_ends = [
        _onto(times.fix_val(isl.dim_type.set, position, isl.Val(end)), deciding) for end in ends
    ]
    both = at_ends[0].intersect(at_ends[1])
    return both if both.is_equal(full) else full


def _in_one_piece(iterations: isl.Set) -> isl.Set:
    """The set as its convex hull if that adds nothing; coalescing does not find all of these."""
    iterations = iterations.coalesce()
    if iterations.n_basic_set() > 1:
        hull = isl.Set.from_basic_set(iterations.convex_hull())
        if hull.is_equal(iterations):
            return hull
    return iterations


def _onto(times: isl.Set, kept: list[int]) -> isl.Set:
    """Forget every dimension but those kept; the forgotten ones stay, unconstrained."""
    for index in range(times.dim(isl.dim_type.set)):
        if index not in kept:
            times = times.eliminate(isl.dim_type.set, index, 1)
    return times
