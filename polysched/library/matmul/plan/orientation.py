"""Cost model: whether to compute a product of few columns as the transposed product.

Columns become lanes, so a product of few columns leaves most of each vector idle. The transposed
product has few rows and many columns instead. Its cost is the result, which is stored element by
element because its rows are columns in memory.
"""

from __future__ import annotations

from polysched.library.matmul.plan.problem import Problem
from polysched.machine.description import Machine


def pays_transposed(problem: Problem, machine: Machine) -> bool:
    """Whether the transposed product, whose left operand is ``b``, is estimated to be faster.

    A transposed ``a`` is then a row-major right operand. Any other ``a`` is a transposed right
    operand, which is multiplied in dot form: lanes are terms of a sum.
    """
    sizes, costs, lanes = problem.sizes, machine.costs, machine.lanes(problem.total.bits)
    is_computed = problem.computed_a or problem.computed_b
    if is_computed or problem.gaps_a or sizes.n >= sizes.m or sizes.n > min(lanes, costs.dot_rows):
        return False
    if not problem.transpose_a and sizes.k < costs.block_terms:
        return False
    per_result = costs.lone_store if problem.transpose_a else costs.horizontal_sum
    cycles = sizes.n * (sizes.k / (machine.fma_units * lanes) + per_result)
    if not (problem.transpose_a or problem.transpose_b):
        cycles += costs.element_copy * sizes.n * sizes.k / sizes.m
    return cycles < costs.lone_vector_term * sizes.k
