"""Loops of programs with literal sizes, straight from integer inequalities.

isl generates loops for whatever is affine; where all sizes are literals and tiles are digits of
indices, interval arithmetic finds the same loops, full and partial tiles apart, in a tenth of the
time. Loops are entered from the outside inwards with the statements inside, each with what its
times must still fulfill (:class:`~polysched.loops.scan.inequalities.System`). What a statement
demands beyond the loops around it becomes a condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

from polysched.ir.core.tree import Leaf, Loop, LoopKind, Node, Sequence, statements
from polysched.ir.expr.linear import UNBOUNDED
from polysched.loops.ir.nodes import Allocate, Block, For, LoopNode
from polysched.loops.ir.prefetches import PrefetchSpec
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
    """The loops of a tree.

    Args:
        tree: the program's tree as it is executed.
        times: the times of the statements that ever run.
        iterators: names of the tree's loops by depth, as the requests have them.
        requests: what loops of the tree, by identity, ask for ahead.

    Raises:
        NotScannedError: the bounds of loops do not follow from intervals.
    """
    runs = [Run(name, one.system) for name, one in times.items()]
    scanner = _Scanner(program, births(program, tree), iterators, requests, times)
    return scanner.node(tree, 0, runs, ScannedContext({}, {}, {}))


@dataclass(frozen=True, eq=False)
class _Scanner:
    """Makes loops of nodes of the tree."""

    program: Program
    lifetimes: Mapping[int, list[str]]
    iterators: list[str]
    requests: Mapping[int, tuple[PrefetchSpec, ...]]
    times: Mapping[str, TimeSet]

    def node(self, node: Node, depth: int, runs: list[Run], place: ScannedContext) -> LoopNode:
        """The loops of a node inside ``depth`` others, for the statements that run there."""
        return conditional([self._guarded(node, depth, runs, place)], place)

    def _guarded(self, node: Node, depth: int, runs: list[Run], place: ScannedContext) -> Guarded:
        guards, runs, inner = guards_of(runs, place)
        return Guarded(guards, self._born(node, depth, runs, inner) if runs else Block(()))

    def _born(self, node: Node, depth: int, runs: list[Run], place: ScannedContext) -> LoopNode:
        """A node with the lifetimes that begin at it."""
        return self._in_lifetimes(node, depth, place, self._plain(node, depth, runs, place))

    def _in_lifetimes(
        self, node: Node, depth: int, place: ScannedContext, body: LoopNode
    ) -> LoopNode:
        for array in self.lifetimes.get(id(node), ()):
            values = tuple(place.expression(place.forms[one]) for one in range(depth))
            body = Allocate(array, body, values)
        return body

    def _plain(self, node: Node, depth: int, runs: list[Run], place: ScannedContext) -> LoopNode:
        match node:
            case Leaf(statement=statement):
                return self._assign(statement, place)
            case Sequence(children=children):
                found = []
                for child in children:
                    inside = frozenset(statements(child))
                    below = [run for run in runs if run.statement in inside]
                    if below:
                        found.append(self._guarded(child, depth, below, place))
                return conditional(found, place)
            case Loop():
                return self._loop(node, depth, runs, place)

    def _assign(self, name: str, place: ScannedContext) -> LoopNode:
        statement = self.program.statements[name]
        indices = self.times[name].instance
        values = (reduce(_with_form, place.forms.items(), one) for one in indices)
        instance = tuple(map(place.expression, values))
        return resolved(statement, instance, self.program.arrays, place.intervals)

    def _loop(self, loop: Loop, depth: int, runs: list[Run], place: ScannedContext) -> LoopNode:
        value = only_value(runs, depth)
        if value is not None:
            inner = [with_value(run, depth, value) for run in runs]
            inside = [run for run in inner if run is not None]
            return self.node(loop.body, depth + 1, inside, place.with_value(depth, value))
        bounds = common_bounds(runs, depth)
        if bounds is None:
            if loop.kind.is_loop_in_code:
                raise NotScannedError(f"statements in loop '{loop.name}' have other bounds")
            bounds = ()
        ends = hull(runs, depth)
        lower, upper = range_ends(place, depth, ends, bounds)
        # Outside of this the range is empty.
        reached = ranges_where(bounds, {**place.known, depth: ends})
        inner_place = place.inside(depth, self._fresh(loop.name, place), reached)
        enforced = frozenset(bounds)
        inner_runs = [without(run, enforced) for run in runs]
        body = self.node(loop.body, depth + 1, inner_runs, inner_place)
        made = For(
            inner_place.variables[depth],
            loop.name,
            lower,
            upper,
            1,
            loop.kind,
            body,
            loop.lanes,
            ends if loop.kind is LoopKind.UNROLLED else UNBOUNDED,
            loop.transposition,
            instruction=loop.instruction,
        )
        asked = self.requests.get(id(loop), ())
        if not asked:
            return made
        values = {self.iterators[one]: place.expression(form) for one, form in place.forms.items()}
        steps = {self.iterators[one]: 1 for one in place.variables}
        known = inner_place.intervals
        return replace(
            made, prefetches=tuple(one.made(made, values, steps, known) for one in asked)
        )

    def _fresh(self, name: str, place: ScannedContext) -> str:
        taken = {*place.variables.values(), *self.program.kernel.parameters, *self.program.arrays}
        while name in taken:
            name += "_"
        return name


def _with_form(sum_: AffineExpr, form: tuple[int, AffineExpr]) -> AffineExpr:
    return sum_.with_value(*form)
