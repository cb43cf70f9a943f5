"""Statements over whole arrays: loop nests that store an array element by element.

numpy evaluates the right side before it stores anything. If an iteration may read an element that
an earlier iteration has stored, the loops run backwards (Allen and Kennedy, "Optimizing Compilers
for Modern Architectures", 2001, section 13.3). If that does not help either, the right side is
stored in a temporary first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import and_, or_
from typing import Protocol

from polysched.errors import KernelError
from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Operand,
    Subscripts,
    always,
    is_one,
    possible,
    require_defined,
    require_same,
    selected,
    shape_text,
    tidy,
    whole,
)
from polysched.frontends.python.values.value import Value, number
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant, Expression, Index, Parameter
from polysched.ir.expr.functions import equal
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.traversal import loads, walk


class Put(Protocol):
    """Declares one statement that stores an element."""

    def __call__(
        self,
        node: ast.AST,
        array: ArrayHandle,
        subscripts: Subscripts,
        value: Value,
        *,
        is_new: bool = False,
    ) -> None:
        """Store; ``is_new``: the element has no value yet, so that a branch need not keep it."""


@dataclass(frozen=True)
class ArrayStores:
    """Translator of stores of whole arrays at one place of a function."""

    reader: Reader
    put: Put

    def store(self, node: ast.AST, target: ArrayValue, value: Operand) -> None:
        """``target[...] = value``, where ``target`` is a view."""
        source = self.reader.source
        if target.base is None:
            raise source.error(
                node, "this is a result, not a part of an array; assign it to a name first"
            )
        try:
            fitted = self._fitted(target.shape, value)
            backwards = False
            if self._overlaps(target, fitted, backwards=False):
                backwards = not self._overlaps(target, fitted, backwards=True)
                if not backwards:
                    fitted = self._fitted(target.shape, self._evaluated(node, fitted))
        except KernelError as error:
            raise source.error(node, str(error)) from None
        self._fill(node, target, fitted, backwards=backwards)

    def _evaluated(self, node: ast.AST, value: Operand) -> Operand:
        """A value that is stored in memory of its own."""
        if isinstance(value, ArrayValue):
            return self.temporary(node, value, "value")
        handle = self.declare(node, "value", value.dtype, ())
        self.put(node, handle, (), value, is_new=True)
        return replace(value, expression=handle[()])

    def temporary(
        self, node: ast.AST, value: ArrayValue, hint: str, dtype: DType | None = None
    ) -> ArrayValue:
        """Store an array in a new array of the kernel, with a name like ``hint``."""
        result = self.new(node, hint, dtype or value.dtype, value.shape)
        assert result.base is not None
        scope, name = self.reader.scope, result.base.array.name
        if not value.is_undefined:
            self._fill(node, result, value, is_new=True)
        elif name in scope.filled:
            self._fill(node, result, number(0), is_new=True)
        else:
            scope.undefined.add(name)
        return result

    def fill(self, node: ast.AST, target: ArrayValue, value: Operand) -> None:
        """Store in a view of a new array whose elements have no values yet."""
        self._fill(node, target, value, is_new=True)

    def new(self, node: ast.AST, hint: str, dtype: DType, shape: Subscripts) -> ArrayValue:
        """A view of a new array; see `declare`."""
        return whole(self.declare(node, hint, dtype, shape), shape)

    def declare(
        self,
        node: ast.AST,
        hint: str,
        dtype: DType,
        shape: Subscripts,
        *,
        values: tuple[Expression, Expression] | None = None,
    ) -> ArrayHandle:
        """A new array, large enough for a shape at every index of the enclosing loops.

        Args:
            values: the ends of the range of its elements, if they are subscripts.
        """
        reader, scope = self.reader, self.reader.scope
        name = scope.fresh(hint)
        is_output = name == hint and name in scope.results and scope.index_arrays is None
        make = reader.build.output if is_output else partial(reader.build.temporary, values=values)
        try:
            extents = tuple(_at_least_none(self._largest(extent)) for extent in shape)
            for extent in extents:
                if not always(reader.build, extent >= 0):
                    reader.build.assume(extent >= 0)
            with reader.build.located(reader.source.span(node).location):
                return make(name, dtype, extents)
        except KernelError as error:
            raise reader.source.error(node, str(error)) from None

    def put_element(
        self,
        node: ast.AST,
        view: ArrayValue,
        indices: Subscripts,
        value: Value,
        *,
        is_new: bool = False,
    ) -> None:
        """Store one element of a view."""
        assert view.base is not None
        assert view.place is not None
        self.put(node, view.base, view.place(indices), value, is_new=is_new)

    @contextmanager
    def loops(
        self, shape: Sequence[Expression], hint: str, *, backwards: bool = False
    ) -> Iterator[Subscripts]:
        """Open a loop for each extent, which counts down if ``backwards``; yield the indices."""
        scope, build = self.reader.scope, self.reader.build
        enclosing, indices = scope.indices, []
        with ExitStack() as stack:
            for extent in shape:
                if is_one(extent):
                    indices.append(Constant(0))
                    continue
                name = scope.index_name(f"{hint}_d{len(indices)}", enclosing)
                bound = (tidy(extent - 1), -1, -1) if backwards else extent
                index = stack.enter_context(build.loops(**{name: bound}))
                ends = (Constant(0), tidy(extent - 1))
                scope.indices = {**scope.indices, name: ends}
                indices.append(index)
            try:
                yield tuple(indices)
            finally:
                scope.indices = enclosing

    def _fill(
        self,
        node: ast.AST,
        target: ArrayValue,
        value: Operand,
        *,
        is_new: bool = False,
        backwards: bool = False,
    ) -> None:
        assert target.base is not None
        try:
            with self.loops(target.shape, target.base.array.name, backwards=backwards) as indices:
                self.put_element(node, target, indices, _element(value, indices), is_new=is_new)
        except KernelError as error:
            raise self.reader.source.error(node, str(error)) from None

    def _fitted(self, shape: Subscripts, value: Operand) -> Operand:
        """A value without the leading extents of 1 that its target lacks, of a fitting shape."""
        if isinstance(value, Value):
            return value
        require_defined(value)
        more = max(value.rank - len(shape), 0)
        extents = value.shape[more:]
        fits = all(is_one(extent) for extent in value.shape[:more])
        for extent, expected in zip(extents, shape[len(shape) - len(extents) :], strict=True):
            fits = fits and (is_one(extent) or require_same(self.reader.build, extent, expected))
        if not fits:
            raise KernelError(
                f"an array of shape {shape_text(value.shape)} is stored in one of shape "
                f"{shape_text(shape)}"
            )
        if not more:
            return value
        at = value.at
        return ArrayValue(
            extents, value.dtype, lambda indices: at((*[Constant(0)] * more, *indices))
        )

    def _overlaps(self, target: ArrayValue, value: Operand, *, backwards: bool) -> bool:
        """Whether an iteration may read an element that an earlier iteration stores.

        Args:
            backwards: whether the loops count down.
        """
        base, place, build = target.base, target.place, self.reader.build
        assert base is not None
        assert place is not None
        name = base.array.name
        with self.loops(target.shape, "earlier") as first:
            written = base[place(first)].subscripts
            read = self._read(name, value, first)
            if read and _is_scattered(written, first):
                return True
            if not any(subscripts != written for subscripts in read):
                return False
            if any(loads(part) for subscripts in (written, *read) for part in subscripts):
                return True
            with self.loops(target.shape, "later") as second:
                order = _before(second, first) if backwards else _before(first, second)
                for subscripts in self._read(name, value, second):
                    same = [equal(a, b) for a, b in zip(written, subscripts, strict=True)]
                    if order is not None and possible(build, [*same, order]):
                        return True
        return False

    def _read(self, name: str, value: Operand, indices: Subscripts) -> list[Subscripts]:
        expression = _element(value, indices).expression
        return [load.subscripts for load in loads(expression) if load.array == name]

    def _largest(self, extent: Expression) -> Expression:
        """An extent's bound over all values of the indices of the enclosing loops.

        Raises:
            KernelError: none is known.
        """
        indices = self.reader.scope.indices
        if not any(isinstance(node, Index) for node in walk(extent)):
            return extent
        form = linear_form(extent, {})
        for _ in indices:
            total: Expression = Constant(form.constant)
            for atom, coefficient in form.terms:
                part: Expression = atom
                if isinstance(atom, Index):
                    part = indices[atom.name][coefficient > 0]
                total = total + coefficient * part
            form = linear_form(total, {})
        if not all(isinstance(atom, Parameter) for atom, _ in form.terms):
            raise KernelError(f"the size {extent} of a local array is no affine one of sizes alone")
        return form.expression()


def _at_least_none(extent: Expression) -> Expression:
    """An extent that is not a literal below 0: a slice of few elements may have none."""
    is_below = isinstance(extent, Constant) and extent.value < 0
    return Constant(0) if is_below else extent


def _is_scattered(subscripts: Subscripts, indices: Subscripts) -> bool:
    """Whether data decides which elements the iterations of a loop nest store."""
    parts = {part for subscript in subscripts for load in loads(subscript) for part in walk(load)}
    return any(isinstance(index, Index) and index in parts for index in indices)


def _element(value: Operand, indices: Subscripts) -> Value:
    return value.at(selected(value.shape, indices)) if isinstance(value, ArrayValue) else value


def _before(first: Subscripts, second: Subscripts) -> Expression | None:
    """The condition that one iteration comes before another; None if there is a single one."""
    cases = []
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if isinstance(a, Index)]
    for position, (a, b) in enumerate(pairs):
        cases.append(reduce(and_, (equal(*pair) for pair in pairs[:position]), a < b))
    return reduce(or_, cases) if cases else None
