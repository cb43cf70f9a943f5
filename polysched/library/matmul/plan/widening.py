"""Products of half types without a dot-product instruction: both operands are widened to f32.

The copies that are packed into the caches anyway hold f32, so that each element is converted once,
not once for each register tile. Measured on Zen 4, f16 of 1024^3: 64 GFLOP/s with conversions in
the registers, 103 with widened copies (f32: 107).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.functions import cast
from polysched.library.matmul.kernel.operands import ComputedOperand, Element, Origin, Stored
from polysched.library.matmul.plan.problem import Problem
from polysched.library.matmul.plan.vnni import vnni_layout_of
from polysched.machine.description import Machine

FEWEST_ROWS = 16
"""Widen the operands of products of at least this many rows; fewer rows are bound by memory."""


def widened(
    problem: Problem, outer: tuple[tuple[int, ...], tuple[int, ...]], machine: Machine
) -> Problem:
    """Return the product of f32 that computes a product of half types, if that is faster.

    Args:
        outer: the extents of the stack's dimensions that ``a`` and ``b`` have.
    """
    sizes, dtype = problem.sizes, problem.dtype
    if not dtype.is_half or sizes.m < FEWEST_ROWS or vnni_layout_of(problem, machine) is not None:
        return problem
    a = _widened("a", problem.a, dtype, (*outer[0], sizes.m, sizes.k))
    b = _widened("b", problem.b, dtype, (*outer[1], sizes.k, sizes.n))
    return replace(problem, dtype=dtype.arithmetic, a=a, b=b)


def _widened(name: str, origin: Origin, dtype: DType, shape: tuple[int, ...]) -> Origin:
    if not isinstance(origin, Stored):
        return origin
    producer = _Widened(f"{name}_{dtype}", origin, dtype, shape)
    return ComputedOperand(producer, is_transposed=origin.is_transposed)


@dataclass(frozen=True)
class _Widened:
    """Producer of the elements of a stored array, converted to f32."""

    name: str
    origin: Stored
    dtype: DType
    shape: tuple[int, ...]

    def __call__(self, build: KernelBuilder) -> Element:
        *outer, rows, columns = self.shape
        is_transposed = self.origin.is_transposed
        shape = (*outer, columns, rows) if is_transposed else self.shape
        array = build.input(self.name, self.dtype, shape, strides=self.origin.strides)

        def element(row: Expression, column: Expression, *stack: Expression) -> Expression:
            index = (column, row) if is_transposed else (row, column)
            return cast(array[(*stack, *index)], self.dtype.arithmetic)

        return element
