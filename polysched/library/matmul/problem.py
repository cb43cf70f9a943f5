"""What a plan is for: one kind of product."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.ir.dtypes import DType, f32
from polysched.library.matmul.kernel import Sizes, accumulator_of


@dataclass(frozen=True)
class Problem:
    """A product to be planned: its sizes, the type of its operands, how they are stored."""

    sizes: Sizes
    dtype: DType = f32
    accumulator: DType | None = None
    transpose_a: bool = False
    transpose_b: bool = False

    @property
    def total(self) -> DType:
        """The type of the sums."""
        return self.accumulator or accumulator_of(self.dtype)

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.sizes.batch * self.sizes.m * self.sizes.n * self.sizes.k
