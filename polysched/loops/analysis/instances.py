"""The statement instances that an assignment in generated loops runs, read back as a relation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import islpy as isl

from polysched.ir.expr.affine import instance_space, map_of_sums, to_aff, to_pw_aff, to_set
from polysched.ir.expr.expressions import Expression
from polysched.loops.analysis.conditions import range_conditions
from polysched.loops.analysis.contexts import LoopContext
from polysched.loops.ir.nodes import Assign, For


@dataclass(frozen=True, eq=False)
class Instances:
    """The instances that assignments run in one context of parameters.

    The iterations of each loop context are computed once, from those of the context around it.

    Attributes:
        context: the set of parameter values.
    """

    context: isl.Set
    _iterations: dict[tuple[int, ...], tuple[tuple[For | Expression, ...], isl.Set]] = field(
        default_factory=dict
    )
    """By the identities of the nodes around: the nodes, which are kept alive, and the set."""

    def of(self, assign: Assign, loop_context: LoopContext) -> isl.Map:
        """The map from the values of the loops' variables to the instance that then runs.

        Args:
            assign: the assignment.
            loop_context: the loops and conditions around the assignment.
        """
        iterations = self.iterations(loop_context.around)
        values = _as_map(assign.instance, iterations.get_space())
        instances = values.intersect_domain(iterations)
        return instances.set_tuple_name(isl.dim_type.out, assign.statement)

    def iterations(self, around: tuple[For | Expression, ...]) -> isl.Set:
        """The values of the variables of loops, given with the conditions around."""
        key = tuple(map(id, around))
        if key not in self._iterations:
            self._iterations[key] = (around, self._computed(around))
        return self._iterations[key][1]

    def _computed(self, around: tuple[For | Expression, ...]) -> isl.Set:
        if not around:
            names = (self.context.get_dim_name(isl.dim_type.param, i) for i in self._parameters)
            space = instance_space([name for name in names if name], "", [])
            return isl.Set.universe(space).intersect_params(self.context)
        *outer, last = around
        iterations = self.iterations(tuple(outer))
        if not isinstance(last, For):
            return iterations.intersect(to_set(last, iterations.get_space()))
        position = iterations.dim(isl.dim_type.set)
        iterations = iterations.add_dims(isl.dim_type.set, 1)
        iterations = iterations.set_dim_name(isl.dim_type.set, position, last.variable)
        for condition in range_conditions(last):
            iterations = iterations.intersect(to_set(condition, iterations.get_space()))
        return iterations

    @property
    def _parameters(self) -> Sequence[int]:
        return range(self.context.n_param())


def _as_map(values: Sequence[Expression], space: isl.Space) -> isl.Map:
    """The map from each point of ``space`` to the values there."""
    sums = [function for value in values if (function := to_aff(value, space)) is not None]
    if len(sums) == len(values):
        return map_of_sums(space, sums)
    relation = isl.Map.from_domain(isl.Set.universe(space))
    for value in values:
        relation = relation.flat_range_product(isl.Map.from_pw_aff(to_pw_aff(value, space)))
    return relation
