"""prefetch: what a later iteration of a loop reads is asked for ahead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polysched.errors import ScheduleError, suggestion
from polysched.ir.cache_lines import line_count
from polysched.ir.extrema import greatest
from polysched.ir.kernel import Access, Array, access_relation
from polysched.ir.tree import (
    Ahead,
    Loop,
    Node,
    executed,
    loops,
    path,
    rewrite,
    statements,
)
from polysched.schedule.footprint import element_column, from_tiles
from polysched.schedule.program import Program, loop_in_order, prefix_map, require_positive

MOST_LINES = 64
"""Lines that an iteration asks for at most: no processor keeps track of so many at once."""

FARTHEST_LEVEL = 3


@dataclass(frozen=True)
class Prefetch:
    """Ask for what a later iteration of a loop reads of an array.

    Args:
        array: the array; statements below the loop read it.
        at: the loop, a sequential one.
        ahead: how many iterations later that is.
        level: the nearest cache that it shall be in then, from 1 to 3.
        of: the loop whose iterations these are, a sequential one around ``at``; by default ``at``
            itself.
    """

    array: str
    at: str
    ahead: int = 1
    level: int = 1
    of: str | None = None


def prefetch(program: Program, step: Prefetch) -> Program:
    """At the start of every iteration, ask for the cache lines that a later iteration reads.

    They are the lines of the smallest box around these elements, one request for each. Nothing else
    happens: no value and no order changes, so that it is always legal, and an address outside of
    the array does no harm. The C text has a comment in that place. Steps that come later must leave
    both loops as they are, and leave the array to be read below.

    What is read at the start of a row, where the processor does not expect it yet, is asked for row
    by row with ``of`` a loop over rows: iteration for iteration what the next row reads.

    before::

        for k in 0..n: S(b[k, 0..32])

    after ``prefetch("b", at="k", ahead=8)``::

        for k in 0..n:
          prefetch b[k + 8, 0..32]
          S(b[k, 0..32])

    before::

        for i in 0..m:
          for j in 0..n: S(b[i, 16*j..16*j + 16])

    after ``prefetch("b", at="j", of="i")``::

        for i in 0..m:
          for j in 0..n:
            prefetch b[i + 1, 16*j..16*j + 16]
            S(b[i, 16*j..16*j + 16])
    """
    what = f"of prefetch('{step.array}')"
    require_positive(f"the distance {what}", step.ahead)
    require_positive(f"the level {what}", step.level)
    if step.level > FARTHEST_LEVEL:
        raise ScheduleError(f"the level {what} is {step.level}; expected 1, 2 or {FARTHEST_LEVEL}")
    if step.array not in program.arrays:
        raise ScheduleError(f"no array '{step.array}'{suggestion(step.array, program.arrays)}")
    loop = loop_in_order(program, step.at)
    if any(one.array == step.array for one in loop.prefetches):
        raise ScheduleError(f"loop '{step.at}' prefetches array '{step.array}' already")
    counted = loop if step.of is None else loop_in_order(program, step.of)
    around = path(program.tree, statements(loop)[0])
    if counted not in around[: around.index(loop) + 1]:
        raise ScheduleError(
            f"the iterations {what} are those of loop '{step.of}', which is not around "
            f"'{step.at}'; expected one of {', '.join(one.name for one in around)}"
        )
    ahead = Ahead(step.array, step.ahead, step.level, counted.name)

    def marked(node: Node) -> Node:
        assert isinstance(node, Loop)
        return replace(node, prefetches=(*node.prefetches, ahead))

    return program.with_tree(rewrite(program.tree, loop, marked))


@dataclass(frozen=True, eq=False)
class Prefetched:
    """What an iteration of a loop reads of an array: a box.

    Attributes:
        around: the loops down to the one that asks, the outermost first.
        counted: the position in ``around`` of the loop whose iterations the distance counts.
        ahead: which array, and when it is asked for.
        start: the first subscripts, of the dimensions that take memory, as functions of the values
            of these loops.
        extents: of the box.
    """

    around: tuple[Loop, ...]
    counted: int
    ahead: Ahead
    start: tuple[isl.PwAff, ...]
    extents: tuple[int, ...]


def prefetched(program: Program, tree: Node) -> Iterator[Prefetched]:
    """All that a tree asks for ahead, loop by loop; not where a loop reads nothing of the array.

    Args:
        program: whose statements the tree runs.
        tree: as it is executed, with vector loops at the leaves.

    Raises:
        ScheduleError: an iteration reads no box of literal extents that starts at a linear
            function of the loops' values, or too large a one.
    """
    for loop in loops(tree):
        for ahead in loop.prefetches:
            box = _box(program, tree, loop, ahead)
            if box is not None:
                yield box


def require_prefetches(program: Program) -> None:
    """Check that all that is asked for ahead can be.

    Raises:
        ScheduleError: as in :func:`prefetched`, or nothing below a loop reads the array any more.
    """
    asked = {(loop.name, ahead) for loop in loops(program.tree) for ahead in loop.prefetches}
    if not asked:
        return
    found = {
        (one.around[-1].name, one.ahead) for one in prefetched(program, executed(program.tree))
    }
    for name, ahead in sorted(asked - found, key=str):
        raise ScheduleError(
            f"no statement below loop '{name}' reads array '{ahead.array}', which is prefetched "
            "there; prefetch what is read in its stead, after this step"
        )


def _box(program: Program, tree: Node, loop: Loop, ahead: Ahead) -> Prefetched | None:
    array = program.arrays.get(ahead.array)
    if array is None:  # contracted: it has another name now
        return None
    below = statements(loop)
    around = path(tree, below[0])
    around = around[: [one is loop for one in around].index(True) + 1]
    touched = [
        prefix_map(program.statements[name], around, []).flat_range_product(
            access_relation(program.statements[name], _affine(access, loop))
        )
        for name in below
        for access in program.statements[name].reads
        if access.array == array.name
    ]
    if not touched:
        return None
    ranges = [relation.reset_tuple_id(isl.dim_type.out).range() for relation in touched]
    elements = reduce(isl.Set.union, ranges)
    names = [one.name for one in around]
    if ahead.of not in names:
        raise ScheduleError(
            f"loop '{loop.name}' prefetches array '{array.name}' by iterations of loop "
            f"'{ahead.of}', which is not around it any more; prefetch after this step"
        )
    depth, rank, counted = len(around), len(array.shape), names.index(ahead.of)
    reads = from_tiles(elements, depth)
    where = f"what an iteration of loop '{loop.name}' reads of array '{array.name}'"
    ends = [_ends(reads, position, where) for position in range(array.tile, rank)]
    for position in range(array.tile):
        if _lowest(reads, position).involves_dims(isl.dim_type.in_, counted, depth - counted):
            raise ScheduleError(f"{where} is in a buffer of that iteration; prefetch what fills it")
    extents = tuple(extent for _, extent in ends)
    _require_few(extents, array, where)
    return Prefetched(around, counted, ahead, tuple(start for start, _ in ends), extents)


def _affine(access: Access, loop: Loop) -> Access:
    if access.is_data_dependent:
        raise ScheduleError(
            f"which elements of array '{access.array}' an iteration of loop '{loop.name}' reads is "
            "known only when it runs; what is prefetched has affine subscripts"
        )
    return access


def _ends(reads: isl.Map, position: int, where: str) -> tuple[isl.PwAff, int]:
    """Where the box starts in a dimension, and its extent."""
    start = _lowest(reads, position)
    pieces = start.get_pieces()
    starts = isl.Map.from_pw_aff(start).intersect_domain(reads.domain())
    offsets = starts.reverse().apply_range(element_column(reads, position)).deltas()
    last = greatest(offsets, 0)
    if last is None:
        raise ScheduleError(f"{where} has no literal extent; prefetch at a loop further inside")
    if len(pieces) != 1 or pieces[0][1].dim(isl.dim_type.div):
        raise ScheduleError(
            f"{where} starts at {start}, which is not linear in the loops' values; prefetch at "
            "another loop"
        )
    return start, last + 1


def _lowest(reads: isl.Map, position: int) -> isl.PwAff:
    return reads.dim_min(position).gist(reads.domain()).coalesce()


def _require_few(extents: tuple[int, ...], array: Array, where: str) -> None:
    if array.is_packed:
        raise ScheduleError(
            f"array '{array.name}' is packed; expected one whose elements take whole bytes"
        )
    count = line_count(extents, array.dtype.bytes)
    if count > MOST_LINES:
        shape = " x ".join(map(str, extents))
        raise ScheduleError(
            f"{where} is a box of {shape} elements in {count} cache lines; expected at most "
            f"{MOST_LINES}: prefetch at a loop further inside"
        )
