"""Assignments to the elements that a mask selects: ``x[x < 0] = 0``, ``x[m] = 2 * y[m]``.

Every element gets either its new value or the one it has. On the right side, parts that the same
mask selects stand for whole arrays: the value at each element is the same.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.arrays.array_stores import ArrayStores
from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Operand,
    mapped,
    require_same,
    shape_text,
)
from polysched.frontends.python.source.changed_nodes import with_fields
from polysched.frontends.python.values.value import Value, chosen, stored
from polysched.ir.expr.dtypes import boolean

_EXPECTED = (
    "expected a number for the elements that a mask selects, or arithmetic with parts that the "
    "same mask selects, such as 'x[m] = 2 * y[m]'"
)


@dataclass(frozen=True)
class MaskedStores:
    """Translator of assignments to masked elements at one place of a function."""

    reader: Reader
    arrays: ArrayStores

    def mask(self, target: ast.expr) -> ArrayValue | None:
        """The condition in ``x[x < 0]``; None for another target."""
        if not isinstance(target, ast.Subscript):
            return None
        if isinstance(target.slice, ast.Slice | ast.Tuple | ast.Constant):
            return None
        operand = self.reader.operand(target.slice)
        is_mask = isinstance(operand, ArrayValue) and operand.dtype == boolean
        return operand if is_mask and isinstance(operand, ArrayValue) else None

    def assign(
        self, node: ast.stmt, target: ast.Subscript, mask: ArrayValue, value: ast.expr
    ) -> None:
        """Translate ``target = value``."""
        whole = self._unmasked(value, ast.dump(target.slice), mask)
        operand = self.reader.operand(whole)
        if isinstance(operand, ArrayValue) and whole is value:
            raise self.reader.source.error(value, _EXPECTED)
        self.store(node, target, mask, operand)

    def store(
        self, node: ast.stmt, target: ast.Subscript, mask: ArrayValue, value: Operand
    ) -> None:
        """Store a number, or the elements of an array of the mask's shape, where the mask holds."""
        array = self.reader.array(target.value)
        self._require_shape(target, array, mask)

        def element(condition: Value, new: Value, kept: Value) -> Value:
            return chosen(condition, Value(stored(new, array.dtype)), kept)

        try:
            result = mapped(self.reader.build, element, mask, value, array)
            self.arrays.store(node, array, result)
        except KernelError as error:
            raise self.reader.source.error(node, str(error)) from None

    def selected(self, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """Split ``f(x[m], y[m])`` into ``f(x, y)`` and ``m``; None for other expressions.

        Every array in the expression is one that the mask selects from, because others have
        another length.
        """
        operands = list(self._operands(node))
        for part in operands:
            mask = self.mask(part)
            if mask is None or not isinstance(part, ast.Subscript):
                continue
            index = ast.dump(part.slice)
            for operand in operands:
                is_selected = (
                    isinstance(operand, ast.Subscript) and ast.dump(operand.slice) == index
                )
                if not is_selected and isinstance(self.reader.operand(operand), ArrayValue):
                    return None
            return self._unmasked(node, index, mask), part.slice
        return None

    def _operands(self, node: ast.expr) -> Iterator[ast.expr]:
        """The operands of the operations that compute each element of an expression."""
        inner: list[ast.expr] = []
        match node:
            case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
                inner = [left, right]
            case ast.UnaryOp(operand=operand):
                inner = [operand]
            case ast.Call(func=func, args=arguments, keywords=[]) if self._is_elementwise(func):
                inner = arguments
            case _:
                yield node
        for operand in inner:
            yield from self._operands(operand)

    def _unmasked(self, node: ast.expr, mask: str, shape: ArrayValue) -> ast.expr:
        """An expression with whole arrays in the place of the parts that a mask selects."""
        match node:
            case ast.Subscript(value=array, slice=index) if ast.dump(index) == mask:
                self._require_shape(node, self.reader.array(array), shape)
                return array
            case ast.BinOp(left=left, right=right):
                sides = [self._unmasked(side, mask, shape) for side in (left, right)]
                return with_fields(node, left=sides[0], right=sides[1])
            case ast.Call(func=func, args=arguments, keywords=[]) if self._is_elementwise(func):
                parts = [self._unmasked(argument, mask, shape) for argument in arguments]
                if all(part is other for part, other in zip(parts, arguments, strict=True)):
                    return node
                return with_fields(node, args=parts)
            case ast.Compare(left=left, comparators=[right]):
                sides = [self._unmasked(side, mask, shape) for side in (left, right)]
                changed = [sides[1]] if sides[1] is not right else node.comparators
                return with_fields(node, left=sides[0], comparators=changed)
            case ast.UnaryOp(operand=operand):
                return with_fields(node, operand=self._unmasked(operand, mask, shape))
        return node

    def _is_elementwise(self, func: ast.expr) -> bool:
        """Whether a function of whole arrays computes each element from those at its place."""
        if not isinstance(func, ast.Name | ast.Attribute) or self.reader.is_inside(func):
            return False
        return isinstance(self.reader.outer(func), np.ufunc) or self.reader.outer(func) is abs

    def _require_shape(self, node: ast.expr, array: ArrayValue, mask: ArrayValue) -> None:
        build = self.reader.build
        is_same = array.rank == mask.rank and all(
            require_same(build, extent, other)
            for extent, other in zip(array.shape, mask.shape, strict=True)
        )
        if not is_same:
            raise self.reader.source.error(
                node,
                f"a mask of shape {shape_text(mask.shape)} for an array of shape "
                f"{shape_text(array.shape)}",
            )
