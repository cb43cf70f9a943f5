"""Recipe of a computed operand: the part of it that generated code depends on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from polysched.ir.declare.builder import ArrayHandle, KernelBuilder
from polysched.ir.expr.dtypes import DType, i64
from polysched.ir.expr.expressions import Expression, Load
from polysched.ir.expr.functions import cast
from polysched.ir.expr.traversal import transform
from polysched.library.matmul.operands import ComputedOperand, Element, Strides


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
        return ComputedOperand(_Producer(self, operand), is_transposed=self.reads_columns)

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
