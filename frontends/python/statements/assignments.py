"""Translate assignments to numbers, elements, parts of arrays and whole arrays."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.arrays.array_literals import array_literal
from polysched.frontends.python.expressions.array_calls import copied
from polysched.frontends.python.expressions.translate import BINARY
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Operand,
    element,
    require_same,
    shape_text,
)
from polysched.frontends.python.scope.bindings import (
    BranchArray,
    BranchArrayLearnedError,
    NumberType,
    TypeLearnedError,
)
from polysched.frontends.python.source.annotations import dtype_named
from polysched.frontends.python.statements.element_stores import ElementStores
from polysched.frontends.python.statements.local_arrays import assign_array, is_moved
from polysched.frontends.python.statements.local_numbers import assign_number
from polysched.frontends.python.values.affinity import is_affine_number
from polysched.frontends.python.values.value import Value
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.operators import Operator

_EXPECTED = "expected one name or one element such as a[i, j] here"


@dataclass(frozen=True)
class Assigner(ElementStores):
    """Translator of the assignments of one function."""

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        """Translate ``target = value``.

        Raises:
            TypeLearnedError: the type of a number differs from its known type.
        """
        match target, value:
            case ast.Tuple(elts=names), ast.Attribute(attr="shape", value=owner):
                shape = self.reader.array(owner).shape
                if len(shape) != len(names):
                    raise self.reader.source.error(
                        target, f"expected {len(shape)} names, one for each dimension"
                    )
                for name, extent in zip(names, shape, strict=True):
                    length = self.reader.calls.length(extent)
                    assign_number(self, node, name, Value(length, is_weak=True))
            case ast.Tuple(elts=targets), ast.Tuple(elts=values):
                self._assign_several(node, target, targets, values)
            case ast.Tuple(elts=targets), _:
                self._unpack(node, target, targets, value)
            case ast.Subscript(), ast.Tuple() | ast.List():
                call = ast.copy_location(ast.Call(value, [value], []), value)
                self.set(node, target, array_literal(self.arrays, call, "values"))
            case ast.Subscript(), _ if (mask := self.masked.mask(target)) is not None:
                self.masked.assign(node, target, mask, value)
            case ((ast.Name() | ast.Subscript()), _):
                self.set(node, target, self.reader.operand(value))
            case _:
                raise self.reader.source.error(target, _EXPECTED)

    def set(self, node: ast.stmt, target: ast.expr, value: Operand) -> None:
        """Assign a value that has been read to a name, an element or a part of an array.

        Raises:
            BranchArrayLearnedError: the name is an array whose elements are like this value.
        """
        if isinstance(target, ast.Name) and target.id in self.reader.scope.listed:
            shape = value.shape if isinstance(value, ArrayValue) else ()
            raise BranchArrayLearnedError(target.id, BranchArray(value.dtype, shape))
        if isinstance(target, ast.Name) and isinstance(value, ArrayValue):
            assign_array(self, node, target, value)
        elif isinstance(target, ast.Name) and isinstance(value, Value):
            assign_number(self, node, target, value)
        elif isinstance(target, ast.Subscript):
            self._set_part(node, target, value)
        else:
            raise self.reader.source.error(target, _EXPECTED)

    def _assign_several(
        self, node: ast.stmt, target: ast.expr, targets: list[ast.expr], values: list[ast.expr]
    ) -> None:
        """``a, b = b, a + b``: all values are read before the first one is stored."""
        source = self.reader.source
        if len(targets) != len(values):
            raise source.error(target, f"expected {len(values)} names, one for each value")
        pending = []
        for position, (name, value) in enumerate(zip(targets, values, strict=True)):
            operand = self.reader.operand(value)
            if position and isinstance(operand, ArrayValue) and self._is_kept(name):
                if operand.base is None or is_moved(self.reader, node, name, operand):
                    operand = copied(self.arrays.temporary(node, copied(operand), "value"))
            elif position:  # the first value is stored before anything else changes
                operand = self._held(node, position, value, operand)
            pending.append((name, operand))
        for name, operand in pending:
            self.set(node, name, operand)

    def _unpack(
        self, node: ast.stmt, target: ast.expr, targets: list[ast.expr], value: ast.expr
    ) -> None:
        """``x, y = points[i]``: the elements of the first dimension, whose extent is known."""
        operand, build = self.reader.operand(value), self.reader.build
        count = Constant(len(targets))
        if not isinstance(operand, ArrayValue):
            raise self.reader.source.error(target, _EXPECTED)
        if not require_same(build, operand.shape[0], count):
            raise self.reader.source.error(
                target,
                f"this array of shape {shape_text(operand.shape)} is not unpacked into "
                f"{len(targets)} names",
            )
        parts = [element(operand, Constant(position)) for position in range(len(targets))]
        parts[1:] = [
            self._held(node, position, value, part) if isinstance(part, Value) else part
            for position, part in enumerate(parts[1:], 1)
        ]
        for name, part in zip(targets, parts, strict=True):
            self.set(node, name, part)

    def _is_kept(self, target: ast.expr) -> bool:
        """Whether a target gets the elements of an array, in the memory that it has."""
        return isinstance(target, ast.Name) and target.id in self.reader.scope.kept

    def _held(self, node: ast.stmt, position: int, value: ast.expr, operand: Operand) -> Operand:
        """A value kept while other targets are stored; a view stays a view, as in Python."""
        if isinstance(operand, ArrayValue):
            if operand.base is not None:
                return operand
            made, scope = self.arrays.temporary(node, operand, "value"), self.reader.scope
            assert made.base is not None
            scope.unnamed = {**scope.unnamed, made.base.array.name: made}
            return made
        if is_affine_number(operand):
            return operand
        name = self.reader.scope.held(position, node)
        assign_number(self, node, ast.copy_location(ast.Name(name, ast.Store()), value), operand)
        return self.reader.value(ast.copy_location(ast.Name(name, ast.Load()), value))

    def annotated(self, node: ast.AnnAssign, target: ast.Name, value: ast.expr) -> None:
        """Translate ``x: T = value``: Python types are ignored, an element type is enforced."""
        annotation = node.annotation
        is_python = isinstance(annotation, ast.Name) and annotation.id in ("int", "float", "bool")
        if is_python and target.id not in self.reader.scope.types:
            self.assign(node, target, value)
            return
        if not is_python:
            try:
                dtype = dtype_named(self.reader.source, annotation)
            except KernelError as error:
                raise self.reader.source.error(annotation, str(error)) from None
            if target.id not in self.reader.scope.types:
                raise TypeLearnedError(target.id, NumberType(dtype, is_weak=False))
        assign_number(self, node, target, self.reader.value(value))

    def augmented(
        self, node: ast.stmt, target: ast.expr, operator: Operator, value: ast.expr
    ) -> None:
        """Translate ``target += value``, which changes an array in place."""
        source = self.reader.source
        if not isinstance(target, ast.Name | ast.Subscript):
            raise source.error(target, "expected a name or an element here")
        mask = self.masked.mask(target)
        if mask is not None and isinstance(target, ast.Subscript):
            symbol = next(kind for kind, known in BINARY.items() if known is operator)
            changed = ast.copy_location(ast.BinOp(target, symbol(), value), node)
            self.masked.assign(node, target, mask, changed)
            return
        read, operand = self.reader.operand(target), self.reader.operand(value)
        try:
            result = self.reader.combined(operator, read, operand, node)
        except KernelError as error:
            raise source.error(node, str(error)) from None
        if isinstance(read, Value):
            self.set(node, target, result)
            return
        if not np.can_cast(result.dtype.numpy(), read.dtype.numpy(), "same_kind"):
            raise source.error(
                node,
                f"numpy does not store {result.dtype} in an array of {read.dtype} in place; write "
                "x[...] = ..., which converts",
            )
        self.arrays.store(node, read, result)

    def _set_part(self, node: ast.stmt, target: ast.Subscript, value: Operand) -> None:
        """Assign to an element or a part of an array, or to its elements where a mask holds."""
        mask = self.masked.mask(target)
        if mask is not None:
            self.masked.store(node, target, mask, value)
            return
        view = self.reader.view(target)
        if view.rank:
            self.arrays.store(node, view, value)
            return
        if isinstance(value, ArrayValue):
            raise self.reader.source.error(
                node, f"an array of shape {shape_text(value.shape)} is stored in one element"
            )
        if view.base is None or view.place is None:
            raise self.reader.source.error(
                target, "this is a result, not a part of an array; assign it to a name first"
            )
        self.put(node, view.base, view.place(()), value)
