"""Calls of numpy that make arrays of a shape: ``np.zeros``, ``np.arange``, ``np.eye``."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.frontends.python.expressions.array_calls import ArrayCalls
from polysched.frontends.python.scope.array_values import ArrayValue, Subscripts, tidy
from polysched.frontends.python.values.numpy_operations import applied
from polysched.frontends.python.values.value import (
    Value,
    common_type,
    converted,
    number,
    stored,
)
from polysched.ir.expr.dtypes import f64, i64
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.functions import cast, equal, select

_FILLS: Mapping[Any, float | None] = MappingProxyType(
    {np.empty: None, np.zeros: 0, np.ones: 1, np.full: None}
)
_LIKE: Mapping[Any, float | None] = MappingProxyType(
    {np.empty_like: None, np.zeros_like: 0, np.ones_like: 1, np.full_like: None}
)
_EXPECTED: Mapping[Any, str] = MappingProxyType(
    {
        np.arange: "expected np.arange(start, stop, step)",
        np.eye: "expected np.eye(n), and a type such as dtype=np.float32",
        np.identity: "expected np.identity(n)",
        np.linspace: "expected np.linspace(start, stop, count)",
    }
)


@dataclass(frozen=True)
class NewArrays:
    """Translator of these calls at one place of a function."""

    calls: ArrayCalls

    def made(self, function: Any, node: ast.Call) -> ArrayValue | None:
        """The result of a function; None if it is another function."""
        if any(function is known for known in (*_FILLS, *_LIKE)):
            return self._filled(function, node)
        table: Mapping[Any, Callable[..., ArrayValue]] = {
            np.arange: self._arange,
            np.eye: self._eye,
            np.identity: self._eye,
            np.linspace: self._linspace,
        }
        for known, translate in table.items():
            if function is known:
                keywords = {str(keyword.arg): keyword.value for keyword in node.keywords}
                try:
                    bound = inspect.signature(translate).bind(*node.args, **keywords)
                except TypeError:
                    raise self.calls.source.error(node, _EXPECTED[known]) from None
                return translate(*bound.args, **bound.kwargs)
        return None

    def _filled(self, function: Any, node: ast.Call) -> ArrayValue:
        source = self.calls.source
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        arguments = list(node.args)
        if not arguments or set(keywords) - {"dtype"}:
            raise self.calls.source.error(
                node, "expected a shape, and a type such as dtype=np.float32"
            )
        fill: Value | None = None
        if function in _LIKE:
            like = self.calls.read(arguments.pop(0))
            if not isinstance(like, ArrayValue):
                raise source.error(node.args[0], "expected an array here")
            shape, dtype, start = like.shape, like.dtype, _LIKE[function]
        else:
            shape, dtype, start = self.calls.shape(arguments.pop(0)), f64, _FILLS[function]
        if function in (np.full, np.full_like):
            if not arguments:
                raise source.error(node, "expected a shape and a value")
            value = self.calls.read(arguments.pop(0))
            if not isinstance(value, Value):
                raise source.error(node, "expected a number to fill the array with")
            fill = value
            dtype = fill.dtype if function is np.full else dtype  # numpy's default
        elif start is not None:
            fill = number(start)
        dtype_node = keywords.get("dtype", arguments[0] if arguments else None)
        dtype = dtype if dtype_node is None else self.calls.dtype(dtype_node)
        if fill is None:
            return ArrayValue(shape, dtype, lambda _: Value(Constant(0, dtype)), is_undefined=True)
        element = Value(stored(fill, dtype))
        return ArrayValue(shape, dtype, lambda _: element)

    def _arange(
        self,
        start: ast.expr,
        stop: ast.expr | None = None,
        step: ast.expr | None = None,
        /,
    ) -> ArrayValue:
        """Integers alone: numpy computes the length of other ranges with rounding."""
        ends = [self.calls.extent(end) for end in (start, stop) if end is not None]
        lower, upper = ends if len(ends) == 2 else (Constant(0), ends[0])
        by = 1
        if step is not None:
            value = self.calls.read(step)
            literal = value.literal if isinstance(value, Value) else None
            if not isinstance(literal, int) or literal == 0:
                raise self.calls.source.error(
                    step, "expected a step that is a literal other than 0"
                )
            by = literal
        length = tidy(upper - lower if by > 0 else lower - upper)
        length = length if abs(by) == 1 else (length + (abs(by) - 1)) // abs(by)
        return ArrayValue((length,), i64, lambda indices: Value(cast(lower + by * indices[0], i64)))

    def _eye(self, N: ast.expr, *, dtype: ast.expr | None = None) -> ArrayValue:
        extent = self.calls.extent(N)
        element_type = f64 if dtype is None else self.calls.dtype(dtype)
        one, zero = (converted(number(value), element_type) for value in (1, 0))
        return ArrayValue(
            (extent, extent), element_type, lambda i: Value(select(equal(i[0], i[1]), one, zero))
        )

    def _linspace(self, start: ast.expr, stop: ast.expr, num: ast.expr) -> ArrayValue:
        """As numpy computes it: ``arange(num) * step + start``, and ``stop`` itself at the end."""
        ends = [self.calls.read(end) for end in (start, stop)]
        numbers = [end for end in ends if isinstance(end, Value)]
        if len(numbers) < 2:
            raise self.calls.source.error(
                start, "an array as an end of np.linspace is not supported"
            )
        common, _ = common_type(*numbers)
        dtype = common if common.is_float else f64
        first, last = (Value(converted(end, dtype)) for end in numbers)
        count = self.calls.extent(num)
        steps = Value(cast(tidy(count - 1), dtype))
        step = applied(np.true_divide, applied(np.subtract, last, first), steps)

        def at(indices: Subscripts) -> Value:
            index = indices[0]
            between = applied(np.add, applied(np.multiply, Value(cast(index, dtype)), step), first)
            is_last = equal(index, tidy(count - 1))
            at_end = select(is_last, last.expression, between.expression)
            return Value(select(equal(index, Constant(0)), first.expression, at_end))

        return ArrayValue((count,), dtype, at)
