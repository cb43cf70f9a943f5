"""prefetch: load the cache lines that a later iteration of a loop reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polysched.errors import ScheduleError
from polysched.ir.core.cache_lines import line_count
from polysched.ir.core.kernel import Access, Array, access_relation
from polysched.ir.core.tree import (
    Loop,
    Node,
    PrefetchDirective,
    executed,
    loops,
    path,
    statements,
)
from polysched.ir.isl.extrema import greatest
from polysched.schedule.buffers.footprint import element_column, from_tiles
from polysched.schedule.core.program import Program, ordered_loop, prefix_map, require_positive

MOST_LINES = 64
"""Largest number of cache lines that one iteration prefetches: no processor tracks more at once."""

FARTHEST_LEVEL = 3


@dataclass(frozen=True)
class Prefetch:
    """Step record of :func:`prefetch`, which documents the fields."""

    array: str
    at: str
    ahead: int = 1
    level: int = 1
    of: str | None = None


def prefetch(program: Program, step: Prefetch) -> Program:
    """Prefetch the cache lines that a later iteration of a loop reads of an array.

    An iteration starts with one prefetch instruction per cache line of the smallest box around the
    elements that the later iteration reads. An address outside the array does no harm. The C text
    has a comment at that place. Later steps must leave both loops as they are, and statements below
    the loop must still read the array.

    The hardware prefetcher misses the start of a row. If ``of`` is a loop over rows, each iteration
    prefetches the elements that the same iteration of a later row reads.

    Args:
        array (str): the array, which statements below the loop read.
        at (str): the loop whose iterations prefetch.
        ahead (int): prefetch distance in iterations.
        level (int): the cache level to prefetch into, from 1 to 3.
        of (str | None): the loop whose iterations the distance counts, around ``at``; by default
            ``at`` itself.

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

    Checks:
        - Both loops are sequential, and ``of`` is ``at`` or a loop around it, else ``StepError``.
        - ``at`` does not prefetch the array yet, else ``StepError``.
        - ``ahead`` is positive and ``level`` is 1, 2 or 3, else ``StepError``.
        - After this step and every later one, an iteration reads a box of the array with literal
          extents that starts at a linear function of the loops' values, else ``StepError``.
        - The box takes at most 64 cache lines, and the array's elements take whole bytes, else
          ``StepError``.
        - Legality: always legal; no value and no order changes.
    """
    call = f"prefetch('{step.array}')"
    require_positive(f"the distance of {call}", step.ahead)
    require_positive(f"the level of {call}", step.level)
    if step.level > FARTHEST_LEVEL:
        raise ScheduleError(
            f"the level of {call} is {step.level}; expected 1, 2 or {FARTHEST_LEVEL}"
        )
    program.array(step.array)
    loop = ordered_loop(program, step.at)
    if any(directive.array == step.array for directive in loop.prefetches):
        raise ScheduleError(f"loop '{step.at}' prefetches array '{step.array}' already")
    counted = loop if step.of is None else ordered_loop(program, step.of)
    around = path(program.tree, statements(loop)[0])
    if counted not in around[: around.index(loop) + 1]:
        raise ScheduleError(
            f"the iterations of {call} are those of loop '{step.of}', which is not around "
            f"'{step.at}'; expected one of {', '.join(outer.name for outer in around)}"
        )
    ahead = PrefetchDirective(step.array, step.ahead, step.level, counted.name)
    return program.with_node(loop, replace(loop, prefetches=(*loop.prefetches, ahead)))


@dataclass(frozen=True, eq=False)
class Prefetched:
    """The box of an array that an iteration of a loop reads, and its prefetch directive.

    Attributes:
        around: the loops down to the prefetching loop, the outermost first.
        counted: the position in ``around`` of the loop whose iterations the distance counts.
        ahead: the prefetch directive: array, distance and cache level.
        start: the first subscript of the box in each stored dimension, as a function of the values
            of the loops in ``around``.
        extents: the extents of the box.
    """

    around: tuple[Loop, ...]
    counted: int
    ahead: PrefetchDirective
    start: tuple[isl.PwAff, ...]
    extents: tuple[int, ...]


def prefetched(program: Program, tree: Node) -> Iterator[Prefetched]:
    """Return the boxes that the loops of a tree prefetch.

    A loop below which no statement reads the array gives no box.

    Args:
        program: the program whose statements the tree runs.
        tree: the tree as it is executed, with vector loops at the leaves.

    Raises:
        ScheduleError: an iteration does not read a box of literal extents that starts at a linear
            function of the loops' values, or the box is too large.
    """
    for loop in loops(tree):
        for ahead in loop.prefetches:
            box = _box(program, tree, loop, ahead)
            if box is not None:
                yield box


def require_prefetches(program: Program) -> None:
    """Check that every prefetch directive of a program can be carried out.

    Raises:
        ScheduleError: as in :func:`prefetched`, or no statement below the loop reads the array.
    """
    directives = {(loop.name, ahead) for loop in loops(program.tree) for ahead in loop.prefetches}
    if not directives:
        return
    effective = {
        (box.around[-1].name, box.ahead) for box in prefetched(program, executed(program.tree))
    }
    for name, ahead in sorted(directives - effective, key=str):
        raise ScheduleError(
            f"no statement below loop '{name}' reads array '{ahead.array}', which is prefetched "
            "there; prefetch the array that replaces it, after this step"
        )


def _box(program: Program, tree: Node, loop: Loop, ahead: PrefetchDirective) -> Prefetched | None:
    array = program.arrays.get(ahead.array)
    if array is None:  # `fold_storage` has renamed it
        return None
    below = statements(loop)
    around = path(tree, below[0])
    around = around[: [outer is loop for outer in around].index(True) + 1]
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
    names = [outer.name for outer in around]
    if ahead.of not in names:
        raise ScheduleError(
            f"loop '{loop.name}' prefetches array '{array.name}' by iterations of loop "
            f"'{ahead.of}', which is not around it any more; prefetch after this step"
        )
    depth, rank, counted = len(around), len(array.shape), names.index(ahead.of)
    reads = from_tiles(elements, depth)
    part = f"the part of array '{array.name}' that an iteration of loop '{loop.name}' reads"
    ends = [_ends(reads, position, part) for position in range(array.tile, rank)]
    for position in range(array.tile):
        if _lowest(reads, position).involves_dims(isl.dim_type.in_, counted, depth - counted):
            raise ScheduleError(
                f"{part} is in a buffer of that iteration; prefetch the array that fills the buffer"
            )
    extents = tuple(extent for _, extent in ends)
    _require_few(extents, array, part)
    return Prefetched(around, counted, ahead, tuple(start for start, _ in ends), extents)


def _affine(access: Access, loop: Loop) -> Access:
    if access.is_data_dependent:
        raise ScheduleError(
            f"the elements of array '{access.array}' that an iteration of loop '{loop.name}' reads "
            "are known only at run time; prefetch takes an array with affine subscripts"
        )
    return access


def _ends(reads: isl.Map, position: int, part: str) -> tuple[isl.PwAff, int]:
    """Return the first subscript of the box in a dimension, and the box's extent."""
    start = _lowest(reads, position)
    pieces = start.get_pieces()
    starts = isl.Map.from_pw_aff(start).intersect_domain(reads.domain())
    offsets = starts.reverse().apply_range(element_column(reads, position)).deltas()
    last = greatest(offsets, 0)
    if last is None:
        raise ScheduleError(f"{part} has no literal extent; prefetch at a loop further inside")
    if len(pieces) != 1 or pieces[0][1].dim(isl.dim_type.div):
        raise ScheduleError(
            f"{part} starts at {start}, which is not linear in the loops' values; prefetch at "
            "another loop"
        )
    return start, last + 1


def _lowest(reads: isl.Map, position: int) -> isl.PwAff:
    return reads.dim_min(position).gist(reads.domain()).coalesce()


def _require_few(extents: tuple[int, ...], array: Array, part: str) -> None:
    if array.is_packed:
        raise ScheduleError(
            f"array '{array.name}' is packed; expected one whose elements take whole bytes, such "
            "as a buffer that holds them unpacked: pack the array and prefetch the buffer"
        )
    count = line_count(extents, array.dtype.bytes)
    if count > MOST_LINES:
        shape = " x ".join(map(str, extents))
        raise ScheduleError(
            f"{part} is a box of {shape} elements in {count} cache lines; expected at most "
            f"{MOST_LINES}: prefetch at a loop further inside"
        )
