"""Calls of numpy's functions and of array methods whose result is computed element by element."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.expressions.functions import call
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Operand,
    Subscripts,
    always,
    mapped,
    tidy,
    viewed,
)
from polysched.frontends.python.source.annotations import dtype_named, require_real
from polysched.frontends.python.source.function_source import FunctionSource
from polysched.frontends.python.values.operations import combine
from polysched.frontends.python.values.value import Value, common_type, converted, number, stored
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, as_dtype, i64
from polysched.ir.expr.expressions import Constant, Expression, operation
from polysched.ir.expr.functions import maximum, select, to_store
from polysched.ir.expr.operators import Operator

METHODS = frozenset({"astype", "clip", "copy", "transpose"})
"""The methods of arrays whose result is computed element by element."""
_NAMED = MappingProxyType(
    {
        "astype": "x.astype(dtype)",
        "clip": "x.clip(low, high)",
        "copy": "x.copy()",
        "transpose": "x.transpose()",
    }
)


@dataclass(frozen=True)
class ArrayCalls:
    """Translator of calls at one place of a function.

    Attributes:
        read: reads an operand.
        fitting: records that a Python integer must be proved to fit 64 bits, and returns it.
        contiguous: the arguments, so far, that have to be contiguous.
    """

    source: FunctionSource
    build: KernelBuilder
    read: Callable[[ast.expr], Operand]
    fitting: Callable[[Value, ast.AST], Value]
    contiguous: set[str]

    def made(self, function: Any, node: ast.Call) -> Operand | None:
        """The result of a function of numpy about arrays; None if it is another function."""
        ufunc = getattr(function, "__self__", None)
        if isinstance(ufunc, np.ufunc) and function.__name__ == "outer":
            return self._pairs(ufunc, node)
        table: Mapping[Any, Callable[..., Operand]] = {
            np.array: self._copy,
            np.asarray: self._asarray,
            np.clip: self._clip,
            np.copy: self._copy,
            np.diff: self._diff,
            np.flip: self._flip,
            np.outer: self._outer,
            np.roll: self._roll,
            np.transpose: self._transpose,
        }
        for known, translate in table.items():
            if function is known:
                arguments = self._arguments(function, node)
                known_names = inspect.signature(translate).parameters
                unknown = [name for name in arguments if name not in known_names]
                if unknown and "more" not in known_names:
                    raise self.source.error(
                        node, f"'{function.__name__}' with {unknown[0]}= is not supported"
                    )
                return translate(node, **arguments)
        return None

    def _pairs(self, function: np.ufunc, node: ast.Call) -> Operand:
        """``np.add.outer(a, b)``: a function of each element of one array with each of another."""
        if len(node.args) != 2 or node.keywords:
            raise self.source.error(node, "expected two arrays")
        left, right = self.read(node.args[0]), self.read(node.args[1])
        if isinstance(left, ArrayValue) and isinstance(right, ArrayValue):
            rank, ones = left.rank, (Constant(1),) * right.rank
            left = viewed(left, (*left.shape, *ones), lambda indices: indices[:rank])
        return self.apply(function, [left, right], node)

    def method(self, name: str, array: ArrayValue, node: ast.Call) -> Operand:
        """The result of a method in `METHODS`.

        Raises:
            FrontendError, KernelError: the arguments are not supported.
        """
        if node.keywords:
            raise self.source.error(node, f"expected {_NAMED[name]}")
        match name, node.args:
            case "copy", []:
                return copied(array)
            case "transpose", [ast.Tuple(elts=parts)]:
                return self._permuted(array, parts, node)
            case "transpose", parts:
                return self._permuted(array, parts, node)
            case "astype", [dtype]:
                target = self.dtype(dtype)
                return self.elementwise(lambda value: Value(stored(value, target)), array)
            case "clip", [low, high]:
                return self._clipped(array, self.read(low), self.read(high))
        raise self.source.error(node, f"expected {_NAMED[name]}")

    def elementwise(self, function: Callable[..., Value], *operands: Operand) -> Operand:
        """Apply a function of numbers to numbers and arrays."""
        return mapped(self.build, function, *operands)

    def apply(self, function: Any, operands: list[Operand], node: ast.AST) -> Operand:
        """Call a function of numbers; functions of numpy apply to the elements of arrays."""
        if any(isinstance(operand, ArrayValue) for operand in operands):
            is_type = isinstance(function, type) and issubclass(function, np.generic)
            if not (is_type or isinstance(function, np.ufunc) or function in (abs, np.where)):
                name = getattr(function, "__name__", str(function))
                raise KernelError(
                    f"'{name}' of a whole array is not supported; supported are numpy's functions "
                    "of single elements, np.where, np.clip, reductions such as np.sum and np.max, "
                    "np.dot, np.concatenate, np.pad, np.roll and np.diff; call other functions "
                    "outside of the compiled function"
                )
            return self.elementwise(lambda *values: call(function, list(values)), *operands)
        numbers = [operand for operand in operands if isinstance(operand, Value)]
        return self.fitting(call(function, numbers), node)

    def dtype(self, node: ast.expr) -> DType:
        """The element type that a ``dtype=`` names.

        Raises:
            FrontendError: it is not an element type.
        """
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            owner = self.read(node.value)
            return owner.dtype
        if isinstance(node, ast.Name) and node.id == "int":
            return i64
        try:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                # numpy's names count bytes: "i8" is int64 here, and int8 in annotations.
                with suppress(TypeError):
                    dtype = np.dtype(node.value)
                    require_real(dtype)
                    return as_dtype(dtype)
            return dtype_named(self.source, node)
        except KernelError as error:
            raise self.source.error(node, str(error)) from None

    def shape(self, node: ast.expr) -> Subscripts:
        """The extents that a shape argument gives."""
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            owner = self.read(node.value)
            if isinstance(owner, ArrayValue):
                return owner.shape
        if isinstance(node, ast.BinOp) and _is_tuple(node):
            return (*self.shape(node.left), *self.shape(node.right))
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            literals = [None if end is None else self._literal(end) for end in ends]
            return self.shape(node.value)[slice(*literals)]
        parts = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
        return tuple(self.extent(part) for part in parts)

    def extent(self, node: ast.expr) -> Expression:
        """The extent that an argument gives."""
        value = self.read(node)
        if not isinstance(value, Value) or not value.dtype.is_integer:
            raise self.source.error(node, "expected an extent: an integer of sizes")
        return value.expression

    def count(self, extents: Subscripts, node: ast.AST) -> Value:
        """The number of elements of a shape, a Python integer."""
        total = number(1)
        for extent in extents:
            total = combine(Operator.MULTIPLY, total, Value(self.length(extent), is_weak=True))
        return self.fitting(total, node)

    def length(self, extent: Expression) -> Expression:
        """An extent as a program sees it: 0 instead of an extent below 0."""
        return extent if always(self.build, extent >= 0) else maximum(extent, 0)

    def _literal(self, node: ast.expr) -> int:
        value = self.read(node)
        literal = value.literal if isinstance(value, Value) else None
        if not isinstance(literal, int):
            raise self.source.error(node, "expected a literal integer: the number of a dimension")
        return literal

    def _arguments(self, function: Any, node: ast.Call) -> dict[str, ast.expr]:
        """The arguments of a call by the names that numpy gives them."""
        try:
            signature = inspect.signature(function)
            keywords = {str(keyword.arg): keyword.value for keyword in node.keywords}
            arguments = signature.bind(*node.args, **keywords).arguments
            return {"a" if name == "object" else name: part for name, part in arguments.items()}
        except (TypeError, ValueError):
            raise self.source.error(
                node, f"'{function.__name__}' does not take these arguments"
            ) from None

    def _clip(
        self, node: ast.Call, a: ast.expr, a_min: ast.expr, a_max: ast.expr, **more: ast.expr
    ) -> Operand:
        if more:
            raise self.source.error(node, "expected np.clip(x, low, high)")
        return self._clipped(self.read(a), self.read(a_min), self.read(a_max))

    def _clipped(self, *operands: Operand) -> Operand:
        return self.elementwise(_clipped_number, *operands)

    def _copy(self, node: ast.Call, a: ast.expr) -> ArrayValue:
        return copied(self._array(a))

    def _asarray(self, node: ast.Call, a: ast.expr) -> ArrayValue:
        return self._array(a)

    def _transpose(self, node: ast.Call, a: ast.expr, axes: ast.expr | None = None) -> ArrayValue:
        parts = (
            axes.elts if isinstance(axes, ast.Tuple | ast.List) else [] if axes is None else [axes]
        )
        return self._permuted(self._array(a), parts, node)

    def _permuted(self, array: ArrayValue, parts: Sequence[ast.expr], node: ast.AST) -> ArrayValue:
        """The array with its dimensions in the order of some literals; reversed without them."""
        if not parts:
            return transposed(array)
        axes = [axis_number(self.read(part), array.rank) for part in parts]
        if sorted(axis for axis in axes if axis is not None) != list(range(array.rank)):
            raise self.source.error(node, f"expected the {array.rank} dimensions, as literals")
        order = [axis for axis in axes if axis is not None]
        shape = tuple(array.shape[axis] for axis in order)
        return viewed(
            array,
            shape,
            lambda indices: tuple(indices[order.index(at)] for at in range(len(order))),
        )

    def _diff(
        self,
        node: ast.Call,
        a: ast.expr,
        n: ast.expr | None = None,
        axis: ast.expr | None = None,
    ) -> Operand:
        array = self._array(a)
        times = 1 if n is None else self._literal(n)
        at = array.rank - 1 if axis is None else axis_number(self.read(axis), array.rank)
        if at is None or times < 1 or not (array.dtype.is_float or array.dtype.is_integer):
            raise self.source.error(node, "expected np.diff(x, n=1, axis=0) of numbers")
        for _ in range(times):
            shape = (*array.shape[:at], tidy(array.shape[at] - 1), *array.shape[at + 1 :])
            later, earlier = (viewed(array, shape, partial(_shifted, at, by)) for by in (1, 0))
            difference = self.elementwise(partial(combine, Operator.SUBTRACT), later, earlier)
            assert isinstance(difference, ArrayValue)
            array = difference
        return array

    def _flip(self, node: ast.Call, m: ast.expr) -> ArrayValue:
        array = self._array(m)
        return viewed(
            array,
            array.shape,
            lambda indices: tuple(
                tidy(extent - 1 - index) for extent, index in zip(array.shape, indices, strict=True)
            ),
        )

    def _outer(self, node: ast.Call, a: ast.expr, b: ast.expr) -> Operand:
        first, second = self._array(a), self._array(b)
        if first.rank != 1 or second.rank != 1:
            raise self.source.error(node, "expected two arrays with one dimension each")
        column = viewed(first, (first.shape[0], Constant(1)), lambda indices: indices[:1])
        return self.elementwise(partial(combine, Operator.MULTIPLY), column, second)

    def _roll(
        self, node: ast.Call, a: ast.expr, shift: ast.expr, axis: ast.expr | None = None
    ) -> ArrayValue:
        array = self._array(a)
        shifts = shift.elts if isinstance(shift, ast.Tuple) else [shift]
        axes = axis.elts if isinstance(axis, ast.Tuple) else [axis]
        if len(shifts) == 1:
            shifts = [*shifts] * len(axes)
        if len(axes) == 1:
            axes = [*axes] * len(shifts)
        if len(shifts) != len(axes):
            raise self.source.error(node, "expected one shift for each axis")
        for by, along in zip(shifts, axes, strict=True):
            value = self.read(by)
            at = 0 if along is None and array.rank == 1 else None
            if along is not None:
                at = axis_number(self.read(along), array.rank)
            literal = value.literal if isinstance(value, Value) else None
            if at is None or not isinstance(literal, int):
                raise self.source.error(node, "expected np.roll(x, shift, axis) with literals")
            array = viewed(array, array.shape, partial(_rolled, array.shape[at], at, literal))
        return copied(array)

    def _array(self, node: ast.expr) -> ArrayValue:
        operand = self.read(node)
        if not isinstance(operand, ArrayValue):
            raise self.source.error(node, f"this is {operand.type_name}; expected an array")
        return operand


def axis_number(value: Operand | None, rank: int) -> int | None:
    """The dimension, from 0, that an ``axis=`` literal names; None if it is no such literal."""
    literal = value.literal if isinstance(value, Value) else None
    if not isinstance(literal, int) or not -rank <= literal < rank:
        return None
    return literal % rank


def copied(array: ArrayValue) -> ArrayValue:
    """A copy: the elements without the memory."""
    return ArrayValue(array.shape, array.dtype, array.at, is_undefined=array.is_undefined)


def transposed(array: ArrayValue) -> ArrayValue:
    """``array.T``, a view."""
    return viewed(array, array.shape[::-1], lambda indices: indices[::-1])


def _shifted(axis: int, by: int, indices: Subscripts) -> Subscripts:
    return (*indices[:axis], tidy(indices[axis] + by), *indices[axis + 1 :])


def _rolled(extent: Expression, axis: int, by: int, indices: Subscripts) -> Subscripts:
    """The subscripts of the element that ``np.roll`` moves to some indices."""
    moved = tidy(indices[axis] - by)
    if by > 0:
        moved = select(moved < 0, tidy(moved + extent), moved)
    elif by < 0:
        moved = select(moved >= extent, tidy(moved - extent), moved)
    return (*indices[:axis], moved, *indices[axis + 1 :])


def _clipped_number(value: Value, low: Value, high: Value) -> Value:
    """``np.clip``: the minimum of ``high`` and the maximum of ``value`` and ``low``."""
    dtype, _ = common_type(value, low, high)
    if not dtype.is_float and not dtype.is_integer:
        raise KernelError(f"np.clip of {dtype} is not supported; expected numbers")
    part, least, most = (converted(operand, dtype) for operand in (value, low, high))
    clipped = operation(Operator.MINIMUM, operation(Operator.MAXIMUM, part, least), most)
    return Value(to_store(clipped, dtype))


def _is_tuple(node: ast.expr) -> bool:
    """Whether an expression is a tuple of extents, such as ``(n,) + x.shape[1:]``."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_tuple(left) and _is_tuple(right)
        case ast.Subscript(value=inner, slice=ast.Slice()):
            return _is_tuple(inner)
    return isinstance(node, ast.Tuple | ast.List) or (
        isinstance(node, ast.Attribute) and node.attr == "shape"
    )
