"""Generate the loops of programs with literal sizes by interval arithmetic, without isl.

isl generates loops for every affine program. If all sizes are literals and all tiles come from
splits, interval arithmetic finds the same loops in a tenth of the time. Loops are generated from
the outside inwards. Each statement carries the inequalities that its execution times still have to
fulfill (:class:`~polysched.loops.scan.inequalities.System`); inequalities that the bounds of the
loops do not enforce become conditions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from polysched.ir.core.tree import Leaf, Loop, Node, Sequence, statements
from polysched.loops.ir.nodes import Allocate, Block, LoopNode
from polysched.loops.ir.prefetches import PrefetchSpec
from polysched.loops.ir.tree_loops import fresh_name, tree_loop, with_prefetches
from polysched.loops.isl_ast.reader import resolved
from polysched.loops.isl_ast.schedule_tree import births
from polysched.loops.scan.inequalities import AffineExpr
from polysched.loops.scan.ranges import common_bounds, only_value, range_ends
from polysched.loops.scan.runs import Run, hull, with_value, without
from polysched.loops.scan.scanned_context import (
    Guarded,
    ScannedContext,
    conditional,
    guards_of,
    ranges_where,
)
from polysched.loops.scan.time_sets import NotScannedError, TimeSet
from polysched.schedule.core.program import Program


def scan(
    program: Program,
    tree: Node,
    times: Mapping[str, TimeSet],
    iterators: list[str],
    requests: Mapping[int, tuple[PrefetchSpec, ...]],
) -> LoopNode:
    """Generate the loops of a schedule tree.

    Args:
        program: the scheduled program.
        tree: the schedule tree in execution order.
        times: execution times of the statements whose domain is not empty.
        iterators: names of the tree's loops by depth, as used in ``requests``.
        requests: prefetches of the tree's loops, by the identity of the loop.

    Raises:
        NotScannedError: intervals do not determine the bounds of a loop.
    """
    runs = [Run(name, time_set.system) for name, time_set in times.items()]
    scanner = _Scanner(program, births(program, tree), iterators, requests, times)
    return scanner.node(tree, 0, runs, ScannedContext({}, {}, {}))


@dataclass(frozen=True, eq=False)
class _Scanner:
    """Generates the loops of the nodes of one tree."""

    program: Program
    lifetimes: Mapping[int, list[str]]
    iterators: list[str]
    requests: Mapping[int, tuple[PrefetchSpec, ...]]
    times: Mapping[str, TimeSet]

    def node(self, node: Node, depth: int, runs: list[Run], context: ScannedContext) -> LoopNode:
        """The loops of a node at a depth, for the statements that run there."""
        return conditional([self._guarded(node, depth, runs, context)], context)

    def _guarded(self, node: Node, depth: int, runs: list[Run], context: ScannedContext) -> Guarded:
        guards, runs, inner = guards_of(runs, context)
        return Guarded(guards, self._born(node, depth, runs, inner) if runs else Block(()))

    def _born(self, node: Node, depth: int, runs: list[Run], context: ScannedContext) -> LoopNode:
        """The loops of a node inside the allocations that it begins."""
        return self._in_lifetimes(node, depth, context, self._plain(node, depth, runs, context))

    def _in_lifetimes(
        self, node: Node, depth: int, context: ScannedContext, body: LoopNode
    ) -> LoopNode:
        for array in self.lifetimes.get(id(node), ()):
            values = tuple(context.expression(context.forms[outer]) for outer in range(depth))
            body = Allocate(array, body, values)
        return body

    def _plain(self, node: Node, depth: int, runs: list[Run], context: ScannedContext) -> LoopNode:
        match node:
            case Leaf(statement=statement):
                return self._assign(statement, context)
            case Sequence(children=children):
                guarded = []
                for child in children:
                    inside = frozenset(statements(child))
                    below = [run for run in runs if run.statement in inside]
                    if below:
                        guarded.append(self._guarded(child, depth, below, context))
                return conditional(guarded, context)
            case Loop():
                return self._loop(node, depth, runs, context)

    def _assign(self, name: str, context: ScannedContext) -> LoopNode:
        statement = self.program.statements[name]
        indices = self.times[name].instance
        values = (reduce(_with_form, context.forms.items(), index) for index in indices)
        instance = tuple(map(context.expression, values))
        return resolved(statement, instance, self.program.arrays, context.intervals)

    def _loop(self, loop: Loop, depth: int, runs: list[Run], context: ScannedContext) -> LoopNode:
        value = only_value(runs, depth)
        if value is not None:
            inner = [with_value(run, depth, value) for run in runs]
            inside = [run for run in inner if run is not None]
            return self.node(loop.body, depth + 1, inside, context.with_value(depth, value))
        bounds = common_bounds(runs, depth)
        if bounds is None:
            if loop.kind.is_loop_in_code:
                raise NotScannedError(f"statements in loop '{loop.name}' have different bounds")
            bounds = ()
        ends = hull(runs, depth)
        lower, upper = range_ends(context, depth, ends, bounds)
        # For other values of the outer variables the loop has no iteration.
        reached = ranges_where(bounds, {**context.known, depth: ends})
        inner_context = context.inside(depth, self._fresh(loop.name, context), reached)
        enforced = frozenset(bounds)
        inner_runs = [without(run, enforced) for run in runs]
        body = self.node(loop.body, depth + 1, inner_runs, inner_context)
        generated = tree_loop(loop, inner_context.variables[depth], (lower, upper), body, ends)
        prefetches = self.requests.get(id(loop), ())
        if not prefetches:
            return generated
        values = {
            self.iterators[outer]: context.expression(form) for outer, form in context.forms.items()
        }
        return with_prefetches(generated, prefetches, values, {}, inner_context.intervals)

    def _fresh(self, name: str, context: ScannedContext) -> str:
        program = self.program
        taken = {*context.variables.values(), *program.kernel.parameters, *program.arrays}
        return fresh_name(name, taken)


def _with_form(sum_: AffineExpr, form: tuple[int, AffineExpr]) -> AffineExpr:
    return sum_.with_value(*form)
