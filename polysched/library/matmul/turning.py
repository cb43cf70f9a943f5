"""When a product of few columns is computed as the transposed one.

Columns become lanes, and where they fill a fraction of a vector the rest of it is idle. The rows of
the transposed product are few and its columns many. What that costs is the result, whose rows are
columns then: it is stored element by element.
"""

from __future__ import annotations

from polysched.library.matmul.plan import MOST_DOT_ROWS, SHORTEST_BLOCK
from polysched.library.matmul.problem import Problem
from polysched.machine.description import Machine

CYCLES_A_TERM = 0.9
"""What one row takes for a term if its columns fill a vector or less: it is loaded by itself."""

CYCLES_TO_STORE = 2
"""What an element of the result takes that is stored by itself."""

CYCLES_TO_ADD_UP = 9
"""The same if a vector of partial sums is added up for it, and the last terms fill none."""

CYCLES_TO_TRANSPOSE = 1
"""What an element of ``b`` takes to be copied to where its column is contiguous."""


def pays_turned(problem: Problem, machine: Machine) -> bool:
    """Whether the transposed product, which reads ``b`` first, is faster by far.

    A transposed ``a`` is then read as the rows of the second operand lie, any other along the sums.
    """
    sizes, lanes = problem.sizes, machine.lanes(problem.total.bits)
    is_computed = problem.computed_a or problem.computed_b
    if is_computed or problem.gaps_a or sizes.n >= sizes.m or sizes.n > min(lanes, MOST_DOT_ROWS):
        return False
    if not problem.transpose_a and sizes.k < SHORTEST_BLOCK:
        return False
    once = CYCLES_TO_STORE if problem.transpose_a else CYCLES_TO_ADD_UP
    turned = sizes.n * (sizes.k / (machine.fma_units * lanes) + once)
    if not (problem.transpose_a or problem.transpose_b):
        turned += CYCLES_TO_TRANSPOSE * sizes.n * sizes.k / sizes.m
    return turned < CYCLES_A_TERM * sizes.k
