"""How an operand is computed from arrays: all that the code of a product depends on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from polysched.ir.builder import ArrayHandle, KernelBuilder
from polysched.ir.dtypes import DType, i64
from polysched.ir.expressions import Expression, Load
from polysched.ir.functions import cast
from polysched.ir.traversal import transform
from polysched.library.matmul.operands import Element, Made, Strides


class Source(NamedTuple):
    """All that code depends on of an input: its type, its shape, its blocks, how it is stored."""

    dtype: DType
    shape: tuple[int, int]
    block: tuple[int, int]
    is_transposed: bool
    strides: Strides | None


@dataclass(frozen=True)
class Recipe:
    """How an operand is computed; recipes with the same ``text`` have the same ``expression``.

    Attributes:
        text: the expression in every detail, the sign of a zero included.
        sources: the inputs. Loads from arrays named by their numbers stand for their elements.
        expression: of one element.
        is_turned: whether it is the transposed one of what the inputs make.
    """

    text: str
    sources: tuple[Source, ...]
    expression: Expression = field(compare=False, repr=False)
    is_turned: bool = False

    @property
    def turned(self) -> Recipe:
        """The recipe of the transposed operand."""
        return replace(self, is_turned=not self.is_turned)

    def made(self, operand: str) -> Made:
        """Operand ``"a"`` or ``"b"`` of a kernel, made of the sources."""
        return Made(_Producer(self, operand), is_transposed=self.reads_columns)

    @property
    def reads_columns(self) -> bool:
        """Whether neighbors in memory are neighbors in a column, of the largest input."""
        largest = max(self.sources, key=lambda one: one.shape[0] * one.shape[1])
        return largest.is_transposed is not self.is_turned


@dataclass(frozen=True)
class _Producer:
    """Declares the sources of ``"a"`` as ``a_0``, ``a_1``, ..., in their order."""

    recipe: Recipe
    operand: str

    def __call__(self, build: KernelBuilder) -> Element:
        recipe = self.recipe
        arrays = [
            _input(build, f"{self.operand}_{position}", source)
            for position, source in enumerate(recipe.sources)
        ]

        def element(row: Expression, column: Expression, *_: Expression) -> Expression:
            place = (column, row) if recipe.is_turned else (row, column)

            def read(node: Expression) -> Expression | None:
                if not isinstance(node, Load) or node.subscripts:
                    return None
                source, array = recipe.sources[int(node.array)], arrays[int(node.array)]
                at = tuple(map(_position, place, source.shape, source.block))
                return array[at[::-1] if source.is_transposed else at]

            return transform(recipe.expression, read)

        return element


def _position(index: Expression, extent: int, block: int) -> Expression:
    """Where an input has what an index of the operand needs; one element is there for all."""
    if extent == 1:
        return cast(0, i64)
    return index if block == 1 else index // block


def _input(build: KernelBuilder, name: str, source: Source) -> ArrayHandle:
    shape = source.shape[::-1] if source.is_transposed else source.shape
    rows = "padded" if source.dtype.is_odd else None
    return build.input(name, source.dtype, shape, rows=rows, strides=source.strides)
