"""The statement instances that an assignment in generated loops runs, read back as a relation."""

from __future__ import annotations

from functools import lru_cache

import islpy as isl

from polysched.ir.expr.affine import instance_space, to_pw_aff, to_set
from polysched.loops.analysis.contexts import LoopContext
from polysched.loops.ir.nodes import Assign


def instance_map(assign: Assign, loop_context: LoopContext, context: isl.Set) -> isl.Map:
    """The map from the values of the loops' variables to the instance that runs at these values.

    Args:
        assign: the assignment.
        loop_context: the loops and conditions around the assignment.
        context: the set of parameter values.
    """
    iterations = _iterations(loop_context, context)
    space = iterations.get_space()
    instances = isl.Map.from_domain(iterations)
    for value in assign.instance:
        instances = instances.flat_range_product(isl.Map.from_pw_aff(to_pw_aff(value, space)))
    instances = instances.intersect_domain(iterations)
    return instances.set_tuple_name(isl.dim_type.out, assign.statement)


@lru_cache(maxsize=16)
def _iterations(loop_context: LoopContext, context: isl.Set) -> isl.Set:
    """The values of the loops' variables in a context; cached for its other assignments."""
    parameters = [context.get_dim_name(isl.dim_type.param, i) for i in range(context.n_param())]
    space = instance_space([name for name in parameters if name], "", loop_context.variables)
    iterations = isl.Set.universe(space).intersect_params(context)
    for condition in loop_context.conditions:
        iterations = iterations.intersect(to_set(condition, space))
    return iterations
