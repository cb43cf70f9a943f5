"""Reductions over whole arrays: ``np.sum``, ``np.max``, ``@`` and similar functions.

The order of numpy's float sums is not specified (it depends on the layout and on the processor), so
these reductions may be reassociated, whatever the order policy of the kernel: the last bits may
differ from numpy's. Loops that the program writes keep its order.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.arrays.array_stores import ArrayStores
from polysched.frontends.python.expressions.array_calls import ArrayCalls, axis_number
from polysched.frontends.python.expressions.functions import call
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Operand,
    Subscripts,
    cast_to,
    mapped,
    require_defined,
    require_same,
    shape_text,
    whole,
)
from polysched.frontends.python.scope.axes import joined_indices, split_shape, with_ones
from polysched.frontends.python.values.numpy_operations import applied
from polysched.frontends.python.values.operations import combine
from polysched.frontends.python.values.value import Value, converted, literal_of, number
from polysched.ir.core.kernel import Order
from polysched.ir.expr.dtypes import DType, as_dtype, boolean, i64
from polysched.ir.expr.expressions import Constant, Expression, Index, operation
from polysched.ir.expr.functions import cast, not_equal, select
from polysched.ir.expr.operators import Operator

_SIMPLE: Mapping[Any, tuple[Operator, Any]] = MappingProxyType(
    {
        np.sum: (Operator.ADD, np.add),
        np.prod: (Operator.MULTIPLY, np.multiply),
        np.min: (Operator.MINIMUM, np.minimum),
        np.max: (Operator.MAXIMUM, np.maximum),
        np.any: (Operator.OR, np.logical_or),
        np.all: (Operator.AND, np.logical_and),
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
_Rest: TypeAlias = tuple[DType | None, ast.expr | None]  # dtype= and ddof=
_FUNCTIONS = (*_METHODS.values(), np.matmul, np.inner, np.vdot)


def reduction_named(name: str) -> Any:
    """The reduction that a method of arrays is; None if it is none."""
    return _METHODS.get(name)


def is_reduction(function: Any) -> bool:
    """Whether a function reduces whole arrays."""
    is_known = any(function is known for known in _FUNCTIONS)
    return is_known or running_operator(function) is not None


def running_operator(function: Any) -> Operator | None:
    """The operator of ``np.cumsum``, or of ``np.maximum.accumulate``; None for other functions."""
    if function is np.cumsum or function is np.cumprod:
        return Operator.ADD if function is np.cumsum else Operator.MULTIPLY
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and getattr(function, "__name__", "") == "accumulate":
        return next((one for one, ufunc in _SIMPLE.values() if ufunc is owner), None)
    return None


@dataclass(frozen=True)
class Reductions:
    """Translator of the reductions at one place of a function.

    Attributes:
        labeled: the statements with an order policy of their own.
        hint: a name for the array of results.
    """

    stores: ArrayStores
    labeled: set[str]
    hint: str = "total"

    @property
    def _calls(self) -> ArrayCalls:
        return self.stores.reader.calls

    def product(self, node: ast.AST, left: Operand, right: Operand, function: Any) -> Operand:
        """``left @ right``, where ``right`` has one or two dimensions.

        Raises:
            KernelError: the operands are not such arrays, or their shapes do not fit.
        """
        if not isinstance(left, ArrayValue) or not isinstance(right, ArrayValue):
            raise KernelError("expected two arrays")
        if not (left.rank >= 1 and 1 <= right.rank <= 2):
            raise KernelError(
                f"a product of arrays with {left.rank} and {right.rank} dimensions is not "
                "supported; expected a second one with one or two: write loops, or use "
                "polysched.einsum"
            )
        require_defined(left)
        require_defined(right)
        shapes = f"shapes {shape_text(left.shape)} and {shape_text(right.shape)}"
        build = self.stores.reader.build
        if not require_same(build, left.shape[-1], right.shape[0]):
            raise KernelError(f"{shapes} do not fit a product: their inner extents differ")
        samples = [np.zeros((1,) * side.rank, side.dtype.numpy()) for side in (left, right)]
        dtype = as_dtype(np.asarray(function(*samples)).dtype)
        if dtype == boolean:
            raise KernelError("a product of conditions is not supported; convert one to numbers")
        rows, columns = left.shape[:-1], right.shape[1:]

        def term(kept: Subscripts, inner: Subscripts) -> Expression:
            first = left.at((*kept[: len(rows)], *inner))
            second = right.at((*inner, *kept[len(rows) :]))
            return converted(first, dtype) * converted(second, dtype)

        start = converted(number(0), dtype)
        return self._accumulated(
            node, (*rows, *columns), left.shape[-1:], dtype, (Operator.ADD, start), term
        )

    def contracted(self, node: ast.Call) -> Operand:
        """``np.einsum("ij,jk->ik", a, b)``.

        Raises:
            FrontendError, KernelError: the text does not fit the operands.
        """
        source, build = self.stores.reader.source, self.stores.reader.build
        expected = "expected np.einsum('ij,jk->ik', a, b), with letters alone"
        match node.args:
            case [ast.Constant(value=str(text)), _, *_] if not node.keywords:
                inputs, arrow, output = text.replace(" ", "").partition("->")
            case _:
                raise source.error(node, expected)
        letters = inputs.split(",")
        if not arrow:
            output = "".join(sorted(c for c in set(inputs) - {","} if inputs.count(c) == 1))
        arrays = [self._calls.read(one) for one in node.args[1:]]
        known = [one for one in arrays if isinstance(one, ArrayValue)]
        fits = len(letters) == len(known) == len(arrays) and len(set(output)) == len(output)
        if not fits or not "".join([*letters, output]).isalpha() or set(output) - set(inputs):
            raise source.error(node, expected)
        extents: dict[str, Expression] = {}
        for names, array in zip(letters, known, strict=True):
            require_defined(array)
            if len(names) != array.rank:
                raise KernelError(f"'{names}' names {len(names)} of {array.rank} dimensions")
            for name, extent in zip(names, array.shape, strict=True):
                if not require_same(build, extents.setdefault(name, extent), extent):
                    raise KernelError(f"the extents of '{name}' differ")
        dtype = as_dtype(np.result_type(*(array.dtype.numpy() for array in known)))
        if dtype == boolean:
            raise KernelError("a product of conditions is not supported; convert one to numbers")
        summed = [name for name in extents if name not in output]

        def term(kept: Subscripts, inner: Subscripts) -> Expression:
            at = dict(zip([*output, *summed], [*kept, *inner], strict=True))
            factors = (
                converted(array.at(tuple(at[name] for name in names)), dtype)
                for names, array in zip(letters, known, strict=True)
            )
            return reduce(lambda left, right: left * right, factors)

        kept, rest = (tuple(extents[name] for name in names) for names in (output, summed))
        start = converted(number(0), dtype)
        return self._accumulated(node, kept, rest, dtype, (Operator.ADD, start), term)

    def reduced(self, node: ast.Call, function: Any, array: Operand | None) -> Operand:
        """A reduction's call; ``array`` is given for methods.

        Raises:
            FrontendError, KernelError: the arguments are not supported.
        """
        source = self.stores.reader.source
        arguments = list(node.args)
        if array is None:
            if not arguments:
                raise source.error(node, "expected an array")
            array = self._calls.read(arguments.pop(0))
        if function in (np.dot, np.matmul, np.inner, np.vdot):
            return self._dotted(node, function, array, arguments)
        if not isinstance(array, ArrayValue):
            raise source.error(node, f"this is {array.type_name}; expected an array")
        require_defined(array)
        running = running_operator(function)
        options = {str(keyword.arg): keyword.value for keyword in node.keywords}
        if arguments:
            options.setdefault("axis", arguments.pop(0))
        allowed = {"axis", "keepdims"}
        allowed |= {"dtype"} if function in (np.sum, np.prod, np.mean) else set()
        allowed |= {"ddof"} if function in (np.var, np.std) else set()
        unknown = sorted(options.keys() - allowed)
        if arguments or unknown:
            what = f"{unknown[0]}=" if unknown else "these arguments"
            raise source.error(node, f"'{function.__name__}' with {what} is not supported")
        if running is not None and function not in (np.cumsum, np.cumprod):
            options.setdefault("axis", ast.copy_location(ast.Constant(0), node))
        axes = self._axes(options.pop("axis", None), array.rank)
        keep = self._truth(options.pop("keepdims", None))
        dtype = self._calls.dtype(options.pop("dtype")) if "dtype" in options else None
        rest = dtype, options.pop("ddof", None)
        if function in (np.argmax, np.argmin):
            return self._position(node, array, axes, is_largest=function is np.argmax)
        if running is not None:
            return self._running(node, array, axes, running)
        if function not in (np.mean, np.var, np.std):
            result = self._simple(node, array, axes, function, dtype)
        elif array.dtype.is_half and dtype is None:  # numpy computes these in f32
            wide = cast_to(self.stores.reader.build, array, array.dtype.arithmetic)
            result = self._moment(node, function, wide, axes, rest)
            result = cast_to(self.stores.reader.build, result, array.dtype)
            result = self._stored(node, result, "half")
        else:
            result = self._moment(node, function, array, axes, rest)
        return with_ones(result, axes) if keep else result

    def _moment(
        self, node: ast.AST, function: Any, array: Operand, axes: tuple[int, ...], rest: _Rest
    ) -> Operand:
        assert isinstance(array, ArrayValue)
        if function is np.mean:
            return self._mean(node, array, axes, rest[0])
        result = self._variance(node, array, axes, rest[1])
        if function is np.var:
            return result
        result = mapped(self.stores.reader.build, partial(applied, np.sqrt), result)
        return self._stored(node, result, "std")

    def _dotted(
        self, node: ast.Call, function: Any, array: Operand, arguments: list[ast.expr]
    ) -> Operand:
        if len(arguments) != 1 or node.keywords:
            raise self.stores.reader.source.error(node, "expected two arrays")
        other = self._calls.read(arguments[0])
        if function in (np.inner, np.vdot):
            ranks = [side.rank for side in (array, other) if isinstance(side, ArrayValue)]
            if ranks != [1, 1]:
                raise KernelError(f"expected np.{function.__name__} of two vectors")
        return self.product(node, array, other, function)

    def _axes(self, node: ast.expr | None, rank: int) -> tuple[int, ...]:
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return tuple(range(rank))
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        axes = [axis_number(self._calls.read(part), rank) for part in parts]
        found = [axis for axis in axes if axis is not None]
        if len(set(found)) < len(parts):
            raise self.stores.reader.source.error(
                node, f"expected literals from {-rank} to {rank - 1}, each dimension once"
            )
        return tuple(found)

    def _truth(self, node: ast.expr | None) -> bool:
        if node is None:
            return False
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return node.value
        raise self.stores.reader.source.error(node, "expected True or False")

    def _simple(
        self,
        node: ast.AST,
        array: ArrayValue,
        axes: tuple[int, ...],
        function: Any,
        dtype: DType | None,
    ) -> Operand:
        operator, ufunc = _SIMPLE[function]
        if dtype is None:
            dtype = as_dtype(function(np.ones(1, array.dtype.numpy())).dtype)
        if dtype == boolean:
            operator = {np.min: Operator.AND, np.max: Operator.OR}.get(function, operator)
        kept, reduced = split_shape(array.shape, axes)
        is_extremum = function in (np.min, np.max)
        start = literal_of(ufunc.identity, dtype) if not is_extremum else None

        def term(outer: Subscripts, inner: Subscripts) -> Expression:
            value = array.at(joined_indices(outer, inner, axes))
            if dtype == boolean and value.dtype != boolean:
                return not_equal(value.expression, Constant(0, value.dtype))
            return converted(value, dtype)

        if start is None:  # numpy raises an error if there is no element: the first one is read
            first = tuple(Constant(0) for _ in reduced)
            return self._accumulated(
                node, kept, reduced, dtype, (operator, lambda outer: term(outer, first)), term
            )
        return self._accumulated(node, kept, reduced, dtype, (operator, start), term)

    def _mean(
        self, node: ast.AST, array: ArrayValue, axes: tuple[int, ...], dtype: DType | None
    ) -> Operand:
        if dtype is None:
            dtype = as_dtype(np.mean(np.ones(1, array.dtype.numpy())).dtype)
        total = self._simple(node, array, axes, np.sum, dtype)
        count = self._calls.count(split_shape(array.shape, axes)[1], node)
        mean = mapped(
            self.stores.reader.build, lambda value: applied(np.true_divide, value, count), total
        )
        return self._stored(node, mean, "mean")

    def _variance(
        self, node: ast.AST, array: ArrayValue, axes: tuple[int, ...], ddof: ast.expr | None
    ) -> Operand:
        """The mean of the squared distances from the mean, as numpy computes it."""
        build = self.stores.reader.build
        mean = with_ones(self._mean(node, array, axes, None), axes)
        distance = mapped(build, partial(combine, Operator.SUBTRACT), array, mean)
        square = mapped(build, lambda value: combine(Operator.MULTIPLY, value, value), distance)
        assert isinstance(square, ArrayValue)
        total = self._simple(node, square, axes, np.sum, None)
        count = self._calls.count(split_shape(array.shape, axes)[1], node)
        if ddof is not None:
            less = self._calls.read(ddof)
            if not isinstance(less, Value) or not isinstance(less.literal, int):
                raise self.stores.reader.source.error(ddof, "expected an integer literal")
            count = combine(Operator.SUBTRACT, count, less)
            count = call(max, [count, number(0)])
        result = mapped(build, lambda value: applied(np.true_divide, value, count), total)
        return self._stored(node, result, "variance")

    def _position(
        self, node: ast.AST, array: ArrayValue, axes: tuple[int, ...], *, is_largest: bool
    ) -> Operand:
        """The first index of the largest or smallest element; a NaN counts as both.

        The extremum is found first, then the least index of an element that equals it: both are
        reductions in any order.
        """
        if len(axes) not in (1, array.rank):
            raise KernelError("expected an axis, or none")
        kept, reduced = split_shape(array.shape, axes)
        if len(reduced) > 1:
            self.stores.reader.require_fitting(self._calls.count(reduced, node), node)
        best = self._simple(node, array, axes, np.max if is_largest else np.min, None)

        def term(outer: Subscripts, inner: Subscripts) -> Expression:
            element = array.at(joined_indices(outer, inner, axes)).expression
            extremum = (best.at(outer) if isinstance(best, ArrayValue) else best).expression
            if array.dtype == boolean:
                is_best = element | ~extremum if is_largest else ~element | extremum
            else:
                is_best = operation(Operator.EQUAL, element, extremum)
            if array.dtype.is_float:  # if there is a NaN, it is the extremum
                is_best = is_best | not_equal(element, element)
            position: Expression = Constant(0)
            for index, extent in zip(inner, reduced, strict=True):
                position = position * extent + index
            return select(is_best, cast(position, i64), Constant(i64.highest, i64))

        start = Constant(i64.highest, i64)
        return self._accumulated(node, kept, reduced, i64, (Operator.MINIMUM, start), term)

    def _running(
        self, node: ast.AST, array: ArrayValue, axes: tuple[int, ...], operator: Operator
    ) -> Operand:
        """``np.cumsum`` and similar functions along one dimension, in numpy's order."""
        if len(axes) != 1:
            raise KernelError("expected an axis, or an array with one dimension")
        dtype = array.dtype
        if operator in (Operator.ADD, Operator.MULTIPLY):
            dtype = as_dtype(np.cumsum(np.ones(1, array.dtype.numpy())).dtype)
        stores, shape = self.stores, array.shape
        made = whole(stores.declare(node, "sums", dtype, shape), shape)
        assert made.base is not None
        scope = stores.reader.scope
        kept, (extent,) = split_shape(shape, axes)
        with stores.loops(kept, made.base.array.name) as outer:
            first = joined_indices(outer, (Constant(0),), axes)
            name = scope.index_name(f"{made.base.array.name}_first", scope.indices)
            # A loop of one iteration, so that nothing is read of an array without elements.
            first_only = stores.reader.build.where(Index(name) < 1)
            with stores.reader.build.loops(**{name: extent}), first_only:
                self._put(node, made, first, Value(converted(array.at(first), dtype)))
            name = scope.index_name(f"{made.base.array.name}_each", scope.indices)
            with stores.reader.build.loops(**{name: (1, extent)}) as at:
                here, before = (joined_indices(outer, (i,), axes) for i in (at, at - 1))
                terms = made.at(before).expression, converted(array.at(here), dtype)
                self._put(node, made, here, Value(operation(operator, *terms)))
        return made

    def _stored(self, node: ast.AST, value: Operand, hint: str) -> Operand:
        """An array of results, computed once."""
        if isinstance(value, ArrayValue):
            return self.stores.temporary(node, value, hint)
        handle = self.stores.declare(node, hint, value.dtype, ())
        self.stores.put(node, handle, (), value, is_new=True)
        return Value(handle[()])

    def _accumulated(
        self,
        node: ast.AST,
        kept: Subscripts,
        reduced: Subscripts,
        dtype: DType,
        rule: tuple[Operator, Any],
        term: Callable[[Subscripts, Subscripts], Expression],
    ) -> Operand:
        """Store ``start op term ...`` for each element of the shape ``kept``; halves in f32."""
        operator, start = rule
        stores, build = self.stores, self.stores.reader.build
        made = whole(stores.declare(node, self._hint(kept), dtype.arithmetic, kept), kept)
        assert made.base is not None
        name = made.base.array.name
        with stores.loops(kept, name) as outer:
            first = start(outer) if callable(start) else start
            self._put(node, made, outer, Value(first))
        with (
            stores.loops(kept, name) as outer,
            stores.loops(reduced, f"{name}_of") as inner,
        ):
            value = operation(operator, made.at(outer).expression, term(outer, inner))
            if operator in (Operator.AND, Operator.OR):
                self._put(node, made, outer, Value(value))
            elif build.is_reached():  # a labeled statement must hold an assignment
                label = f"{name}_sum"
                self.labeled.add(label)
                with build.statement(label, order=Order.ANY):
                    self._put(node, made, outer, Value(value))
        result = made if kept else made.at(())
        return (
            self._stored(node, cast_to(build, result, dtype), "half") if dtype.is_half else result
        )

    def _hint(self, kept: Subscripts) -> str:
        """The variable's name for an array; a number's variable has its own memory."""
        return self.hint if kept else "total"

    def _put(self, node: ast.AST, array: ArrayValue, indices: Subscripts, value: Value) -> None:
        assert array.base is not None
        assert array.place is not None
        self.stores.put(node, array.base, array.place(indices), value, is_new=True)
