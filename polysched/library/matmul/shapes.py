"""What the shapes of two operands say of their product: its sizes, its stack, where a bias lies."""

from __future__ import annotations

from collections.abc import Set
from itertools import zip_longest
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polysched.errors import CallError
from polysched.library.matmul.finish import Bias
from polysched.library.matmul.kernel import Sizes, Stack

NumpyArray: TypeAlias = np.ndarray[Any, Any]
Shape: TypeAlias = tuple[int, ...]


class Product(NamedTuple):
    """A product of two arrays, as a kernel has it.

    Attributes:
        sizes: of one product, and how many there are.
        stacks: the dimensions of the stack that the kernel has: without those of one matrix, those
            alike in one, and those of ``a`` alone that are rows of a taller matrix.
        shape: of the result.
        rows: rows of the result's matrices, None if ``a`` is a vector.
        columns: their columns, None if ``b`` is a vector.
    """

    sizes: Sizes
    stacks: tuple[Stack, ...]
    shape: Shape
    rows: int | None
    columns: int | None

    @property
    def is_empty(self) -> bool:
        """Whether the result has no element."""
        return not (self.sizes.m and self.sizes.n and self.sizes.batch)

    @property
    def outer(self) -> Shape:
        """The extents of the kernel's stack."""
        return tuple(stack.extent for stack in self.stacks)

    def outer_of(self, operand: str) -> Shape:
        """The extents of the stack of ``"a"`` or ``"b"``."""
        return tuple(s.extent for s in self.stacks if (s.of_a if operand == "a" else s.of_b))

    @property
    def turned(self) -> Product:
        """The product of the transposed operands, the second first."""
        sizes = self.sizes._replace(m=self.sizes.n, n=self.sizes.m)
        stacks = tuple(Stack(one.extent, one.of_b, one.of_a) for one in self.stacks)
        return self._replace(sizes=sizes, stacks=stacks)


def product_of(a: Shape, b: Shape, apart: Set[int] = frozenset()) -> Product:
    """The product of operands of two shapes, by the rules of ``numpy.matmul``.

    Args:
        a: the shape of the left operand.
        b: that of the right one.
        apart: before which dimensions of the stack, counted from its end, memory has a gap, so that
            they stay dimensions of their own: 0 is that of the rows, 1 the last one.

    Raises:
        CallError: the shapes do not fit.
    """
    for name, operand in (("a", a), ("b", b)):
        if not operand:
            raise CallError(
                f"matmul: '{name}' has no dimension; expected a matrix, or multiply by *"
            )
    rows, columns = (a[-2] if len(a) > 1 else None), (b[-1] if len(b) > 1 else None)
    terms, terms_of_b = a[-1], (b[-2] if len(b) > 1 else b[0])
    if terms != terms_of_b:
        raise CallError(
            f"matmul: 'a' of shape {a} has {terms} columns and 'b' of shape {b} has {terms_of_b} "
            "rows; expected as many"
        )
    stack = _stack(a, b)
    shape = (
        *(one.extent for one in stack),
        *(extent for extent in (rows, columns) if extent is not None),
    )
    height, width = (1 if extent is None else extent for extent in (rows, columns))
    stacks = _joined(stack, apart)
    if stacks and not stacks[-1].of_b and 0 not in apart:
        height *= stacks[-1].extent
        stacks = stacks[:-1]
    count = prod(one.extent for one in stacks)
    return Product(Sizes(height, width, terms, count), stacks, shape, rows, columns)


def _stack(a: Shape, b: Shape) -> tuple[Stack, ...]:
    """The dimensions of the result's stack, as numpy broadcasts those of the operands.

    Raises:
        CallError: they do not fit.
    """
    pairs = list(zip_longest(reversed(a[:-2]), reversed(b[:-2]), fillvalue=1))
    if any(of_a != of_b and 1 not in (of_a, of_b) for of_a, of_b in pairs):
        raise CallError(
            f"matmul: 'a' of shape {a} and 'b' of shape {b} are stacks of {a[:-2]} and {b[:-2]} "
            "matrices; expected extents that are equal, or 1 in one of the two"
        )
    return tuple(
        Stack(of_b if of_a == 1 else of_a, of_a != 1, of_b != 1) for of_a, of_b in reversed(pairs)
    )


def gaps_of(shape: Shape, strides: Shape) -> frozenset[int]:
    """Before which dimensions of a stack an array has a gap, as :func:`product_of` takes them."""
    found = set()
    inner, reach = None, 0
    for behind, (extent, stride) in enumerate(zip(shape[-2::-1], strides[-2::-1], strict=True)):
        if extent == 1:
            continue
        if inner is not None and stride != reach:
            found.add(inner)
        inner, reach = behind, stride * extent
    return frozenset(found)


def _joined(stack: tuple[Stack, ...], apart: Set[int]) -> tuple[Stack, ...]:
    """A stack without dimensions of one matrix, and neighbors of one kind as one dimension, but
    where they are to stay apart.
    """
    found: list[Stack] = []
    for behind, one in zip(range(len(stack), 0, -1), stack, strict=True):
        if found and found[-1][1:] == one[1:] and behind not in apart:
            found[-1] = found[-1]._replace(extent=found[-1].extent * one.extent)
        elif one.of_a or one.of_b:
            found.append(one)
    return tuple(found)


def bias_of(bias: Shape, product: Product) -> tuple[Bias, int]:
    """Along which dimension of the kernel's product a bias lies, and how often it stands there.

    Raises:
        CallError: it is no vector along the last dimension of the result, and no column.
    """
    rows, columns = product.rows, product.columns
    last = rows if columns is None else columns
    leading = next((at for at, extent in enumerate(bias) if extent != 1), len(bias))
    varying = bias[leading:]
    is_column = rows is not None and columns is not None and varying == (rows, 1)
    if len(bias) > len(product.shape) or not (is_column or varying in ((), (last,))):
        vector = () if last is None else (last,)
        column = "" if rows is None or columns is None else f", or {(rows, 1)} for one of each row"
        raise CallError(
            f"matmul: bias has shape {bias}; expected {vector}{column}: the result has shape "
            f"{product.shape}"
        )
    if rows is not None and (is_column or columns is None):
        return Bias.ROWS, product.sizes.m // rows if rows else 1
    return Bias.COLUMNS, 1
