"""What a plan is for: one kind of product."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.ir.dtypes import DType, f32
from polysched.library.matmul.kernel import Sizes, Strides, accumulator_of


@dataclass(frozen=True)
class Problem:
    """A product to be planned: its sizes, the type of its operands, how they are stored.

    An operand is ``computed`` if its elements come from further inputs; ``transpose_b`` then says
    that these are stored by columns of ``b``. The ``strides`` are those
    of the arrays as they are stored, as of the kernel; None for no gaps.
    """

    sizes: Sizes
    dtype: DType = f32
    accumulator: DType | None = None
    transpose_a: bool = False
    transpose_b: bool = False
    computed_a: bool = False
    computed_b: bool = False
    strides_a: Strides | None = None
    strides_b: Strides | None = None
    strides_out: Strides | None = None

    @property
    def total(self) -> DType:
        """The type of the sums."""
        return self.accumulator or accumulator_of(self.dtype)

    @property
    def leading_a(self) -> int:
        """Elements from one row of ``a`` to the next, as it is stored."""
        if self.strides_a is not None:
            return self.strides_a[-2]
        return self.sizes.m if self.transpose_a else self.sizes.k

    @property
    def leading_b(self) -> int:
        """The same of ``b``."""
        if self.strides_b is not None:
            return self.strides_b[-2]
        return self.sizes.k if self.transpose_b else self.sizes.n

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.sizes.batch * self.sizes.m * self.sizes.n * self.sizes.k
