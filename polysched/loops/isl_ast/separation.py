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

from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Loop, LoopKind, Node, path, statements
from polysched.ir.isl.extrema import greatest, least


@dataclass(frozen=True, eq=False)
class FullTiles:
    """The iterations ``[outer..., own]`` of a loop in which fixed loops run their whole extent."""

    loop: Loop
    iterations: isl.Set


@dataclass(frozen=True, eq=False)
class _Parts:
    """Iterations of a loop in which one fixed loop runs its whole extent, and a part of it."""

    loop: Loop
    full: isl.Set
    partial: isl.Set


def full_tiles(tree: Node, program_statements: Mapping[str, Statement]) -> list[FullTiles]:
    """For each loop at which partial tiles part from full ones, the set of iterations that are
    full.

    ``tree`` is the tree as it is executed, vector loops innermost.
    """
    found: dict[int, _Parts] = {}
    for name in statements(tree):
        around = path(tree, name)
        if all(loop.kind.is_loop_in_code for loop in around):
            continue
        times = _times(program_statements[name], around)
        for position, loop in enumerate(around):
            if loop.kind.is_loop_in_code:
                continue
            parts = _parts(times, around, position)
            if parts is not None:
                earlier = found.get(id(parts.loop))
                found[id(parts.loop)] = parts if earlier is None else _both(earlier, parts)
    return [FullTiles(parts.loop, _in_one_piece(parts.full)) for parts in found.values()]


def _both(one: _Parts, other: _Parts) -> _Parts:
    """The parts of two fixed loops: full is where one is full and none is partial.

    A statement may run in some of the iterations only, as what starts the sums of the first block.
    """
    partial = one.partial.union(other.partial)
    return _Parts(one.loop, one.full.union(other.full).subtract(partial), partial)


def _times(statement: Statement, around: tuple[Loop, ...]) -> isl.Set:
    times = isl.Map.from_domain(statement.domain)
    for loop in around:
        times = times.flat_range_product(isl.Map.from_pw_aff(loop.values[statement.name]))
    return times.intersect_domain(statement.domain).range()


def _parts(times: isl.Set, around: tuple[Loop, ...], position: int) -> _Parts | None:
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
        here = [_onto(part, outer) for part in (full, partial)]
        if here[0].is_disjoint(here[1]):
            inside = len(around) - index - 1
            kept = [part.project_out(isl.dim_type.set, index + 1, inside) for part in here]
            return _Parts(around[index], *kept)
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
