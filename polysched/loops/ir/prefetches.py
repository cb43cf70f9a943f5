"""Prefetches of the loops of a schedule tree, ready to be written over the loop variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polysched.errors import LoweringError
from polysched.ir.core.tree import Loop, Node, PrefetchDirective
from polysched.ir.expr.affine import from_pw_aff, named
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.linear import simplify
from polysched.ir.expr.linear_form import Intervals
from polysched.ir.expr.traversal import index_names, substituted
from polysched.loops.ir.nodes import Assign, For, LoopNode, Prefetch, children, variable_interval
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.prefetch import prefetched


@dataclass(frozen=True, eq=False)
class PrefetchSpec:
    """A box of an array that a loop prefetches, some iterations before reading it.

    Attributes:
        ahead: the directive of the schedule.
        around: the loops around the prefetch, by the names of isl's iterators; the last is the loop
            of the directive.
        counted: iterator of the loop whose iterations are the unit of the distance.
        start: subscripts of the box's first element, over the iterators.
        extents: elements of the box along each dimension.
    """

    ahead: PrefetchDirective
    around: Mapping[str, Loop]
    counted: str
    start: tuple[Expression, ...]
    extents: tuple[int, ...]

    def made(
        self,
        loop: For,
        values: Mapping[str, Expression],
        steps: Mapping[str, int],
        known: Intervals,
    ) -> Prefetch:
        """The prefetch over the variables of the generated loops.

        Args:
            loop: the generated loop; its variable is the value of the last iterator.
            values: the values of the outer iterators; isl omits iterators with a single value.
            steps: the steps of the outer iterators; 1 for an iterator with a single value.
            known: intervals of the loop variables, including the loop's own.
        """
        *outer, own = self.around
        later: dict[str, Expression] = {own: Index(loop.variable)}
        used = {*index_names(*self.start)}
        for name in used & {*outer}:
            value = values.get(name)
            if value is None:
                value = value_below(self.around[name], loop.body, known)
            if value is None:
                raise LoweringError(
                    f"loop '{self.around[own].name}' prefetches array '{self.ahead.array}', but "
                    f"isl's loops do not tell which iteration of loop '{self.around[name].name}' "
                    "is run; remove the prefetch step, or take other factors"
                )
            later[name] = value
        if self.counted in later:
            step = loop.step if self.counted == own else steps.get(self.counted, 1)
            later[self.counted] = later[self.counted] + self.ahead.distance * step
        start = tuple(simplify(substituted(subscript, later), known) for subscript in self.start)
        return Prefetch(self.ahead.array, start, self.extents, self.ahead.level)


def value_below(loop: Loop, node: LoopNode, known: Intervals) -> Expression | None:
    """The value of a loop of the tree below a generated node, over the variables in ``known``.

    It is computed from the first assignment below the node, because isl generates separate loops
    for parts of a block with different values. None if it depends on other variables.
    """
    intervals = dict(known)
    while not isinstance(node, Assign):
        if isinstance(node, For):
            intervals[node.variable] = variable_interval(node.lower, node.upper, intervals)
        below = children(node)
        if not below:
            return None
        node = below[0]
    value = loop.values.get(node.statement)
    if value is None:
        return None
    instance = {f"index.{position}": index for position, index in enumerate(node.instance)}
    function = from_pw_aff(named(value, tuple(instance)))
    below_node = simplify(substituted(function, instance), intervals)
    return below_node if all(name in known for name in index_names(below_node)) else None


def prefetch_specs(
    program: Program, tree: Node, iterators: list[str]
) -> Mapping[int, tuple[PrefetchSpec, ...]]:
    """The prefetches of the loops of a tree, by the identity of the loop.

    Args:
        tree: its schedule tree in execution order.
        iterators: the names of isl's iterators by depth.
    """
    by_loop: dict[int, tuple[PrefetchSpec, ...]] = {}
    for box in prefetched(program, tree):
        around = dict(zip(iterators, box.around, strict=False))
        start = tuple(from_pw_aff(named(column, tuple(around))) for column in box.start)
        spec = PrefetchSpec(box.ahead, around, iterators[box.counted], start, box.extents)
        loop = id(box.around[-1])
        by_loop[loop] = (*by_loop.get(loop, ()), spec)
    return by_loop
