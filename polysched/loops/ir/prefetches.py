"""What the loops of a tree ask for ahead, ready to be written over the loop variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polysched.errors import LoweringError
from polysched.ir.core.tree import Loop, Node, PrefetchDirective
from polysched.ir.expr.affine import from_pw_aff, named
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.linear import Intervals, simplify
from polysched.ir.expr.traversal import transform, walk
from polysched.loops.ir.nodes import (
    Assign,
    For,
    LoopNode,
    Prefetch,
    children,
    variable_interval,
)
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.prefetch import prefetched


@dataclass(frozen=True, eq=False)
class PrefetchSpec:
    """What an iteration of a loop reads, and how much earlier it is asked for.

    ``start`` is over the names of isl's iterators for the loops in ``around``, down to this one;
    the iterator ``counted`` is that of the loop whose iterations make the distance.
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
        """The request in an iteration.

        Args:
            loop: the loop, whose variable is the value of its iterator.
            values: of the iterators around it; isl leaves out those of one value.
            steps: of these iterators, from one iteration to the next; 1 if there is but one.
            known: intervals of the loop variables, that of the loop among them.

        Raises:
            LoweringError: a value that isl has left out cannot be found.
        """
        *outer, own = self.around
        later: dict[str, Expression] = {own: Index(loop.variable)}
        used = {one.name for start in self.start for one in walk(start) if isinstance(one, Index)}
        for name in used & {*outer}:
            found = values.get(name)
            if found is None:
                found = value_below(self.around[name], loop.body, known)
            if found is None:
                raise LoweringError(
                    f"loop '{self.around[own].name}' prefetches array '{self.ahead.array}', but "
                    f"isl's loops do not tell which iteration of loop '{self.around[name].name}' "
                    "is run; leave the prefetch away, or take other factors"
                )
            later[name] = found
        if self.counted in later:
            step = loop.step if self.counted == own else steps.get(self.counted, 1)
            later[self.counted] = later[self.counted] + self.ahead.distance * step
        start = tuple(simplify(_replaced(one, later), known) for one in self.start)
        return Prefetch(self.ahead.array, start, self.extents, self.ahead.level)


def value_below(loop: Loop, node: LoopNode, known: Intervals) -> Expression | None:
    """The value that a loop of the tree has for what is below a node, over ``known``.

    It is found from the first assignment there: isl's loops run the parts of a block that differ
    in it one behind the other.
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
    instance = {f"index.{at}": one for at, one in enumerate(node.instance)}
    function = from_pw_aff(named(value, tuple(instance)))
    found = simplify(_replaced(function, instance), intervals)
    fits = all(one.name in known for one in walk(found) if isinstance(one, Index))
    return found if fits else None


def _replaced(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    return transform(
        expression, lambda node: values.get(node.name) if isinstance(node, Index) else None
    )


def requests(
    program: Program, tree: Node, iterators: list[str]
) -> Mapping[int, tuple[PrefetchSpec, ...]]:
    """What loops ask for, by the identity of the loop.

    Args:
        program: whose tree it is.
        tree: as it is executed.
        iterators: the names of isl's iterators by depth.
    """
    found: dict[int, tuple[PrefetchSpec, ...]] = {}
    for one in prefetched(program, tree):
        around = dict(zip(iterators, one.around, strict=False))
        start = tuple(from_pw_aff(named(column, tuple(around))) for column in one.start)
        request = PrefetchSpec(one.ahead, around, iterators[one.counted], start, one.extents)
        loop = id(one.around[-1])
        found[loop] = (*found.get(loop, ()), request)
    return found
