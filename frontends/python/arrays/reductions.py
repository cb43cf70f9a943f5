"""Reductions over whole arrays: ``np.sum``, ``np.max``, ``np.var`` and similar functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.frontends.python.arrays.accumulation import Accumulation
from polysched.frontends.python.arrays.contractions import PRODUCTS, named_product
from polysched.frontends.python.arrays.positions import position
from polysched.frontends.python.arrays.scans import OPERATORS, scan, scan_operator
from polysched.frontends.python.expressions.array_calls import ArrayCalls, axis_number
from polysched.frontends.python.expressions.functions import call
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Operand,
    Subscripts,
    cast_to,
    mapped,
    require_defined,
)
from polysched.frontends.python.scope.axes import joined_indices, split_shape, with_ones
from polysched.frontends.python.source.function_source import FunctionSource
from polysched.frontends.python.values.numpy_operations import applied
from polysched.frontends.python.values.operations import combine
from polysched.frontends.python.values.value import Value, converted, literal_of, number
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, as_dtype, boolean
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.functions import not_equal
from polysched.ir.expr.operators import Operator

_UFUNCS: Mapping[Any, np.ufunc] = MappingProxyType(
    {
        np.sum: np.add,
        np.prod: np.multiply,
        np.min: np.minimum,
        np.max: np.maximum,
        np.any: np.logical_or,
        np.all: np.logical_and,
    }
)
_METHODS: Mapping[str, Any] = MappingProxyType(
    {
        "all": np.all,
        "any": np.any,
        "argmax": np.argmax,
        "argmin": np.argmin,
        "cumprod": np.cumprod,
        "cumsum": np.cumsum,
        "dot": np.dot,
        "max": np.max,
        "mean": np.mean,
        "min": np.min,
        "prod": np.prod,
        "std": np.std,
        "sum": np.sum,
        "var": np.var,
    }
)


def reduction_named(name: str) -> Any:
    """The reduction that a method of arrays is; None if it is none."""
    return _METHODS.get(name)


def is_reduction(function: Any) -> bool:
    """Whether a function reduces whole arrays."""
    is_known = any(function is known for known in (*_METHODS.values(), *PRODUCTS))
    return is_known or scan_operator(function) is not None


@dataclass(frozen=True)
class _Options:
    axes: tuple[int, ...]
    keepdims: bool
    dtype: DType | None
    ddof: ast.expr | None
    initial: ast.expr | None


@dataclass(frozen=True)
class Reductions:
    """Translator of the reductions at one place of a function."""

    accumulation: Accumulation

    @property
    def _calls(self) -> ArrayCalls:
        return self.accumulation.stores.reader.calls

    @property
    def _source(self) -> FunctionSource:
        return self.accumulation.stores.reader.source

    @property
    def _build(self) -> KernelBuilder:
        return self.accumulation.stores.reader.build

    def reduced(self, node: ast.Call, function: Any, array: Operand | None) -> Operand:
        """A reduction's call; ``array`` is given for methods."""
        arguments = list(node.args)
        if array is None:
            if not arguments:
                raise self._source.error(node, "expected an array")
            array = self._calls.read(arguments.pop(0))
        if function in PRODUCTS:
            return named_product(self.accumulation, node, function, array, arguments)
        if not isinstance(array, ArrayValue):
            raise self._source.error(node, f"this is {array.type_name}; expected an array")
        require_defined(array)
        options = self._options(node, function, arguments, array.rank)
        operator, axes = scan_operator(function), options.axes
        if function in (np.argmax, np.argmin):
            is_largest = function is np.argmax
            extremum = self._accumulated(node, array, axes, np.max if is_largest else np.min, None)
            return position(self.accumulation, node, array, axes, extremum, is_largest=is_largest)
        if operator is not None:
            return scan(self.accumulation.stores, node, array, axes, operator)
        if function not in (np.mean, np.var, np.std):
            start = self._initial(options.initial, array, function, options.dtype)
            result = self._accumulated(node, array, axes, function, options.dtype, start)
        elif array.dtype.is_half and options.dtype is None:  # numpy computes these in f32
            wide = cast_to(self._build, array, array.dtype.arithmetic)
            result = cast_to(self._build, self._moment(node, function, wide, options), array.dtype)
            result = self.accumulation.stored(node, result, "half")
        else:
            result = self._moment(node, function, array, options)
        return with_ones(result, axes) if options.keepdims else result

    def _options(
        self, node: ast.Call, function: Any, arguments: list[ast.expr], rank: int
    ) -> _Options:
        """The arguments after the array."""
        options = {str(keyword.arg): keyword.value for keyword in node.keywords}
        if arguments:
            options.setdefault("axis", arguments.pop(0))
        allowed = {"axis", "keepdims"}
        allowed |= {"dtype"} if function in (np.sum, np.prod, np.mean) else set()
        allowed |= {"ddof"} if function in (np.var, np.std) else set()
        allowed |= {"initial"} if function in (np.sum, np.prod, np.min, np.max) else set()
        unknown = sorted(options.keys() - allowed)
        if arguments or unknown:
            what = f"{unknown[0]}=" if unknown else "these arguments"
            raise self._source.error(node, f"'{function.__name__}' with {what} is not supported")
        if isinstance(getattr(function, "__self__", None), np.ufunc):  # np.add.accumulate
            options.setdefault("axis", ast.copy_location(ast.Constant(0), node))
        return _Options(
            self._axes(options.get("axis"), rank),
            self._truth(options.get("keepdims")),
            self._calls.dtype(options["dtype"]) if "dtype" in options else None,
            options.get("ddof"),
            options.get("initial"),
        )

    def _axes(self, node: ast.expr | None, rank: int) -> tuple[int, ...]:
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return tuple(range(rank))
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        numbers = [axis_number(self._calls.read(part), rank) for part in parts]
        axes = [number for number in numbers if number is not None]
        if len(set(axes)) < len(parts):
            raise self._source.error(
                node, f"expected literals from {-rank} to {rank - 1}, each dimension once"
            )
        return tuple(axes)

    def _truth(self, node: ast.expr | None) -> bool:
        if node is None:
            return False
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return node.value
        raise self._source.error(node, "expected True or False")

    def _accumulated(
        self,
        node: ast.AST,
        array: ArrayValue,
        axes: tuple[int, ...],
        function: Any,
        dtype: DType | None,
        initial: Expression | None = None,
    ) -> Operand:
        """``np.sum`` and the other functions that accumulate the elements by one operator."""
        ufunc = _UFUNCS[function]
        operator = OPERATORS[ufunc]
        dtype = _sum_type(array, function, dtype)
        if dtype == boolean:
            operator = {np.min: Operator.AND, np.max: Operator.OR}.get(function, operator)
        shapes = split_shape(array.shape, axes)

        def term(outer: Subscripts, inner: Subscripts) -> Expression:
            value = array.at(joined_indices(outer, inner, axes))
            if dtype == boolean and value.dtype != boolean:
                return not_equal(value.expression, Constant(0, value.dtype))
            return converted(value, dtype)

        def first(outer: Subscripts) -> Expression:
            return term(outer, tuple(Constant(0) for _ in axes))

        # numpy raises an error for the extremum of no elements, so the first one exists.
        start: Expression | Callable[[Subscripts], Expression] = first
        if initial is not None:
            start = initial
        elif function not in (np.min, np.max):
            start = literal_of(ufunc.identity, dtype)
        return self.accumulation.accumulate(node, shapes, dtype, operator, start, term)

    def _initial(
        self, node: ast.expr | None, array: ArrayValue, function: Any, dtype: DType | None
    ) -> Expression | None:
        """The value with which a reduction begins; None without ``initial=``."""
        if node is None:
            return None
        value, dtype = self._calls.read(node), _sum_type(array, function, dtype)
        if isinstance(value, ArrayValue) or value.alternatives or dtype == boolean:
            raise self._source.error(node, f"expected a number of type {dtype}")
        is_same = value.dtype == dtype if not value.is_weak else not value.dtype.is_float
        if not (is_same or (value.is_weak and dtype.is_float)):
            raise self._source.error(node, f"this is {value.type_name}; expected {dtype}")
        return converted(value, dtype)

    def _moment(self, node: ast.AST, function: Any, array: Operand, options: _Options) -> Operand:
        """The mean, the variance or the standard deviation."""
        assert isinstance(array, ArrayValue)
        if function is np.mean:
            return self._mean(node, array, options.axes, options.dtype)
        result = self._variance(node, array, options.axes, options.ddof)
        if function is np.var:
            return result
        result = mapped(self._build, partial(applied, np.sqrt), result)
        return self.accumulation.stored(node, result, "std")

    def _mean(
        self, node: ast.AST, array: ArrayValue, axes: tuple[int, ...], dtype: DType | None
    ) -> Operand:
        if dtype is None:
            dtype = as_dtype(np.mean(np.ones(1, array.dtype.numpy())).dtype)
        total = self._accumulated(node, array, axes, np.sum, dtype)
        count = self._calls.count(split_shape(array.shape, axes)[1], node)
        return self._quotient(node, total, count, "mean")

    def _variance(
        self, node: ast.AST, array: ArrayValue, axes: tuple[int, ...], ddof: ast.expr | None
    ) -> Operand:
        """The mean of the squared distances from the mean, as numpy computes it."""
        mean = with_ones(self._mean(node, array, axes, None), axes)
        distance = mapped(self._build, partial(combine, Operator.SUBTRACT), array, mean)
        square = mapped(
            self._build, lambda value: combine(Operator.MULTIPLY, value, value), distance
        )
        assert isinstance(square, ArrayValue)
        total = self._accumulated(node, square, axes, np.sum, None)
        count = self._calls.count(split_shape(array.shape, axes)[1], node)
        if ddof is not None:
            less = self._calls.read(ddof)
            if not isinstance(less, Value) or not isinstance(less.literal, int):
                raise self._source.error(ddof, "expected an integer literal")
            count = call(max, [combine(Operator.SUBTRACT, count, less), number(0)])
        return self._quotient(node, total, count, "variance")

    def _quotient(self, node: ast.AST, total: Operand, count: Value, hint: str) -> Operand:
        result = mapped(self._build, lambda value: applied(np.true_divide, value, count), total)
        return self.accumulation.stored(node, result, hint)


def _sum_type(array: ArrayValue, function: Any, dtype: DType | None) -> DType:
    """The type in which a reduction accumulates: ``dtype=``, or numpy's choice."""
    return dtype or as_dtype(function(np.ones(1, array.dtype.numpy())).dtype)
