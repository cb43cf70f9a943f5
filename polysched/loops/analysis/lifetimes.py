"""Mending lifetimes that isl's AST generation has cut.

isl generates the statements below a loop separately where their order allows it, and copies a mark
around them to each part. So one lifetime may come out as several that follow each other, and what
the first has written would be gone in the next. All tiles of a buffer share one piece of memory, so
making a lifetime longer never changes a result: parts are joined unless they provably belong to
different iterations of the loops around.

The iterations of a parallel loop each have memory of their own: there, parts that cannot be told
apart are an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeGuard

import islpy as isl

from polysched.errors import LoweringError
from polysched.ir.core.tree import LoopKind, Node, path, statements
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.linear import Intervals, LinearForm, interval, linear_form
from polysched.ir.expr.traversal import transform
from polysched.loops.analysis.contexts import LoopContext, below, map_below, walk_contexts
from polysched.loops.analysis.instances import instance_map
from polysched.loops.ir.nodes import Allocate, Assign, Block, LoopNode, block, map_children, walk
from polysched.schedule.core.program import Program


@dataclass(frozen=True, eq=False)
class Timing:
    """When the statements of a program run.

    Attributes:
        context: the values of the parameters.
        known: intervals of these.
        values: for every statement the values of the tree's loops around it, the outermost first.
    """

    context: isl.Set
    known: Intervals
    values: Mapping[str, tuple[isl.PwAff, ...]]


def timing(program: Program, tree: Node, known: Intervals) -> Timing:
    """When a program's statements run, given its tree as it is executed, and the intervals of its
    parameters.
    """
    values = {
        name: tuple(loop.values[name] for loop in path(tree, name)) for name in statements(tree)
    }
    return Timing(program.kernel.context, known, values)


@dataclass(frozen=True, eq=False)
class _Birth:
    """A lifetime, and the place at which it begins."""

    node: Allocate
    place: LoopContext

    def is_threaded(self, outside: LoopContext) -> bool:
        """Whether there is a parallel loop between a place outside and the birth."""
        between = self.place.loops[len(outside.loops) :]
        return any(loop.kind is LoopKind.PARALLEL for loop in between)


def merge_lifetimes(node: LoopNode, timing: Timing) -> LoopNode:
    """Join the parts of lifetimes that may belong to one iteration of the loops around.

    Args:
        node: loops as isl generated them.
        timing: of the program that the loops were generated from.

    Raises:
        LoweringError: a lifetime inside a parallel loop cannot be told from one outside of it.
    """
    return _merged(node, LoopContext(), timing)


def _merged(node: LoopNode, place: LoopContext, timing: Timing) -> LoopNode:
    merged = map_below(node, place, lambda child, where: _merged(child, where, timing))
    if not isinstance(node, Block):
        return merged
    # what is joined inside a child may be a block, which becomes part of this one
    parts: list[LoopNode] = list(merged.children) if isinstance(merged, Block) else [merged]
    for array in sorted({one.array for one in walk(merged) if isinstance(one, Allocate)}):
        joined = _joined(parts, array, place, timing)
        if len(joined) < len(parts):
            # The lifetimes of other buffers may be cut inside of the one joined.
            return _merged(block(joined), place, timing)
        parts = joined
    return block(parts)


def _joined(
    parts: list[LoopNode], array: str, place: LoopContext, timing: Timing
) -> list[LoopNode]:
    """The parts of a block with the lifetimes of one buffer joined where they may be one."""
    groups: list[list[tuple[LoopNode, list[_Birth]]]] = []
    for part in parts:
        births = list(_births(part, array, place))
        together = [
            index
            for index, group in enumerate(groups)
            if any(
                not _apart(earlier, later, place, timing)
                for _, before in group
                for earlier in before
                for later in births
            )
        ]
        first = min(together, default=len(groups))
        joined = [member for group in groups[first:] for member in group]
        groups[first:] = [[*joined, (part, births)]]
    for group in groups:
        held = [births for _, births in group if births]
        if len(held) > 1 and any(birth.is_threaded(place) for births in held for birth in births):
            raise LoweringError(
                f"buffer '{array}' belongs to the iterations of a parallel loop, of which parts "
                "were generated apart that may be one iteration; choose factors that divide the "
                "extents, or make another loop parallel"
            )
    return [one for group in groups for one in _one_lifetime([part for part, _ in group], array)]


def _births(node: LoopNode, array: str, place: LoopContext) -> Iterator[_Birth]:
    """The outermost lifetimes of a buffer."""
    if _is_birth(node, array):
        yield _Birth(node, place)
        return
    for child, where in below(node, place):
        yield from _births(child, array, where)


def _apart(one: _Birth, other: _Birth, outside: LoopContext, timing: Timing) -> bool:
    """Whether two births provably belong to different iterations of the loops around."""
    renaming = {
        loop.variable: Index(f"{loop.variable}'")
        for loop in other.place.loops[len(outside.loops) :]
    }
    here, there = (birth.place.intervals(timing.known) for birth in (one, other))
    intervals = {**there, **here} | {new.name: there[old] for old, new in renaming.items()}
    # Of a lifetime joined of different iterations only what they have in common is known.
    for mine, its in zip(one.node.iteration, other.node.iteration, strict=False):
        if mine is None or its is None:
            continue
        difference = linear_form(mine, {}).plus(_renamed(its, renaming), -1)
        low, high = interval(difference, intervals)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return True
    # To join lifetimes costs nothing but memory, except across threads: there isl has to tell.
    if one.is_threaded(outside) or other.is_threaded(outside):
        return bool(_iterations(one, timing).is_disjoint(_iterations(other, timing)))
    return False


def _iterations(birth: _Birth, timing: Timing) -> isl.Set:
    """The iterations of the tree's loops around a lifetime, of all its assignments."""
    depth = len(birth.node.iteration)
    found = []
    for node, place in walk_contexts(birth.node.body, birth.place):
        if isinstance(node, Assign):
            ran = instance_map(node, place, timing.context).range()
            times = isl.Map.from_domain(ran)
            for value in timing.values[node.statement][:depth]:
                times = times.flat_range_product(isl.Map.from_pw_aff(value))
            found.append(times.intersect_domain(ran).range())
    return reduce(isl.Set.union, found)


def _renamed(expression: Expression, renaming: dict[str, Index]) -> LinearForm:
    changed = transform(
        expression, lambda node: renaming.get(node.name) if isinstance(node, Index) else None
    )
    return linear_form(changed, {})


def _one_lifetime(group: list[LoopNode], array: str) -> list[LoopNode]:
    """A group as one lifetime, from the first to the last part that needs the buffer."""
    holding = [index for index, part in enumerate(group) if _is_born(part, array)]
    if len(holding) < 2:
        return group
    first, last = holding[0], holding[-1] + 1
    body = block([_without(part, array) for part in group[first:last]])
    iterations = [one.iteration for part in group for one in walk(part) if _is_birth(one, array)]
    iteration = tuple(
        values[0] if len(set(values)) == 1 else None for values in zip(*iterations, strict=True)
    )
    return [*group[:first], Allocate(array, body, iteration), *group[last:]]


def _is_born(node: LoopNode, array: str) -> bool:
    return any(_is_birth(one, array) for one in walk(node))


def _is_birth(node: LoopNode, array: str) -> TypeGuard[Allocate]:
    return isinstance(node, Allocate) and node.array == array


def _without(node: LoopNode, array: str) -> LoopNode:
    """The node with all births of one buffer taken away, for it is born around the node."""
    if isinstance(node, Allocate) and node.array == array:
        return _without(node.body, array)
    return map_children(node, lambda child: _without(child, array))
