"""VNNI layout: products of int8, int16 and bf16 by dot-product instructions.

``b`` is copied into the VNNI layout (:class:`VnniLayout`): 4 or 2 consecutive terms of a column are
adjacent in memory, as the terms of a row of ``a`` are. So the schedule can tensorize the loop over
a group: one instruction adds all products of the group to a 32-bit lane.

A matrix unit computes whole tiles in this layout (:mod:`polysched.library.matmul.plan.tiles`).

``vpdpbusd`` multiplies unsigned by signed bytes. If both operands are signed, 128 is added to each
element of the copy of ``b``, and 128 times the sum of the row of ``a`` is subtracted from each sum.
Both wrap modulo 2**32, as the sums do. If both are unsigned, 128 is subtracted first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from polysched.ir.expr.dtypes import DType, bf16, f32, i8, i16, i32, u8
from polysched.library.matmul.kernel.operands import DENSE, Stored, VnniLayout
from polysched.library.matmul.plan.problem import Problem
from polysched.machine.description import Machine


def vnni_layout_of(problem: Problem, machine: Machine) -> VnniLayout | None:
    """The VNNI layout of a product on a machine; None if the product has no use for it."""
    a, b, sizes, costs = problem.a, problem.b, problem.sizes, machine.costs
    if not (isinstance(a, Stored) and isinstance(b, Stored)) or problem.total not in (i32, f32):
        return None
    left, right = problem.types
    if (left, right) not in _VNNI_LAYOUTS or sizes.k < costs.vnni_terms:
        return None
    # Imports the interpreter, which takes longer than a call that finds its code.
    from polysched.instructions.lookup import sum_of_products  # noqa: PLC0415
    from polysched.library.matmul.plan.tiles import tile_layout_of  # noqa: PLC0415

    is_scattered = a.is_transposed or a.has_gaps
    tiled = tile_layout_of(problem, machine)
    if tiled is not None:
        return tiled
    lanes = machine.lanes(problem.total.bits)
    features = machine.enabled_features
    for layout in _VNNI_LAYOUTS[left, right]:
        if sizes.m < (costs.vnni_rows if layout.terms > 2 else costs.vnni_pair_rows):
            continue
        # The row sums of a shifted layout have no dimension for a stack.
        is_allowed = not layout.shift or sizes.batch == 1
        if is_allowed and sum_of_products((left, layout.type), layout.terms, lanes, features):
            return replace(layout, copies_a=is_scattered or sizes.k % layout.terms > 0)
    return None


_VNNI_LAYOUTS: Mapping[tuple[DType, DType], tuple[VnniLayout, ...]] = MappingProxyType(
    {
        (i8, i8): (VnniLayout(4, u8, shift=128), VnniLayout(2, i8)),
        (i8, u8): (VnniLayout(4, u8), VnniLayout(2, u8)),
        (u8, i8): (VnniLayout(4, i8), VnniLayout(2, i8)),
        (u8, u8): (VnniLayout(4, i8, shift=-128), VnniLayout(2, u8)),
        (i16, i16): (VnniLayout(2, i16),),
        (bf16, bf16): (VnniLayout(2, bf16),),
    }
)
"""The layouts for the types of ``a`` and ``b``, the fastest first."""


def as_32_bit(problem: Problem, vnni: VnniLayout) -> Problem:
    """The product of 32-bit elements with one term for each group, which is planned instead."""
    sizes = problem.sizes
    return replace(
        problem, sizes=sizes._replace(k=vnni.groups(sizes.k)), dtype=problem.total, a=DENSE, b=DENSE
    )
