"""Cost model: whether to compute a product of few columns as the transposed product.

Columns become lanes, so a product of few columns leaves most of each vector idle. The transposed
product has few rows and many columns instead. Its cost is the result, which is stored element by
element because its rows are columns in memory.
"""

from __future__ import annotations

from polysched.library.matmul.plan import MOST_DOT_ROWS, SHORTEST_BLOCK
from polysched.library.matmul.problem import Problem
from polysched.machine.description import Machine

CYCLES_A_TERM = 0.9
"""Cycles for one term of one row of at most a vector: measured."""

CYCLES_TO_STORE = 2
"""Cycles to store one element of the result by itself: measured 2 (``notes/performance.md``)."""

CYCLES_TO_ADD_UP = 9
"""Cycles for one element of the result in dot form: add up a vector of partial sums, handle the
last terms that fill no vector, and store the sum. Measured 8 to 10 (``notes/performance.md``).
"""

CYCLES_TO_TRANSPOSE = 1
"""Cycles to copy one element of ``b`` so that its column is contiguous."""


def pays_transposed(problem: Problem, machine: Machine) -> bool:
    """Whether the transposed product, whose left operand is ``b``, is estimated to be faster.

    A transposed ``a`` is then a row-major right operand. Any other ``a`` is a transposed right
    operand, which is multiplied in dot form: lanes are terms of a sum.
    """
    sizes, lanes = problem.sizes, machine.lanes(problem.total.bits)
    is_computed = problem.computed_a or problem.computed_b
    if is_computed or problem.gaps_a or sizes.n >= sizes.m or sizes.n > min(lanes, MOST_DOT_ROWS):
        return False
    if not problem.transpose_a and sizes.k < SHORTEST_BLOCK:
        return False
    per_result = CYCLES_TO_STORE if problem.transpose_a else CYCLES_TO_ADD_UP
    cycles = sizes.n * (sizes.k / (machine.fma_units * lanes) + per_result)
    if not (problem.transpose_a or problem.transpose_b):
        cycles += CYCLES_TO_TRANSPOSE * sizes.n * sizes.k / sizes.m
    return cycles < CYCLES_A_TERM * sizes.k
