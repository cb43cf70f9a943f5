"""Operands of a matmul kernel: stored arrays, computed operands, and the VNNI layout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from polysched.ir.declare.builder import ArrayHandle, KernelBuilder
from polysched.ir.expr.dtypes import DType, i64
from polysched.ir.expr.expressions import Expression, Load
from polysched.ir.expr.functions import cast
from polysched.ir.expr.traversal import transform

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
        dtype: the element type if it is not that of the product: u8 in products of bytes.
    """

    is_transposed: bool = False
    strides: Strides | None = None
    dtype: DType | None = None

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
        reads_bits: whether an input has elements that share bytes.
    """

    producer: Producer
    is_transposed: bool = False
    is_inlined: bool = False
    reads_bits: bool = False


Origin: TypeAlias = Stored | ComputedOperand
"""The origin of an operand."""

DENSE = Stored()
"""An input array that is row-major and without gaps."""


class OperandTile(NamedTuple):
    """The rows of ``a``, groups of terms and columns of ``b`` that one tile product takes."""

    rows: int
    groups: int
    columns: int


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
        tile: the tile of a matrix unit: the copies consist of whole tiles, those of consecutive
            terms one after the other. None for whole rows.
    """

    terms: int
    type: DType
    shift: int = 0
    copies_a: bool = False
    tile: OperandTile | None = None

    def groups(self, count: int) -> int:
        """The number of groups of ``count`` terms; zeros fill the last group.

        If both operands are copied to tiles, zeros fill the last tile too.
        """
        multiple = self.tile.groups if self.tile and self.copies_a else 1
        return -(-count // (self.terms * multiple)) * multiple


class Source(NamedTuple):
    """The properties of an input that generated code depends on."""

    dtype: DType
    shape: tuple[int, int]
    block: tuple[int, int]
    is_transposed: bool
    strides: Strides | None


@dataclass(frozen=True)
class Recipe:
    """How the elements of an operand are computed.

    Attributes:
        text: the expression in full, including the sign of zeros. It is the cache key: recipes with
            the same ``text`` have the same ``expression``.
        sources: the inputs. In ``expression`` a load from the array named ``"<i>"`` is the element
            of input ``i``.
        expression: the value of one element.
        is_transposed: whether the operand is the transposed matrix of that of the inputs.
    """

    text: str
    sources: tuple[Source, ...]
    expression: Expression = field(compare=False, repr=False)
    is_transposed: bool = False

    @property
    def transposed(self) -> Recipe:
        """The recipe of the transposed operand."""
        return replace(self, is_transposed=not self.is_transposed)

    def computed_operand(self, operand: str) -> ComputedOperand:
        """The kernel operand ``"a"`` or ``"b"`` that is computed by this recipe."""
        return ComputedOperand(
            _Producer(self, operand),
            is_transposed=self.reads_columns,
            reads_bits=any(source.dtype.is_odd_width for source in self.sources),
        )

    @property
    def reads_columns(self) -> bool:
        """Whether the largest input is contiguous along the columns of the operand."""
        largest = max(self.sources, key=lambda source: source.shape[0] * source.shape[1])
        return largest.is_transposed is not self.is_transposed


@dataclass(frozen=True)
class _Producer:
    """Producer of a recipe's operand. Declares the sources of ``"a"`` as ``a_0``, ``a_1``, ..."""

    recipe: Recipe
    operand: str

    def __call__(self, build: KernelBuilder) -> Element:
        recipe = self.recipe
        arrays = [
            _input(build, f"{self.operand}_{position}", source)
            for position, source in enumerate(recipe.sources)
        ]

        def element(row: Expression, column: Expression, *_: Expression) -> Expression:
            index = (column, row) if recipe.is_transposed else (row, column)

            def read(node: Expression) -> Expression | None:
                if not isinstance(node, Load) or node.subscripts:
                    return None
                source, array = recipe.sources[int(node.array)], arrays[int(node.array)]
                at = tuple(map(_position, index, source.shape, source.block))
                return array[at[::-1] if source.is_transposed else at]

            return transform(recipe.expression, read)

        return element


def _position(index: Expression, extent: int, block: int) -> Expression:
    """The index into an input for an index of the operand; an extent of 1 is broadcast."""
    if extent == 1:
        return cast(0, i64)
    return index if block == 1 else index // block


def _input(build: KernelBuilder, name: str, source: Source) -> ArrayHandle:
    shape = source.shape[::-1] if source.is_transposed else source.shape
    rows = "padded" if source.dtype.is_odd_width else None
    return build.input(name, source.dtype, shape, rows=rows, strides=source.strides)
