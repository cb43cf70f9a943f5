"""Translate assignments to numbers, elements, parts of arrays and whole arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from operator import and_

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.limits import MOST_STATEMENTS, TOO_MANY_STATEMENTS
from polysched.frontends.python.arrays.array_stores import ArrayStores
from polysched.frontends.python.arrays.masks import MaskedStores
from polysched.frontends.python.expressions.array_calls import copied
from polysched.frontends.python.expressions.translate import BINARY, Reader
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Operand,
    Subscripts,
    element,
    mapped,
    require_same,
    shape_text,
)
from polysched.frontends.python.scope.bindings import (
    LocalNumber,
    NumberType,
    PartialBinding,
    TypeLearnedError,
    UndefinedLearnedError,
    WrittenLearnedError,
    array_of,
    indices_of,
    require_type,
)
from polysched.frontends.python.source.annotations import dtype_named
from polysched.frontends.python.source.liveness import is_changed, is_dead_after
from polysched.frontends.python.source.stored_names import assignments_of
from polysched.frontends.python.statements.guarded_values import guarded
from polysched.frontends.python.values.affinity import is_affine_number
from polysched.frontends.python.values.integer_ranges import Need
from polysched.frontends.python.values.value import Value, bare, stored
from polysched.ir.core.kernel import Role
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.dtypes import i64
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads


@dataclass(frozen=True)
class Assigner:
    """Translator of the assignments of one function.

    Attributes:
        reader: translator of its expressions.
        stored: counts the statements.
        changed: the arrays that statements have stored to, so far.
    """

    reader: Reader
    stored: Iterator[int] = field(default_factory=count)
    changed: set[str] = field(default_factory=set)

    @property
    def arrays(self) -> ArrayStores:
        """Translator of stores of whole arrays."""
        return ArrayStores(self.reader, self.put)

    @property
    def masked(self) -> MaskedStores:
        """Translator of stores to the elements that a mask selects."""
        return MaskedStores(self.reader, self.arrays)

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        """Translate ``target = value``.

        Raises:
            FrontendError: a kernel cannot have such an assignment.
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
                    self.set_name(node, name, Value(length, is_weak=True))
            case ast.Tuple(elts=targets), ast.Tuple(elts=values):
                self._assign_several(node, target, targets, values)
            case ast.Tuple(elts=targets), _:
                self._unpack(node, target, targets, value)
            case ast.Subscript(), _ if (mask := self.masked.mask(target)) is not None:
                self.masked.assign(node, target, mask, value)
            case ((ast.Name() | ast.Subscript()), _):
                self.set(node, target, self.reader.operand(value))
            case _:
                raise self.reader.source.error(
                    target, "expected one name or one element such as a[i, j] here"
                )

    def set(self, node: ast.stmt, target: ast.expr, value: Operand) -> None:
        """Assign a value that has been read to a name, an element or a part of an array.

        Raises:
            FrontendError: the target cannot have this value.
        """
        if isinstance(target, ast.Name) and isinstance(value, ArrayValue):
            self._set_array(node, target, value)
        elif isinstance(target, ast.Name) and isinstance(value, Value):
            self.set_name(node, target, value)
        elif isinstance(target, ast.Subscript):
            self._set_part(node, target, value)
        else:
            raise self.reader.source.error(
                target, "expected one name or one element such as a[i, j] here"
            )

    def _assign_several(
        self, node: ast.stmt, target: ast.expr, targets: list[ast.expr], values: list[ast.expr]
    ) -> None:
        """``a, b = b, a + b``: all values are read before the first one is stored."""
        source = self.reader.source
        if len(targets) != len(values):
            raise source.error(target, f"expected {len(values)} names, one for each value")
        pending = []
        for position, (one, value) in enumerate(zip(targets, values, strict=True)):
            operand = self.reader.operand(value)
            if position and isinstance(operand, ArrayValue) and self._is_kept(one):
                if operand.base is None or self._is_moved(node, one, operand):
                    operand = copied(self.arrays.temporary(node, copied(operand), "value"))
            elif position:  # the first value is stored before anything else changes
                operand = self._held(node, position, value, operand)
            pending.append((one, operand))
        for one, operand in pending:
            self.set(node, one, operand)

    def _unpack(
        self, node: ast.stmt, target: ast.expr, targets: list[ast.expr], value: ast.expr
    ) -> None:
        """``x, y = points[i]``: the elements of the first dimension, whose extent is known."""
        operand, build = self.reader.operand(value), self.reader.build
        count = Constant(len(targets))
        if not isinstance(operand, ArrayValue):
            raise self.reader.source.error(
                target, "expected one name or one element such as a[i, j] here"
            )
        if not require_same(build, operand.shape[0], count):
            raise self.reader.source.error(
                target,
                f"this array of shape {shape_text(operand.shape)} is not unpacked into "
                f"{len(targets)} names",
            )
        for position, one in enumerate(targets):
            part = element(operand, Constant(position))
            if position and isinstance(part, Value):
                part = self._held(node, position, value, part)
            self.set(node, one, part)

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
        self.set_name(node, ast.copy_location(ast.Name(name, ast.Store()), value), operand)
        return self.reader.value(ast.copy_location(ast.Name(name, ast.Load()), value))

    def annotated(self, node: ast.AnnAssign, target: ast.Name, value: ast.expr) -> None:
        """Translate ``x: T = value``: Python types are ignored, an element type is enforced.

        Raises:
            FrontendError: it is neither, or the value does not fit it.
        """
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
        self.set_name(node, target, self.reader.value(value))

    def augmented(
        self, node: ast.stmt, target: ast.expr, operator: Operator, value: ast.expr
    ) -> None:
        """Translate ``target += value``, which changes an array in place.

        Raises:
            FrontendError: a kernel cannot have such an assignment.
        """
        source = self.reader.source
        if not isinstance(target, ast.Name | ast.Subscript):
            raise source.error(target, "expected a name or an element here")
        mask = self.masked.mask(target)
        if mask is not None and isinstance(target, ast.Subscript):
            symbol = next(kind for kind, one in BINARY.items() if one is operator)
            changed = ast.copy_location(ast.BinOp(target, symbol(), value), node)
            self.masked.assign(node, target, mask, changed)
            return
        read, operand = self.reader.operand(target), self.reader.operand(value)
        try:
            result = mapped(
                self.reader.build,
                lambda left, right: self.reader.binary(operator, left, right, node),
                read,
                operand,
            )
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

    def set_name(self, node: ast.stmt, target: ast.expr, value: Value) -> None:
        """Assign to a local number: bind an affine value to the name, or store it in memory.

        Raises:
            FrontendError: the name is not a number, or the value does not fit its type.
            TypeLearnedError: its type differs from the known one.
        """
        scope, name = self.reader.scope, self._assigned_name(target)
        binding = scope.names.get(name)
        known = scope.types.get(name)
        if known is None and (is_affine_number(value) or self._is_index(name, value)):
            scope.names[name] = value
            return
        if known is None:
            raise TypeLearnedError(name, NumberType(value.dtype, value.is_weak))
        if known.is_weak and (not value.is_weak or value.dtype.is_float > known.dtype.is_float):
            raise TypeLearnedError(name, NumberType(value.dtype, value.is_weak))
        try:
            require_type(value, known)
        except KernelError as error:
            raise self.reader.source.error(node, str(error)) from None
        if isinstance(binding, PartialBinding):
            binding = scope.names[name] = binding.number
        is_new = not isinstance(binding, LocalNumber)
        if not isinstance(binding, LocalNumber):
            build = self.reader.build
            try:
                with build.located(self.reader.source.span(target).location):
                    handle = build.temporary(scope.fresh(name), known.dtype, ())
            except KernelError as error:
                raise self.reader.source.error(target, str(error)) from None
            binding = LocalNumber(handle, known.is_weak)
            scope.names[name] = binding
        self.put(node, binding.handle, (), value, is_new=is_new)
        if known.is_weak and known.dtype == i64:
            place = binding.handle.array.name
            self.reader.uses.store(place, Need(node, value.expression, scope.indices))
        scope.alternatives[name] = value.alternatives
        if (value.dtype, value.is_weak) != (known.dtype, known.is_weak):
            scope.alternatives[name] = (bare(value), *value.alternatives)

    def _is_index(self, name: str, value: Value) -> bool:
        """Whether a variable may stand for an element that is a subscript, and never changes."""
        scope, body = self.reader.scope, self.reader.source.node.body
        if scope.index_arrays is None or not value.dtype.is_integer or value.alternatives:
            return False
        inputs = {
            binding.array.name
            for binding in scope.names.values()
            if isinstance(binding, ArrayHandle) and binding.array.role is Role.INPUT
        }
        read = {load.array for load in loads(value.expression)}
        return read <= inputs and assignments_of(body, name) <= 1

    def _assigned_name(self, target: ast.expr) -> str:
        """The name of an assignment's target, which must not be an array or a loop index."""
        if not isinstance(target, ast.Name):
            raise self.reader.source.error(target, "expected a name here")
        binding = self.reader.scope.names.get(target.id)
        if isinstance(binding, ArrayHandle | ArrayValue):
            raise self.reader.source.error(
                target, f"'{target.id}' is an array or an argument; expected another name"
            )
        if target.id in indices_of(binding):
            raise self.reader.source.error(
                target, f"'{target.id}' is the index of a loop; expected another name"
            )
        return target.id

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

    def _set_array(self, node: ast.stmt, target: ast.Name, value: ArrayValue) -> None:
        """Bind a name to a view, or to a new array that holds a result."""
        scope, name = self.reader.scope, target.id
        binding = scope.names.get(name)
        if isinstance(binding, LocalNumber | PartialBinding) or name in scope.types:
            raise self.reader.source.error(target, f"'{name}' is a number; expected another name")
        if name in indices_of(binding):
            raise self.reader.source.error(
                target, f"'{name}' is the index of a loop; expected another name"
            )
        is_result = value.base is not None and scope.unnamed.get(value.base.array.name) is value
        if name in scope.kept:
            self._overwrite(node, target, copied(value) if is_result else value)
        elif is_result:
            scope.names[name] = scope.owned[name] = value
            scope.unnamed = {k: v for k, v in scope.unnamed.items() if v is not value}
        elif value.base is not None and not self._is_overwritten(node, target, value):
            scope.names[name] = value
        else:
            scope.names[name] = self.arrays.temporary(node, copied(value), name)
            scope.owned[name] = scope.names[name]

    def _overwrite(self, node: ast.stmt, target: ast.Name, value: ArrayValue) -> None:
        """Give a name a new array inside of a loop or branch, in the memory of the old one."""
        scope, name, source = self.reader.scope, target.id, self.reader.source
        advice = f"write '{name}[:] = ...' to change its elements, or use a new name"
        old = scope.names.get(name)
        if value.base is not None and self._is_moved(node, target, value):
            value = copied(value)
        if value.base is not None:
            raise source.error(
                node,
                f"'{name}' is another array before this loop or branch; {advice}, or a copy: "
                f"'{name} = ....copy()'",
            )
        if not isinstance(old, ArrayValue) or scope.owned.get(name) is not old:
            raise source.error(
                node, f"'{name}' is another array before this loop or branch; {advice}"
            )
        others = [other for other, b in scope.names.items() if array_of(b) is old.base]
        if len(others) > 1:
            alias = next(other for other in others if other != name)
            raise source.error(
                node, f"'{name}' gets a new array here while '{alias}' is the old one; {advice}"
            )
        same = old.dtype == value.dtype and old.rank == value.rank
        same = same and all(
            require_same(self.reader.build, a, b)
            for a, b in zip(old.shape, value.shape, strict=True)
        )
        if not same:
            raise source.error(
                node,
                f"'{name}' is {old.dtype} of shape {shape_text(old.shape)} before this loop or "
                f"branch, and {value.dtype} of shape {shape_text(value.shape)} here; {advice}",
            )
        if not value.is_undefined:
            self.arrays.store(node, old, value)

    def _is_overwritten(self, node: ast.stmt, target: ast.Name, value: ArrayValue) -> bool:
        """Whether ``x = y`` must copy: a loop or branch around gives ``y`` another array later."""
        other = _value_of(node, target)
        is_kept = isinstance(other, ast.Name) and other.id in self.reader.scope.kept
        return is_kept and self._is_moved(node, target, value)

    def _is_moved(self, node: ast.stmt, target: ast.expr, value: ArrayValue) -> bool:
        """Whether a copy stands for ``x = y``: of the two, one is not read or none is changed."""
        scope, source = self.reader.scope, self.reader.source
        assert value.base is not None
        other = _value_of(node, target)
        if not isinstance(other, ast.Name) or not isinstance(target, ast.Name) or scope.inlined:
            return False
        inner = [part for one in source.functions.values() for part in ast.walk(one)]
        if any(isinstance(part, ast.Name) and part.id in (target.id, other.id) for part in inner):
            return False
        if not any(is_changed(source.node, one) for one in (target.id, other.id)):
            return True
        is_own = value.base.array.role in (Role.OUTPUT, Role.TEMPORARY)
        names = {one for one, binding in scope.names.items() if array_of(binding) is value.base}
        is_only = names <= {other.id}
        return is_own and is_only and is_dead_after(source.node, node, other.id)

    def put(
        self,
        node: ast.AST,
        array: ArrayHandle,
        subscripts: Subscripts,
        value: Value,
        *,
        is_new: bool = False,
    ) -> None:
        """Declare one statement; in a branch that is not taken, the element keeps its value.

        Raises:
            FrontendError: the value does not fit the element, or there are too many statements.
            WrittenLearnedError: the array is declared as an input.
            UndefinedLearnedError: the element has no value that it could keep.
        """
        if next(self.stored) == MOST_STATEMENTS:
            raise self.reader.source.error(node, TOO_MANY_STATEMENTS)
        build, guards, declared = self.reader.build, self.reader.scope.guards, array.array
        if declared.role is Role.INPUT and declared.shape and declared.values is None:
            raise WrittenLearnedError(declared.name)
        if self.reader.scope.is_constant(declared.name):
            raise self.reader.source.error(
                node,
                f"'{declared.name}' is an array outside of the function, which a kernel cannot "
                "change; pass it as an argument",
            )
        if guards and not is_new and declared.name in self.reader.scope.undefined:
            raise UndefinedLearnedError(declared.name)
        self.changed.add(declared.name)
        if self.reader.scope.index_arrays is not None and not build.is_reached():
            return  # no call of this kind comes here: an extent of 1 has no elements inside
        with build.located(self.reader.source.span(node).location):
            try:
                expression: Expression = stored(value, declared.dtype)
                if guards and not is_new:
                    condition = Value(reduce(and_, (guard.expression for guard in guards)))
                    expression = guarded(condition, expression, array[subscripts])
                array[subscripts] = expression
            except KernelError as error:
                raise self.reader.source.error(node, str(error)) from None


def _value_of(node: ast.stmt, target: ast.expr) -> ast.expr | None:
    """The expression that an assignment stores in one of its targets."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    only = node.targets[0]
    if isinstance(only, ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = zip(only.elts, node.value.elts, strict=True)
        return next((value for one, value in pairs if one is target), None)
    return node.value
