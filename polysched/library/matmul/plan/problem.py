"""The planning problem: sizes, element types and operand origins of one kind of product."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.ir.expr.dtypes import DType, f32
from polysched.library.matmul.kernel.declare import Sizes, accumulator_of, stored_type
from polysched.library.matmul.kernel.operands import DENSE, ComputedOperand, Origin, Stored, Strides


@dataclass(frozen=True)
class Problem:
    """A product to be planned.

    Attributes:
        sizes: rows, columns, terms and the number of products.
        dtype: element type of the operands, unless their origins have another.
        accumulator: type of the sums; None for :func:`accumulator_of` of ``dtype``.
        result: type of the result; None for that of the sums.
        strides_out: the strides of the result in elements; None for no gaps.
    """

    sizes: Sizes
    dtype: DType = f32
    accumulator: DType | None = None
    result: DType | None = None
    a: Origin = DENSE
    b: Origin = DENSE
    strides_out: Strides | None = None

    @property
    def total(self) -> DType:
        """The type of the sums."""
        return self.accumulator or accumulator_of(self.dtype)

    @property
    def types(self) -> tuple[DType, DType]:
        """The element types of ``a`` and of ``b``."""
        return stored_type(self.a, self.dtype), stored_type(self.b, self.dtype)

    @property
    def transpose_a(self) -> bool:
        """Whether ``a`` is an array that is stored transposed."""
        return isinstance(self.a, Stored) and self.a.is_transposed

    @property
    def transpose_b(self) -> bool:
        """Whether ``b``, or the inputs that it is computed from, are stored transposed."""
        return self.b.is_transposed

    @property
    def gaps_a(self) -> bool:
        """Whether ``a`` is an array from which no contiguous vector can be loaded."""
        return isinstance(self.a, Stored) and self.a.has_gaps

    @property
    def gaps_b(self) -> bool:
        """Whether ``b`` is an array from which no contiguous vector can be loaded."""
        return isinstance(self.b, Stored) and self.b.has_gaps

    @property
    def computed_a(self) -> bool:
        """Whether ``a`` is computed from further inputs."""
        return isinstance(self.a, ComputedOperand)

    @property
    def computed_b(self) -> bool:
        """Whether ``b`` is computed from further inputs."""
        return isinstance(self.b, ComputedOperand)

    @property
    def leading_a(self) -> int:
        """The leading dimension of ``a`` as stored, in elements."""
        return _leading(self.a, self.sizes.k, self.sizes.m)

    @property
    def leading_b(self) -> int:
        """The leading dimension of ``b`` as stored, in elements."""
        return _leading(self.b, self.sizes.n, self.sizes.k)

    @property
    def leading_out(self) -> int:
        """The leading dimension of the result, in elements."""
        return self.sizes.n if self.strides_out is None else self.strides_out[-2]

    @property
    def flops(self) -> int:
        """Multiplications and additions of all products."""
        return 2 * self.sizes.batch * self.sizes.m * self.sizes.n * self.sizes.k


def _leading(origin: Origin, columns: int, rows: int) -> int:
    """The leading dimension of an operand as stored, in elements."""
    if isinstance(origin, Stored) and origin.strides is not None:
        return origin.strides[-2]
    return rows if origin.is_transposed else columns
