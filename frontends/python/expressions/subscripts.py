"""Subscripts as numpy reads them: elements, slices, new axes and arrays of subscripts."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from polysched.errors import KernelError
from polysched.frontends.python.expressions.array_calls import copied
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Operand,
    Subscripts,
    always,
    broadcast,
    possible,
    selected,
    tidy,
    viewed,
)
from polysched.frontends.python.scope.bindings import RangeLearnedError
from polysched.frontends.python.source.function_source import FunctionSource
from polysched.frontends.python.values.value import Value
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import boolean, i64
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Cast, Constant, Expression, Load
from polysched.ir.expr.functions import cast, maximum, select
from polysched.ir.expr.traversal import loads

Read = Callable[[ast.expr], Operand]


@dataclass(frozen=True)
class _Axis:
    """How one subscript uses one dimension of the array.

    Attributes:
        extents: the extents of the dimensions that the result has for it.
        index: the index in the array, from those indices of the result; None for a new axis.
        is_gather: whether it is an array.
    """

    extents: Subscripts
    index: Callable[[Subscripts], Expression] | None
    is_gather: bool = False


def _groups(axes: list[_Axis]) -> list[list[_Axis]]:
    """The subscripts that share dimensions of the result, in the order of these dimensions.

    Arrays are broadcast with each other and with integers. If others stand between them, their
    dimensions come first.
    """
    groups: list[list[_Axis]] = []
    together: list[_Axis] = []
    last = -1
    is_apart = False
    for number, axis in enumerate(axes):
        if not axis.is_gather and axis.extents:
            groups.append([axis])
            continue
        is_apart = is_apart or (bool(together) and last != number - 1)
        if not together:
            groups.append(together)
        together.append(axis)
        last = number
    return [together, *(group for group in groups if group is not together)] if is_apart else groups


_NEW_AXIS = _Axis((Constant(1),), None)


@dataclass(frozen=True)
class Subscripting:
    """Translator of subscripts at one place of a function.

    Attributes:
        read: reads an operand.
        require_exact: checks that an integer cannot wrap around.
        index_arrays: the arguments whose elements may be subscripts without a declared range.
    """

    source: FunctionSource
    build: KernelBuilder
    read: Read
    require_exact: Callable[[ast.expr, Value], None]
    index_arrays: frozenset[str] = frozenset()

    def view(self, array: ArrayValue, node: ast.expr, parts: list[ast.expr]) -> ArrayValue:
        """``array[parts]``: a view if the subscripts are integers, slices and new axes.

        With arrays as subscripts it is a copy, unless it is assigned to.
        """
        parts = self._complete(array, node, parts)
        axes: list[_Axis] = []
        dimension = 0
        for part in parts:
            if self._is_new_axis(part):
                axes.append(_NEW_AXIS)
                continue
            axes.append(self._axis(part, array.shape[dimension]))
            dimension += 1
        is_copy = any(axis.is_gather for axis in axes)
        groups = _groups(axes) if is_copy else [[axis] for axis in axes]
        try:
            extents = [
                broadcast(self.build, [axis.extents for axis in group]) if group else ()
                for group in groups
            ]
        except KernelError as error:
            raise self.source.error(node, str(error)) from None

        def outer(indices: Subscripts) -> Subscripts:
            position = 0
            of_axis: dict[int, Subscripts] = {}
            for group, shape in zip(groups, extents, strict=True):
                part = indices[position : position + len(shape)]
                of_axis |= {id(axis): selected(axis.extents, part) for axis in group}
                position += len(shape)
            return tuple(axis.index(of_axis[id(axis)]) for axis in axes if axis.index is not None)

        view = viewed(array, tuple(extent for shape in extents for extent in shape), outer)
        is_read = isinstance(getattr(node, "ctx", None), ast.Load)
        return copied(view) if is_copy and is_read else view

    def extents(
        self, array: ArrayValue, node: ast.expr, parts: list[ast.expr]
    ) -> list[Expression | None]:
        """The extent of the dimension that each subscript belongs to; None if it has none."""
        remaining = iter(array.shape)
        given = len(self._complete(array, node, parts)) - len(parts)
        found: list[Expression | None] = []
        for part in parts:
            if _is_ellipsis(part):
                for _ in range(given + 1):
                    next(remaining)
                found.append(None)
            else:
                found.append(None if self._is_new_axis(part) else next(remaining))
        return found

    def _complete(self, array: ArrayValue, node: ast.expr, parts: list[ast.expr]) -> list[ast.expr]:
        """Write out an ellipsis and the slices left out at the end."""
        everything = ast.copy_location(ast.Slice(), node)
        ellipses = [part for part in parts if _is_ellipsis(part)]
        given = sum(not (self._is_new_axis(part) or _is_ellipsis(part)) for part in parts)
        if given > array.rank or len(ellipses) > 1:
            name = "array" if array.base is None else f"array '{array.base.array.name}'"
            raise self.source.error(
                node,
                f"{name} has {array.rank} dimension{'s' * (array.rank != 1)}; it is subscripted "
                f"with {given}",
            )
        missing = [everything] * (array.rank - given)
        if not ellipses:
            return [*parts, *missing]
        at = parts.index(ellipses[0])
        return [*parts[:at], *missing, *parts[at + 1 :]]

    def _is_new_axis(self, part: ast.expr) -> bool:
        match part:
            case ast.Constant(value=None):
                return True
            case ast.Attribute(value=ast.Name(id=name), attr="newaxis"):
                return name in self.source.outer
        return False

    def _axis(self, part: ast.expr, extent: Expression) -> _Axis:
        if isinstance(part, ast.Slice):
            return self._slice(part, extent)
        operand = self.read(part)
        if isinstance(operand, ArrayValue):
            return self._gather(part, operand, extent)
        subscript = self.subscript(part, operand, extent)
        return _Axis((), lambda _: subscript)

    def _infer_range(self, expression: Expression, extent: Expression) -> None:
        """Limit the elements of an input that are subscripts as they are to the extent."""
        while isinstance(expression, Cast):
            expression = expression.operand
        if isinstance(expression, Load) and expression.array in self.index_arrays:
            raise RangeLearnedError(expression.array, extent)

    def _gather(self, part: ast.expr, operand: ArrayValue, extent: Expression) -> _Axis:
        if operand.dtype == boolean:
            raise self.source.error(
                part,
                "how many elements this mask selects depends on data; supported are x[m] = ..., "
                "np.where(m, x, y), len(x[m]), and np.sum(x[m] * y[m]) and the like: reductions of "
                "arithmetic with such parts",
            )
        if not operand.dtype.is_integer:
            raise self.source.error(
                part,
                f"this is an array of {operand.dtype}; expected integers as subscripts, or a slice",
            )

        def index(indices: Subscripts) -> Expression:
            value = operand.at(indices)
            self.require_exact(part, value)
            self._infer_range(value.expression, extent)
            return value.expression

        return _Axis(operand.shape, index, is_gather=True)

    def subscript(self, node: ast.expr, value: Value, extent: Expression) -> Expression:
        """The index of an element; a subscript below 0 counts from the end, as in Python."""
        if not value.dtype.is_integer:
            raise self.source.error(node, f"this is {value.dtype}; expected an integer subscript")
        self.require_exact(node, value)
        expression = value.expression
        if isinstance(value.literal, int):
            return extent - -value.literal if value.literal < 0 else expression
        if loads(expression):
            self._infer_range(expression, extent)
            return expression
        wide = cast(expression, i64)
        wrapped = (wide < 0, wide >= -extent)
        if not possible(self.build, wrapped) or always(self.build, wide >= 0):
            return expression
        if always(self.build, wide < 0):
            return wide + extent
        try:
            with self.build.where(wide < 0):
                return select(wide < 0, wide + extent, wide)
        except KernelError:  # not affine: the array says so
            return expression

    def _slice(self, node: ast.Slice, extent: Expression) -> _Axis:
        step = 1
        if node.step is not None:
            literal = self._integer(node.step).literal
            if not isinstance(literal, int) or literal == 0:
                raise self.source.error(node.step, "expected a step that is a literal other than 0")
            step = literal
        known = self._known_slice(node, extent, step)
        if known is not None:
            return known
        if step < 0:
            return self._reversed(node, extent, step)
        lower = self._lower(node.lower, extent)
        upper = self._upper(node.upper, lower, extent)
        length = tidy(upper - lower)
        if step > 1:
            length = (length + (step - 1)) // step
        if length == extent and lower == Constant(0) and step == 1:
            return _Axis((extent,), lambda indices: indices[0])
        self._require_ends(node, lower, tidy(upper - extent), lower < upper)
        return _Axis((length,), lambda indices: tidy(lower + step * indices[0]))

    def _known_slice(self, node: ast.Slice, extent: Expression, step: int) -> _Axis | None:
        """A slice of a literal extent with literal ends, which Python clips; None for others."""
        size = tidy(extent)
        first, last = (None if end is None else self._end(end) for end in (node.lower, node.upper))
        if (
            not isinstance(size, Constant)
            or isinstance(first, Expression)
            or isinstance(last, Expression)
        ):
            return None
        every = range(int(size.value))
        taken = every[first:last:step]
        if taken == every:
            return _Axis((extent,), lambda indices: indices[0])
        return _Axis((Constant(len(taken)),), lambda indices: tidy(taken.start + step * indices[0]))

    def _end(self, node: ast.expr) -> int | Expression | None:
        """An end of a slice: a literal, ``None``, or an expression of sizes and indices."""
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        value = self._integer(node)
        return value.literal if isinstance(value.literal, int) else value.expression

    def _reversed(self, node: ast.Slice, extent: Expression, step: int) -> _Axis:
        """``a[start:stop:-step]``, from ``start`` down to the element after ``stop``."""
        start = tidy(extent - 1)
        if node.lower is not None:
            start = self._lower(node.lower, extent)
        stop: Expression = Constant(-1)
        if node.upper is not None:
            stop = self._lower(node.upper, extent)
        length = (tidy(start - stop) + (-step - 1)) // -step
        self._require_ends(node, tidy(stop + 1), tidy(start + 1 - extent), stop < start)
        return _Axis((tidy(length),), lambda indices: tidy(start + step * indices[0]))

    def _require_ends(
        self, node: ast.Slice, least: Expression, excess: Expression, is_filled: Expression
    ) -> None:
        """Assume that a slice ends inside of the array, as Python would shorten it.

        Args:
            node: the slice.
            least: its least index.
            excess: how far it ends behind the last element.
            is_filled: whether it has elements.
        """
        for value, outside in ((least, least < 0), (excess, excess > 0)):
            if isinstance(value, Constant) and not evaluate(outside, {}):
                continue
            if not self.build.assume_never(is_filled & outside):
                raise self.source.error(node, "this slice ends outside of the array")

    def _integer(self, node: ast.expr) -> Value:
        value = self.read(node)
        if not isinstance(value, Value) or not value.dtype.is_integer or loads(value.expression):
            raise self.source.error(
                node, "expected a slice's bound of indices, sizes and integers, without data"
            )
        self.require_exact(node, value)
        return value

    def _lower(self, node: ast.expr | None, extent: Expression) -> Expression:
        """The first element: not clipped, since one outside of the array is found as an error."""
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return Constant(0)
        value = self._integer(node)
        if isinstance(value.literal, int):
            return tidy(extent + value.literal) if value.literal < 0 else Constant(value.literal)
        expression = cast(value.expression, i64)
        if always(self.build, expression >= 0):
            return tidy(expression)
        if always(self.build, expression < 0):
            return tidy(extent + expression)
        return self._require_sign(node, expression)

    def _require_sign(self, node: ast.expr, expression: Expression) -> Expression:
        """A bound that counts from the end if it is negative: assume that it is not.

        Raises:
            FrontendError: it depends on an index, so that it cannot be assumed.
        """
        try:
            self.build.assume(expression >= 0)
        except KernelError:
            raise self.source.error(
                node, "this may be below 0, where a slice counts from the end; expected 0 or more"
            ) from None
        return tidy(expression)

    def _upper(self, node: ast.expr | None, lower: Expression, extent: Expression) -> Expression:
        """The end, exclusive. Python clips it to the extent; a larger one is found as an error."""
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return extent
        value = self._integer(node)
        if isinstance(value.literal, int):
            if value.literal < 0:
                return tidy(extent + value.literal)
            return Constant(value.literal)
        expression = cast(value.expression, i64)
        from_end = (expression < 0, maximum(lower, 0) < expression + extent)
        if not possible(self.build, from_end):  # never negative, or the slice is empty either way
            return tidy(expression)
        if always(self.build, expression < 0):
            return tidy(extent + expression)
        return self._require_sign(node, expression)


def _is_ellipsis(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is Ellipsis
