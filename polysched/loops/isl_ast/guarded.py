"""Generate loops over simple bounds, with a condition around every assignment.

Every loop of the tree becomes one loop over a range that contains all its values. Every assignment
gets the exact condition under which its statement has an instance in that iteration::

    for i in 0..n:                     for io in 0..(n + 3) // 4:
      if i % 3 == 0:                     for ii in 0..4:
        y[i] = x[i]            ->          if 4*io + ii < n and (4*io + ii) % 3 == 0:
                                             y[4*io + ii] = x[4*io + ii]

The loops are slow, because they include iterations in which nothing runs, and test every instance.
But their order is that of the tree by construction, and they exist even if isl's AST generation
exceeds its quota or loses instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polysched.errors import LoweringError
from polysched.ir.core.tree import Leaf, Loop, Node, Sequence, path
from polysched.ir.expr.affine import from_aff, from_pw_aff, from_set, named
from polysched.ir.expr.expressions import Constant, Expression, Index
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.linear import simplify
from polysched.ir.expr.linear_form import UNBOUNDED, Interval, Intervals
from polysched.loops.ir.nodes import Allocate, Block, If, LoopNode, block, variable_interval
from polysched.loops.ir.prefetches import PrefetchSpec
from polysched.loops.ir.tree_loops import fresh_name, tree_loop, with_prefetches
from polysched.loops.isl_ast.reader import resolved
from polysched.loops.isl_ast.schedule_tree import births
from polysched.schedule.core.program import Program, prefix_map, value_range


def guarded_loops(
    program: Program,
    tree: Node,
    iterators: list[str],
    known: Intervals,
    prefetches: Mapping[int, tuple[PrefetchSpec, ...]],
) -> LoopNode:
    """The loops of a tree, with a condition around every assignment.

    Args:
        tree: its schedule tree in execution order.
        iterators: names of the tree's loops by depth, as used in ``prefetches``.
        known: intervals of the parameters.
        prefetches: the prefetches of loops of the tree, by identity.
    """
    generator = _Generator(program, tree, births(program, tree), iterators, prefetches)
    return generator.node(tree, (), known)


@dataclass(frozen=True, eq=False)
class _Generator:
    """Generates the loops of nodes; ``variables`` are the variables of the loops around."""

    program: Program
    tree: Node
    lifetimes: Mapping[int, list[str]]
    iterators: list[str]
    prefetches: Mapping[int, tuple[PrefetchSpec, ...]]

    def node(self, node: Node, variables: tuple[str, ...], known: Intervals) -> LoopNode:
        match node:
            case Leaf(statement=name):
                body = self._assign(name, variables, known)
            case Sequence(children=children):
                body = block([self.node(child, variables, known) for child in children])
            case Loop():
                body = self._loop(node, variables, known)
        for array in self.lifetimes.get(id(node), ()):
            body = Allocate(array, body, tuple(map(Index, variables)))
        return body

    def _assign(self, name: str, variables: tuple[str, ...], known: Intervals) -> LoopNode:
        statement = self.program.statements[name]
        instances = prefix_map(statement, path(self.tree, name), list(variables))
        if instances.is_empty():
            return Block(())
        functions = isl.PwMultiAff.from_map(instances.reverse())
        instance = tuple(
            simplify(from_pw_aff(named(functions.get_pw_aff(position), variables)), known)
            for position in range(len(statement.indices))
        )
        assign = resolved(statement, instance, self.program.arrays, known)
        context = self.program.kernel.context
        times = instances.range().gist_params(context).coalesce()
        condition = simplify(from_set(times), known)
        return assign if condition == Constant(True) else If(condition, assign)

    def _loop(self, loop: Loop, around: tuple[str, ...], known: Intervals) -> LoopNode:
        variable = self._fresh(loop.name, around)
        variables = (*around, variable)
        values: Interval = UNBOUNDED
        if not loop.kind.is_loop_in_code:
            values = value_range(self.program, loop)
        first, last = values
        if first is None or last is None:
            lower, upper = (simplify(end, known) for end in self._ends(loop, variables))
        else:
            lower, upper = Constant(first), Constant(last + 1)
        inside = {**known, variable: variable_interval(lower, upper, known)}
        body = self.node(loop.body, variables, inside)
        made = tree_loop(loop, variable, (lower, upper), body, values)
        outer = dict(zip(self.iterators, map(Index, around), strict=False))
        return with_prefetches(made, self.prefetches.get(id(loop), ()), outer, {}, inside)

    def _ends(self, loop: Loop, variables: tuple[str, ...]) -> tuple[Expression, Expression]:
        """The bounds of a loop for all statements inside; the upper bound is exclusive."""
        lowers, uppers = [], []
        for name in loop.values:
            statement = self.program.statements[name]
            around = path(self.tree, name)[: len(variables)]
            times = prefix_map(statement, around, list(variables)).range()
            if times.is_empty():
                continue
            lower, upper = _bounds(times)
            if not lower or not upper:
                raise LoweringError(
                    f"statement '{name}': the values of loop '{loop.name}' have no affine bounds"
                )
            lowers.append(reduce(maximum, lower))
            uppers.append(reduce(minimum, upper))
        if not lowers:
            return Constant(0), Constant(0)
        return reduce(minimum, lowers), reduce(maximum, uppers) + 1

    def _fresh(self, name: str, around: tuple[str, ...]) -> str:
        return fresh_name(name, {*around, *self.program.kernel.parameters, *self.program.arrays})


def _bounds(times: isl.Set) -> tuple[list[Expression], list[Expression]]:
    """Lower and upper bounds, both included, of the last of some dimensions over the others.

    All values lie between them; other values may do so too.
    """
    position = times.dim(isl.dim_type.set) - 1
    lower: list[Expression] = []
    upper: list[Expression] = []
    for constraint in times.remove_divs().simple_hull().get_constraints():
        coefficient = constraint.get_coefficient_val(isl.dim_type.set, position)
        if coefficient.is_zero():
            continue
        bound = constraint.get_bound(isl.dim_type.set, position)
        if coefficient.is_pos() or constraint.is_equality():
            lower.append(from_aff(bound.ceil()))
        if coefficient.is_neg() or constraint.is_equality():
            upper.append(from_aff(bound.floor()))
    return lower, upper
