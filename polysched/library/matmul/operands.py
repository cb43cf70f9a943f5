"""Operands of a matmul kernel: stored arrays, computed operands, and the VNNI layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Expression

Strides: TypeAlias = tuple[int, ...]
"""The stride of each dimension of an array, in elements."""

Element: TypeAlias = Callable[..., Expression]
"""Returns an element of an operand from its row, its column and its indices in the stack.

The rows of ``a`` are rows of the product and its columns are terms of the sums. The rows of ``b``
are terms and its columns are columns of the product.
"""

Producer: TypeAlias = Callable[[KernelBuilder], Element]
"""Declares the inputs of a computed operand, and returns the function that computes an element."""


@dataclass(frozen=True)
class Stored:
    """An operand that is an input array, by default row-major and without gaps.

    Attributes:
        is_transposed: whether it is stored as ``a[k, m]``, or ``b[n, k]``.
        strides: the strides of the stored array, in elements, such as ``(lda, 1)``; None for no
            gaps.
    """

    is_transposed: bool = False
    strides: Strides | None = None

    @property
    def has_gaps(self) -> bool:
        """Whether the elements of a stored row are not contiguous."""
        return self.strides is not None and self.strides[-1] != 1


@dataclass(frozen=True)
class ComputedOperand:
    """An operand whose elements are computed from further inputs.

    Attributes:
        producer: declares the inputs, and returns the function that computes an element.
        is_transposed: whether the inputs are contiguous along the columns of the operand. Packing
            depends on it, the values do not.
        is_inlined: whether the expression replaces the operand in the sums. Otherwise a statement
            ``produce_a`` or ``produce_b`` writes the operand into a temporary array.
    """

    producer: Producer
    is_transposed: bool = False
    is_inlined: bool = False


Origin: TypeAlias = Stored | ComputedOperand
"""The origin of an operand."""

DENSE = Stored()
"""An input array that is row-major and without gaps."""


@dataclass(frozen=True)
class VnniLayout:
    """The VNNI layout of a copy of ``b``: groups of consecutive terms are adjacent in memory.

    One dot-product instruction multiplies a group and adds the products to a 32-bit lane.

    Attributes:
        terms: terms in a group.
        type: element type of the copy.
        shift: a number added to each element of the copy; the sums are corrected for it.
        copies_a: whether ``a`` is copied too, because the terms of its rows are not contiguous or
            do not fill whole groups.
    """

    terms: int
    type: DType
    shift: int = 0
    copies_a: bool = False

    def groups(self, count: int) -> int:
        """The number of groups of ``count`` terms; zeros fill the last group."""
        return -(-count // self.terms)
