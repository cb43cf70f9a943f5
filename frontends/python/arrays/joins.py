"""Functions of numpy that put arrays side by side: ``np.concatenate``, ``np.stack``, ``np.pad``.

The result is a new array, and each part is stored in its place by a statement of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.arrays.array_stores import ArrayStores
from polysched.frontends.python.expressions.array_calls import ArrayCalls, axis_number, copied
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Subscripts,
    always,
    require_defined,
    require_same,
    shape_text,
    tidy,
    viewed,
)
from polysched.frontends.python.scope.array_views import expanded
from polysched.frontends.python.values.value import Value, number, stored
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.ir.expr.expressions import Constant, Expression

MOST_TILES = 64
"""Copies of an array that ``np.tile`` makes, each by a statement."""
_EXPECTED: Mapping[Any, str] = MappingProxyType(
    {
        np.concatenate: "np.concatenate((x, y), axis=0)",
        np.stack: "np.stack((x, y), axis=0)",
        np.hstack: "np.hstack((x, y))",
        np.vstack: "np.vstack((x, y))",
        np.dstack: "np.dstack((x, y))",
        np.column_stack: "np.column_stack((x, y))",
        np.tile: "np.tile(x, count), with a literal count or a tuple of literals",
        np.pad: "np.pad(x, width), or np.pad(x, ((before, after), ...), constant_values=0), with "
        "literal widths, or mode='edge', 'reflect', 'symmetric' or 'wrap'",
    }
)


_Source = Callable[[Expression], Expression]
_INSIDE = frozenset({"edge", "reflect", "symmetric", "wrap"})


def _sides(pair: tuple[int, int]) -> list[int]:
    """The parts of a padded dimension: -1 before the array, 0 the array, 1 after it."""
    return [side for side, width in ((-1, pair[0]), (0, 1), (1, pair[1])) if width]


def _part(
    side: int, pair: tuple[int, int], extent: Expression, mode: str
) -> tuple[Expression, Expression, _Source]:
    """The start and extent of a part of a padded dimension, and the index that an element has in
    the array."""
    before, after = pair
    if side == 0:
        return Constant(before), extent, lambda index: index
    if side < 0:
        first: dict[str, _Source] = {
            "edge": lambda _: Constant(0),
            "reflect": lambda index: before - index,
            "symmetric": lambda index: before - 1 - index,
            "wrap": lambda index: extent - before + index,
        }
        return Constant(0), Constant(before), first[mode]
    last: dict[str, _Source] = {
        "edge": lambda _: extent - 1,
        "reflect": lambda index: extent - 2 - index,
        "symmetric": lambda index: extent - 1 - index,
        "wrap": lambda index: index,
    }
    return tidy(extent + before), Constant(after), last[mode]


def _columns(parts: Sequence[ArrayValue], *, is_deep: bool) -> tuple[list[ArrayValue], int]:
    """The arrays, and the axis along which they lie, of ``np.dstack`` or ``np.column_stack``."""
    axis = 1 + is_deep
    if is_deep:
        parts = [expanded(part, 0) if part.rank == 1 else part for part in parts]
    return [expanded(part, axis) if part.rank == axis else part for part in parts], axis


def is_join(function: Any) -> bool:
    """Whether a function puts arrays side by side."""
    return any(function is known for known in _EXPECTED)


@dataclass(frozen=True)
class Joins:
    """Translator of these functions at one place of a function.

    Attributes:
        hint: a name for the array of results.
    """

    stores: ArrayStores
    hint: str = "joined"

    @property
    def _calls(self) -> ArrayCalls:
        return self.stores.reader.calls

    def joined(self, node: ast.Call, function: Any) -> ArrayValue:
        """The result of a call."""
        options = {str(keyword.arg): keyword.value for keyword in node.keywords}
        if not node.args:
            raise self._unexpected(node, function)
        first, rest = node.args[0], list(node.args[1:])
        if function is np.tile and len(rest) == 1 and not options:
            return self._tiled(node, self._array(first), rest[0])
        if function is np.pad and rest:
            return self._padded(node, self._array(first), rest, options)
        has_axis = function in (np.concatenate, np.stack)
        if rest and has_axis:
            options.setdefault("axis", rest.pop(0))
        is_list = isinstance(first, ast.Tuple | ast.List) and first.elts
        if rest or options.keys() - ({"axis"} if has_axis else set()) or not is_list:
            raise self._unexpected(node, function)
        assert isinstance(first, ast.Tuple | ast.List)
        return self._side_by_side(node, function, first.elts, options.get("axis"))

    def _side_by_side(
        self, node: ast.Call, function: Any, elements: Sequence[ast.expr], axis: ast.expr | None
    ) -> ArrayValue:
        parts = [self._array(part) for part in elements]
        if function in (np.column_stack, np.dstack):
            return self._concatenated(node, *_columns(parts, is_deep=function is np.dstack))
        rank = parts[0].rank + (function is np.stack)
        along = 1 if function is np.hstack and rank > 1 else 0
        if axis is not None:
            chosen = axis_number(self._calls.read(axis), rank)
            if chosen is None:
                raise self._unexpected(node, function)
            along = chosen
        if function is np.stack or (function is np.vstack and rank == 1):
            parts = [expanded(part, along) for part in parts]
        return self._concatenated(node, parts, along)

    def _concatenated(self, node: ast.AST, parts: Sequence[ArrayValue], axis: int) -> ArrayValue:
        first, build = parts[0], self.stores.reader.build
        for part in parts[1:]:
            fits = part.rank == first.rank and all(
                at == axis or require_same(build, extent, other)
                for at, (extent, other) in enumerate(zip(part.shape, first.shape, strict=False))
            )
            if not fits:
                raise KernelError(
                    f"arrays of shape {shape_text(first.shape)} and {shape_text(part.shape)} do "
                    f"not fit side by side along dimension {axis}"
                )
        starts: list[Expression] = [Constant(0)]
        for part in parts:
            starts.append(tidy(starts[-1] + self._calls.length(part.shape[axis])))
        shape = (*first.shape[:axis], starts.pop(), *first.shape[axis + 1 :])
        dtype = as_dtype(np.result_type(*(part.dtype.numpy() for part in parts)))
        made = self._new(node, dtype, shape)
        zero = (Constant(0),) * len(shape)
        for part, start in zip(parts, starts, strict=True):
            self._put(node, made, part, (*zero[:axis], start, *zero[axis + 1 :]))
        return made

    def _tiled(self, node: ast.Call, array: ArrayValue, counts: ast.expr) -> ArrayValue:
        elements = counts.elts if isinstance(counts, ast.Tuple | ast.List) else [counts]
        literals = [self._literal(element) for element in elements]
        times = [literal for literal in literals if literal is not None and literal > 0]
        total = reduce(lambda a, b: a * b, times, 1)
        if len(times) < len(literals) or total > MOST_TILES:
            raise self._unexpected(node, np.tile)
        for _ in range(len(times) - array.rank):
            array = expanded(array, 0)
        times = [1] * (array.rank - len(times)) + times
        extents = [self._calls.length(extent) for extent in array.shape]
        shape = tuple(tidy(by * extent) for by, extent in zip(times, extents, strict=True))
        made = self._new(node, array.dtype, shape)
        for tile in product(*map(range, times)):
            starts = [tidy(at * extent) for at, extent in zip(tile, extents, strict=True)]
            self._put(node, made, array, tuple(starts))
        return made

    def _padded(
        self,
        node: ast.Call,
        array: ArrayValue,
        rest: Sequence[ast.expr],
        options: Mapping[str, ast.expr],
    ) -> ArrayValue:
        names = ("pad_width", "mode")
        given = dict(zip(names, rest, strict=False)) | dict(options)
        mode = given.get("mode")
        kind = "constant" if mode is None else getattr(mode, "value", None)
        widths = self._widths(given.get("pad_width"), array.rank)
        is_known = kind == "constant" or (kind in _INSIDE and "constant_values" not in given)
        if given.keys() - {*names, "constant_values"} or not is_known or widths is None:
            raise self._unexpected(node, np.pad)
        if kind in _INSIDE:
            return self._extended(node, array, widths, str(kind))
        fill = number(0)
        if "constant_values" in given:
            value = self._calls.read(given["constant_values"])
            if not isinstance(value, Value):
                raise self._unexpected(node, np.pad)
            fill = value
        extents = [self._calls.length(extent) for extent in array.shape]
        shape = tuple(
            tidy(extent + before + after)
            for extent, (before, after) in zip(extents, widths, strict=True)
        )
        made = self._new(node, array.dtype, shape)
        self.stores.fill(node, made, Value(stored(fill, array.dtype)))
        self._put(node, made, array, tuple(Constant(before) for before, _ in widths))
        return made

    def _extended(
        self, node: ast.Call, array: ArrayValue, widths: Sequence[tuple[int, int]], mode: str
    ) -> ArrayValue:
        """``np.pad`` with elements of the array; no side is wider than the array."""
        build = self.stores.reader.build
        for extent, pair in zip(array.shape, widths, strict=True):
            least = 1 if mode == "edge" else max(pair) + (mode == "reflect")
            if any(pair) and not always(build, extent >= least):
                build.assume(extent >= least)
        shape = tuple(
            tidy(extent + before + after)
            for extent, (before, after) in zip(array.shape, widths, strict=True)
        )
        made = self._new(node, array.dtype, shape)
        require_defined(array)
        for sides in product(*(_sides(pair) for pair in widths)):
            parts = [
                _part(side, pair, extent, mode)
                for side, pair, extent in zip(sides, widths, array.shape, strict=True)
            ]
            starts, lengths, sources = zip(*parts, strict=True)

            def inside(indices: Subscripts, sources: Sequence[_Source] = sources) -> Subscripts:
                return tuple(tidy(at(index)) for at, index in zip(sources, indices, strict=True))

            self._put(node, made, copied(viewed(array, lengths, inside)), starts)
        return made

    def _widths(self, node: ast.expr | None, rank: int) -> list[tuple[int, int]] | None:
        """The elements before and after each dimension; None if they are no such literals."""
        if node is None:
            return None
        if not isinstance(node, ast.Tuple | ast.List):
            width = self._literal(node)
            return None if width is None or width < 0 else [(width, width)] * rank
        pairs = node.elts
        if all(not isinstance(part, ast.Tuple | ast.List) for part in pairs):
            pairs = [node] * rank
        found: list[tuple[int, int]] = []
        for part in pairs:
            ends = part.elts if isinstance(part, ast.Tuple | ast.List) else []
            literals = [self._literal(end) for end in ends]
            widths = [literal for literal in literals if literal is not None and literal >= 0]
            if len(widths) != 2 or len(literals) != 2:
                return None
            found.append((widths[0], widths[1]))
        return found if len(found) == rank else None

    def _new(self, node: ast.AST, dtype: DType, shape: Subscripts) -> ArrayValue:
        return self.stores.new(node, self.hint, dtype, shape)

    def _put(self, node: ast.AST, made: ArrayValue, part: ArrayValue, starts: Subscripts) -> None:
        """Store a part of the result that begins at some indices."""

        def moved(indices: Subscripts) -> Subscripts:
            return tuple(tidy(start + index) for start, index in zip(starts, indices, strict=True))

        require_defined(part)
        self.stores.fill(node, viewed(made, part.shape, moved), part)

    def _array(self, node: ast.expr) -> ArrayValue:
        operand = self._calls.read(node)
        if not isinstance(operand, ArrayValue):
            raise self.stores.reader.source.error(
                node, f"this is {operand.type_name}; expected an array"
            )
        return operand

    def _literal(self, node: ast.expr) -> int | None:
        value = self._calls.read(node)
        literal = value.literal if isinstance(value, Value) else None
        return literal if isinstance(literal, int) and not isinstance(literal, bool) else None

    def _unexpected(self, node: ast.AST, function: Callable[..., Any]) -> Exception:
        return self.stores.reader.source.error(node, f"expected {_EXPECTED[function]}")
