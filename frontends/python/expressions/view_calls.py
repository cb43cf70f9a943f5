"""Calls of numpy's functions and methods that make views and rounded elements."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polysched.frontends.python.expressions.array_calls import ArrayCalls, axis_number, copied
from polysched.frontends.python.expressions.functions import call
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Operand,
    Subscripts,
    require_defined,
    tidy,
    viewed,
)
from polysched.frontends.python.scope.array_views import (
    diagonal,
    expanded,
    flipped,
    reshaped,
    squeezed,
    swapped,
)
from polysched.frontends.python.values.value import Value
from polysched.ir.core.kernel import Role
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.functions import equal, select

VIEW_METHODS = frozenset({"flatten", "ravel", "repeat", "reshape", "round", "squeeze", "swapaxes"})
"""The methods of arrays that are translated here."""


@dataclass(frozen=True)
class ViewCalls:
    """Translator of these calls at one place of a function."""

    calls: ArrayCalls

    def made(self, function: Any, node: ast.Call) -> Operand | None:
        """The result of a function; None if it is another function."""
        table: Mapping[Any, Callable[..., Operand]] = {
            np.around: self._round,
            np.diagonal: lambda a: diagonal(self.calls.build, self._array(a)),
            np.expand_dims: self._expand,
            np.fliplr: lambda m: flipped(self._array(m), 1),
            np.flipud: lambda m: flipped(self._array(m), 0),
            np.ravel: self._ravel,
            np.repeat: self._repeat,
            np.reshape: self._reshape,
            np.round: self._round,
            np.sign: self._sign,
            np.squeeze: self._squeeze,
            np.swapaxes: self._swap,
        }
        for known, translate in table.items():
            if function is known:
                keywords = {str(keyword.arg): keyword.value for keyword in node.keywords}
                try:
                    bound = inspect.signature(translate).bind(*node.args, **keywords)
                except TypeError:
                    raise self._error(node, f"'{known.__name__}' with these arguments") from None
                return translate(*bound.args, **bound.kwargs)
        return None

    def method(self, name: str, array: ast.expr, node: ast.Call) -> Operand:
        """The result of a method in `VIEW_METHODS`.

        Raises:
            FrontendError, KernelError: the arguments are not supported.
        """
        if name == "flatten" and not node.args and not node.keywords:
            return copied(self._ravel(array))
        if name == "reshape" and not node.keywords and len(node.args) != 1:
            shape = ast.copy_location(ast.Tuple(node.args, ast.Load()), node)
            return self._reshape(array, shape)
        if name == "flatten":
            raise self._error(node, "'flatten' with these arguments")
        function = ast.copy_location(ast.Call(node.func, [array, *node.args], node.keywords), node)
        found = self.made(getattr(np, name), function)
        assert found is not None
        return found

    def _reshape(self, a: ast.expr, shape: ast.expr) -> ArrayValue:
        array = self._array(a)
        require_defined(array)
        if isinstance(shape, ast.Attribute) and shape.attr == "shape":
            return self._reshaped(array, self.calls.shape(shape))
        parts = shape.elts if isinstance(shape, ast.Tuple | ast.List) else [shape]
        extents: list[Expression | None] = []
        for part in parts:
            (extent,) = self.calls.shape(part)
            is_open = isinstance(tidy(extent), Constant) and tidy(extent) == Constant(-1)
            extents.append(None if is_open else extent)
        if extents.count(None) > 1:
            raise self._error(shape, "more than one extent of -1")
        return self._reshaped(array, extents)

    def _ravel(self, a: ast.expr) -> ArrayValue:
        return self._reshaped(self._array(a), [None])

    def _reshaped(self, array: ArrayValue, shape: Sequence[Expression | None]) -> ArrayValue:
        result = reshaped(self.calls.build, array, shape)
        base = result.base
        if base is not None and array.rank > 1 and base.array.role is Role.INOUT:
            self.calls.contiguous.add(base.array.name)
        return result

    def _repeat(self, a: ast.expr, repeats: ast.expr, axis: ast.expr | None = None) -> ArrayValue:
        array = self._array(a)
        at = 0 if axis is None and array.rank == 1 else self._axis(axis, array.rank, a)
        by = self._literal(repeats)
        if by is None or by < 1:
            raise self._error(repeats, "a number of repetitions that is no literal above 0")
        shape = (*array.shape[:at], tidy(array.shape[at] * by), *array.shape[at + 1 :])

        def outer(indices: Subscripts) -> Subscripts:
            return (*indices[:at], tidy(indices[at] // by), *indices[at + 1 :])

        return copied(viewed(array, shape, outer))

    def _sign(self, x: ast.expr) -> Operand:
        return self.calls.elementwise(_sign_of, self.calls.read(x))

    def _round(self, a: ast.expr, decimals: ast.expr | None = None) -> Operand:
        if decimals is not None and self._literal(decimals) != 0:
            raise self._error(decimals, "rounding to a number of decimals")
        operand = self.calls.read(a)
        if operand.dtype.is_integer:
            return operand
        return self.calls.elementwise(lambda value: call(np.rint, [value]), operand)

    def _expand(self, a: ast.expr, axis: ast.expr) -> ArrayValue:
        array = self._array(a)
        return expanded(array, self._axis(axis, array.rank + 1, a))

    def _squeeze(self, a: ast.expr, axis: ast.expr | None = None) -> ArrayValue:
        array = self._array(a)
        return squeezed(array, None if axis is None else self._axis(axis, array.rank, a))

    def _swap(self, a: ast.expr, axis1: ast.expr, axis2: ast.expr) -> ArrayValue:
        array = self._array(a)
        return swapped(array, *(self._axis(axis, array.rank, a) for axis in (axis1, axis2)))

    def _axis(self, node: ast.expr | None, rank: int, array: ast.expr) -> int:
        axis = None if node is None else axis_number(self.calls.read(node), rank)
        if axis is None:
            raise self._error(node or array, f"a dimension other than a literal below {rank}")
        return axis

    def _literal(self, node: ast.expr) -> int | None:
        value = self.calls.read(node)
        literal = value.literal if isinstance(value, Value) else None
        return literal if isinstance(literal, int) and not isinstance(literal, bool) else None

    def _array(self, node: ast.expr) -> ArrayValue:
        operand = self.calls.read(node)
        if not isinstance(operand, ArrayValue):
            raise self.calls.source.error(node, f"this is {operand.type_name}; expected an array")
        return operand

    def _error(self, node: ast.AST, what: str) -> Exception:
        return self.calls.source.error(node, f"{what} is not supported")


def _sign_of(value: Value) -> Value:
    """``np.sign``: 1, -1 or 0; NaN stays."""
    dtype, operand = value.dtype, value.expression
    one, minus, zero = (Constant(part, dtype) for part in _signs(dtype.is_float))
    rest = select(equal(operand, zero), zero, operand)
    return Value(select(operand > zero, one, select(operand < zero, minus, rest)))


def _signs(is_float: bool) -> tuple[int | float, ...]:
    return (1.0, -1.0, 0.0) if is_float else (1, -1, 0)
