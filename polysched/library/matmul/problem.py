"""What a plan is for: one kind of product."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.ir.dtypes import DType, f32
from polysched.library.matmul.kernel import Sizes, accumulator_of
from polysched.library.matmul.operands import AS_IT_IS, Made, Origin, Stored, Strides


@dataclass(frozen=True)
class Problem:
    """A product to be planned: its sizes, the type of its operands, where these come from.

    ``accumulator`` is the type of the sums, if it is not the usual one, ``strides_out`` are those
    of the result, None for no gaps.
    """

    sizes: Sizes
    dtype: DType = f32
    accumulator: DType | None = None
    a: Origin = AS_IT_IS
    b: Origin = AS_IT_IS
    strides_out: Strides | None = None

    @property
    def total(self) -> DType:
        """The type of the sums."""
        return self.accumulator or accumulator_of(self.dtype)

    @property
    def transpose_a(self) -> bool:
        """Whether ``a`` is an array that is stored transposed."""
        return isinstance(self.a, Stored) and self.a.is_transposed

    @property
    def transpose_b(self) -> bool:
        """Whether ``b``, or what it is made of, is stored transposed."""
        return self.b.is_transposed

    @property
    def gaps_a(self) -> bool:
        """Whether ``a`` is an array that no vector of neighbors can be loaded from."""
        return isinstance(self.a, Stored) and self.a.has_gaps

    @property
    def gaps_b(self) -> bool:
        """The same of ``b``."""
        return isinstance(self.b, Stored) and self.b.has_gaps

    @property
    def computed_a(self) -> bool:
        """Whether ``a`` is made of further inputs."""
        return isinstance(self.a, Made)

    @property
    def computed_b(self) -> bool:
        """The same of ``b``."""
        return isinstance(self.b, Made)

    @property
    def leading_a(self) -> int:
        """Elements from one row of ``a`` to the next, as it is stored."""
        return _leading(self.a, self.sizes.k, self.sizes.m)

    @property
    def leading_b(self) -> int:
        """The same of ``b``."""
        return _leading(self.b, self.sizes.n, self.sizes.k)

    @property
    def leading_out(self) -> int:
        """Elements from one row of the result to the next."""
        return self.sizes.n if self.strides_out is None else self.strides_out[-2]

    @property
    def flops(self) -> int:
        """Multiplications and additions."""
        return 2 * self.sizes.batch * self.sizes.m * self.sizes.n * self.sizes.k


def _leading(origin: Origin, columns: int, rows: int) -> int:
    """Elements from one row of an operand to the next, as it is stored."""
    if isinstance(origin, Stored) and origin.strides is not None:
        return origin.strides[-2]
    return rows if origin.is_transposed else columns
