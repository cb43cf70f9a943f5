"""Merge lifetimes of buffers that isl's AST generation has cut.

isl generates the statements below a loop separately if their order allows it, and copies a mark
around them to each part. One lifetime of a buffer may thus become several consecutive ones, and a
later one would not see the values written in an earlier one. All tiles of a buffer share one piece
of memory, so extending a lifetime never changes a result: parts are merged unless they provably
belong to different iterations of the loops around.

Each iteration of a parallel loop has its own memory. Parts inside a parallel loop that may belong
to one iteration are therefore an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeGuard

import islpy as isl

from polysched.errors import LoweringError
from polysched.ir.core.tree import LoopKind, Node, path, statements
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.linear import interval, linear_form
from polysched.ir.expr.linear_form import Intervals
from polysched.ir.expr.traversal import substituted
from polysched.loops.analysis.contexts import LoopContext, below, map_below, walk_contexts
from polysched.loops.analysis.instances import Instances
from polysched.loops.ir.nodes import Allocate, Assign, Block, LoopNode, block, map_children, walk
from polysched.schedule.core.program import Program


@dataclass(frozen=True, eq=False)
class Timing:
    """The execution times of the statements of a program.

    Attributes:
        context: the set of parameter values.
        known: intervals of the parameters.
        values: for each statement the values of the tree's loops around it, the outermost first.
    """

    context: isl.Set
    known: Intervals
    values: Mapping[str, tuple[isl.PwAff, ...]]


def timing(program: Program, tree: Node, known: Intervals) -> Timing:
    """The execution times of a program's statements.

    Args:
        tree: its schedule tree in execution order.
        known: intervals of the parameters.
    """
    values = {
        name: tuple(loop.values[name] for loop in path(tree, name)) for name in statements(tree)
    }
    return Timing(program.kernel.context, known, values)


@dataclass(frozen=True, eq=False)
class _Birth:
    """A lifetime and the loops around it."""

    node: Allocate
    context: LoopContext

    def is_threaded(self, outside: LoopContext) -> bool:
        """Whether a parallel loop lies between an outer context and the lifetime."""
        between = self.context.loops[len(outside.loops) :]
        return any(loop.kind is LoopKind.PARALLEL for loop in between)


def merge_lifetimes(node: LoopNode, timing: Timing) -> LoopNode:
    """Merge the parts of lifetimes that may belong to one iteration of the loops around.

    Args:
        node: loops as isl generated them.
        timing: execution times of the program that the loops were generated from.

    Raises:
        LoweringError: parts inside a parallel loop may belong to one iteration.
    """
    return _merged(node, LoopContext(), timing)


def _merged(node: LoopNode, context: LoopContext, timing: Timing) -> LoopNode:
    merged = map_below(node, context, lambda child, where: _merged(child, where, timing))
    if not isinstance(node, Block):
        return merged
    # A child may have become a block, whose nodes become parts of this block.
    parts: list[LoopNode] = list(merged.children) if isinstance(merged, Block) else [merged]
    for array in sorted({node.array for node in walk(merged) if isinstance(node, Allocate)}):
        joined = _joined(parts, array, context, timing)
        if len(joined) < len(parts):
            # Lifetimes of other buffers may be cut inside the merged lifetime.
            return _merged(block(joined), context, timing)
        parts = joined
    return block(parts)


def _joined(
    parts: list[LoopNode], array: str, context: LoopContext, timing: Timing
) -> list[LoopNode]:
    """Merge the lifetimes of one buffer in the parts of a block where they may be one lifetime."""
    groups: list[list[tuple[LoopNode, list[_Birth]]]] = []
    for part in parts:
        births = list(_births(part, array, context))
        together = [
            index
            for index, group in enumerate(groups)
            if any(
                not _apart(earlier, later, context, timing)
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
        if len(held) > 1 and any(birth.is_threaded(context) for births in held for birth in births):
            raise LoweringError(
                f"buffer '{array}' belongs to the iterations of a parallel loop, of which parts "
                "were generated apart that may be one iteration; choose factors that divide the "
                "extents, or make another loop parallel"
            )
    return [node for group in groups for node in _one_lifetime([part for part, _ in group], array)]


def _births(node: LoopNode, array: str, context: LoopContext) -> Iterator[_Birth]:
    """The outermost lifetimes of a buffer."""
    if _is_birth(node, array):
        yield _Birth(node, context)
        return
    for child, where in below(node, context):
        yield from _births(child, array, where)


def _apart(left: _Birth, right: _Birth, outside: LoopContext, timing: Timing) -> bool:
    """Whether two lifetimes provably belong to different iterations of the loops around."""
    renaming = {
        loop.variable: Index(f"{loop.variable}'")
        for loop in right.context.loops[len(outside.loops) :]
    }
    here, there = (birth.context.intervals(timing.known) for birth in (left, right))
    intervals = {**there, **here} | {new.name: there[old] for old, new in renaming.items()}
    # A lifetime merged from different iterations knows only the values that they share.
    for value, other in zip(left.node.iteration, right.node.iteration, strict=False):
        if value is None or other is None:
            continue
        difference = linear_form(value, {}).plus(linear_form(substituted(other, renaming), {}), -1)
        low, high = interval(difference, intervals)
        if (low is not None and low > 0) or (high is not None and high < 0):
            return True
    # Merging costs only memory, so intervals suffice; across threads it is wrong, so ask isl.
    if left.is_threaded(outside) or right.is_threaded(outside):
        return bool(_iterations(left, timing).is_disjoint(_iterations(right, timing)))
    return False


def _iterations(birth: _Birth, timing: Timing) -> isl.Set:
    """The iterations of the tree's loops in which the assignments of a lifetime run."""
    depth = len(birth.node.iteration)
    iterations = []
    instances = Instances(timing.context)
    for node, context in walk_contexts(birth.node.body, birth.context):
        if isinstance(node, Assign):
            ran = instances.of(node, context).range()
            times = isl.Map.from_domain(ran)
            for value in timing.values[node.statement][:depth]:
                times = times.flat_range_product(isl.Map.from_pw_aff(value))
            iterations.append(times.intersect_domain(ran).range())
    return reduce(isl.Set.union, iterations)


def _one_lifetime(group: list[LoopNode], array: str) -> list[LoopNode]:
    """Merge a group into one lifetime, from the first to the last part that uses the buffer."""
    holding = [index for index, part in enumerate(group) if _is_born(part, array)]
    if len(holding) < 2:
        return group
    first, last = holding[0], holding[-1] + 1
    body = block([_without(part, array) for part in group[first:last]])
    iterations = [node.iteration for part in group for node in walk(part) if _is_birth(node, array)]
    iteration = tuple(
        values[0] if len(set(values)) == 1 else None for values in zip(*iterations, strict=True)
    )
    return [*group[:first], Allocate(array, body, iteration), *group[last:]]


def _is_born(node: LoopNode, array: str) -> bool:
    return any(_is_birth(inner, array) for inner in walk(node))


def _is_birth(node: LoopNode, array: str) -> TypeGuard[Allocate]:
    return isinstance(node, Allocate) and node.array == array


def _without(node: LoopNode, array: str) -> LoopNode:
    """Remove the lifetimes of a buffer that is allocated around the node."""
    if isinstance(node, Allocate) and node.array == array:
        return _without(node.body, array)
    return map_children(node, lambda child: _without(child, array))
