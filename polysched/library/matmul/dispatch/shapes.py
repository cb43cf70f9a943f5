"""Shape inference of a product by the rules of ``numpy.matmul``: sizes, stack and bias."""

from __future__ import annotations

from collections.abc import Set
from itertools import zip_longest
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from polysched.errors import CallError
from polysched.library.matmul.kernel.declare import Sizes, Stack
from polysched.library.matmul.kernel.epilogue import Bias

NumpyArray: TypeAlias = np.ndarray[Any, Any]
Shape: TypeAlias = tuple[int, ...]


class Product(NamedTuple):
    """The product of two arrays as a kernel computes it.

    Attributes:
        sizes: rows, columns and terms of one product, and the number of products.
        stacks: the dimensions of the kernel's stack. Dimensions of extent 1 are dropped, adjacent
            dimensions of one kind are collapsed, and a last dimension that only ``a`` has becomes
            rows of a taller matrix.
        shape: the shape of the result.
        rows: rows of the result's matrices; None if ``a`` is a vector.
        columns: columns of the result's matrices; None if ``b`` is a vector.
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
    def transposed(self) -> Product:
        """The product of the transposed operands in reverse order."""
        sizes = self.sizes._replace(m=self.sizes.n, n=self.sizes.m)
        stacks = tuple(Stack(stack.extent, stack.of_b, stack.of_a) for stack in self.stacks)
        return self._replace(sizes=sizes, stacks=stacks)


def product_of(a: Shape, b: Shape, apart: Set[int] = frozenset()) -> Product:
    """Infer the product of operands of two shapes, by the rules of ``numpy.matmul``.

    Args:
        apart: the dimensions that have a gap in memory before them and so cannot be collapsed with
            the next outer one. They are counted from the end: 0 is the rows, 1 is the last
            dimension of the stack.
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
        *(dim.extent for dim in stack),
        *(extent for extent in (rows, columns) if extent is not None),
    )
    height, width = (1 if extent is None else extent for extent in (rows, columns))
    stacks = _joined(stack, apart)
    if stacks and not stacks[-1].of_b and 0 not in apart:
        height *= stacks[-1].extent
        stacks = stacks[:-1]
    count = prod(dim.extent for dim in stacks)
    return Product(Sizes(height, width, terms, count), stacks, shape, rows, columns)


def _stack(a: Shape, b: Shape) -> tuple[Stack, ...]:
    """Broadcast the stacks of both operands, as numpy does."""
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
    """The dimensions before which an array has a gap, as :func:`product_of` takes them."""
    gaps = set()
    inner, reach = None, 0
    for behind, (extent, stride) in enumerate(zip(shape[-2::-1], strides[-2::-1], strict=True)):
        if extent == 1:
            continue
        if inner is not None and stride != reach:
            gaps.add(inner)
        inner, reach = behind, stride * extent
    return frozenset(gaps)


def _joined(stack: tuple[Stack, ...], apart: Set[int]) -> tuple[Stack, ...]:
    """Drop dimensions of extent 1, and collapse adjacent ones of one kind unless ``apart``."""
    collapsed: list[Stack] = []
    for behind, stack_dim in zip(range(len(stack), 0, -1), stack, strict=True):
        if collapsed and collapsed[-1][1:] == stack_dim[1:] and behind not in apart:
            last = collapsed[-1]
            collapsed[-1] = last._replace(extent=last.extent * stack_dim.extent)
        elif stack_dim.of_a or stack_dim.of_b:
            collapsed.append(stack_dim)
    return tuple(collapsed)


def bias_of(bias: Shape, product: Product, name: str = "bias") -> tuple[Bias, int]:
    """The dimension of the kernel's product along which a bias varies, and its repetitions.

    Args:
        bias: the shape of the bias, or of a scale.
        name: what errors call it.
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
            f"matmul: {name} has shape {bias}; expected {vector}{column}: the result has shape "
            f"{product.shape}"
        )
    if rows is not None and (is_column or columns is None):
        return Bias.ROWS, product.sizes.m // rows if rows else 1
    return Bias.COLUMNS, 1
