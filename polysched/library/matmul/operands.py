"""How a kernel of products has its operands: stored in an array, or made of further inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import DType
from polysched.ir.expressions import Expression

Strides: TypeAlias = tuple[int, ...]
"""Elements from one index to the next, for each dimension of an array."""

Element: TypeAlias = Callable[..., Expression]
"""An element of an operand, from its row and column, and its positions in a stack if there is one.

The rows of ``a`` are those of the product, its columns the terms of the sums; the rows of ``b`` are
the terms, its columns those of the product.
"""

Producer: TypeAlias = Callable[[KernelBuilder], Element]
"""Declares the inputs that an operand is made of, and returns how."""


@dataclass(frozen=True)
class Stored:
    """An operand that is an array, by default of its own shape and without gaps.

    Attributes:
        is_transposed: whether it is stored as ``a[k, m]``, or ``b[n, k]``.
        strides: those of the array as it is stored, such as ``(lda, 1)``; None for no gaps.
    """

    is_transposed: bool = False
    strides: Strides | None = None

    @property
    def has_gaps(self) -> bool:
        """Whether the elements of a row, as it is stored, do not follow one another."""
        return self.strides is not None and self.strides[-1] != 1


@dataclass(frozen=True)
class Made:
    """An operand whose elements are computed from further inputs.

    Attributes:
        producer: declares these, and says how.
        is_transposed: whether neighbors in their memory are neighbors in a row of the transposed
            operand. What is computed does not depend on that, but how it is best packed.
        is_inlined: whether it stands in the sums where it is read; else it is an array, made by a
            statement ``produce_a`` or ``produce_b`` and never stored in memory of the caller.
    """

    producer: Producer
    is_transposed: bool = False
    is_inlined: bool = False


Origin: TypeAlias = Stored | Made
"""Where an operand comes from."""

AS_IT_IS = Stored()
"""An array of the operand's shape, without gaps."""


@dataclass(frozen=True)
class Grouping:
    """How the terms of a sum of products of small integers are multiplied: a few at once.

    Attributes:
        terms: so many, which lie side by side for each column in a copy of ``b``.
        type: of the elements of the copy.
        shift: what is added to each of them there, and taken off the sums again.
        copies_a: whether it is copied first, since the terms of a row do not lie side by side, or
            are no whole groups.
    """

    terms: int
    type: DType
    shift: int = 0
    copies_a: bool = False

    def groups(self, count: int) -> int:
        """How many groups so many terms are; the last one may have zeros in it."""
        return -(-count // self.terms)
