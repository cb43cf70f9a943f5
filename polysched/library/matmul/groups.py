"""Products of small integers, several terms of a sum in one instruction.

``b`` is copied so that a few terms of a column lie side by side (:class:`Grouping`), as those of a
row of ``a`` do; :mod:`polysched.codegen.dot_products` then adds their products at one go. The
instruction for four bytes takes unsigned ones times signed ones: 128 is added to those of ``b``,
and 128 times the sum of its row of ``a`` taken off each sum, which wraps like all the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from polysched.codegen.dot_instructions import has_dot_product
from polysched.ir.dtypes import DType, i8, i16, i32, u8
from polysched.library.matmul.operands import AS_IT_IS, Grouping, Stored
from polysched.library.matmul.problem import Problem
from polysched.machine.description import Machine

FEWEST_ROWS = 8
"""Rows of the product for which copying ``b`` pays; each element is used so often."""

FEWEST_ROWS_IN_PAIRS = 16
"""The same for pairs, which save half of what groups of four do."""

SHORTEST = 16
"""Terms of a sum for which it pays."""


def grouping_of(problem: Problem, machine: Machine) -> Grouping | None:
    """How the terms of a product are grouped on a machine; None if they are not."""
    a, b, sizes = problem.a, problem.b, problem.sizes
    if not (isinstance(a, Stored) and isinstance(b, Stored)) or problem.total != i32:
        return None
    if sizes.k < SHORTEST:
        return None
    lanes = machine.lanes(problem.total.bits)
    features = machine.enabled_features
    for one in _GROUPINGS.get(problem.dtype, ()):
        if sizes.m < (FEWEST_ROWS if one.terms > 2 else FEWEST_ROWS_IN_PAIRS):
            continue
        is_alone = not one.shift or sizes.batch == 1
        if is_alone and has_dot_product(problem.dtype, one.type, one.terms, lanes, features):
            apart = a.is_transposed or a.has_gaps
            return replace(one, copies_a=apart or sizes.k % one.terms > 0)
    return None


_GROUPINGS: Mapping[DType, tuple[Grouping, ...]] = MappingProxyType(
    {
        i8: (Grouping(4, u8, shift=128), Grouping(2, i8)),
        i16: (Grouping(2, i16),),
    }
)
"""By the type of the operands, the fastest first."""


def of_groups(problem: Problem, grouping: Grouping) -> Problem:
    """The product of 32-bit elements that a product of groups is like, to be planned."""
    sizes = problem.sizes
    return replace(
        problem,
        sizes=sizes._replace(k=grouping.groups(sizes.k)),
        dtype=problem.total,
        a=AS_IT_IS,
        b=AS_IT_IS,
    )
