"""Assignments to local variables that are numbers."""

from __future__ import annotations

import ast

from polysched.errors import KernelError
from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.scope.array_values import ArrayValue
from polysched.frontends.python.scope.bindings import (
    LocalNumber,
    NumberType,
    PartialBinding,
    TypeLearnedError,
    indices_of,
    require_type,
)
from polysched.frontends.python.source.stored_names import assignments_of
from polysched.frontends.python.statements.element_stores import ElementStores
from polysched.frontends.python.values.affinity import is_affine_number
from polysched.frontends.python.values.integer_ranges import Need
from polysched.frontends.python.values.value import Value, bare
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.dtypes import i64
from polysched.ir.expr.traversal import loads


def assign_number(stores: ElementStores, node: ast.stmt, target: ast.expr, value: Value) -> None:
    """Assign to a local number: bind an affine value to the name, or store it in memory.

    Raises:
        TypeLearnedError: its type differs from the known one.
    """
    reader = stores.reader
    scope, name = reader.scope, _assigned_name(reader, target)
    binding = scope.names.get(name)
    known = scope.types.get(name)
    if known is None and (is_affine_number(value) or _is_index(reader, name, value)):
        scope.names[name] = value
        return
    if known is None:
        known = NumberType(value.dtype, value.is_weak)
        if binding is not None or name in scope.literals:  # earlier statements need the type
            raise TypeLearnedError(name, known)
        scope.types = {**scope.types, name: known}
    if known.is_weak and (not value.is_weak or value.dtype.is_float > known.dtype.is_float):
        raise TypeLearnedError(name, NumberType(value.dtype, value.is_weak))
    try:
        require_type(value, known)
    except KernelError as error:
        raise reader.source.error(node, str(error)) from None
    if isinstance(binding, PartialBinding):
        binding = scope.names[name] = binding.number
    is_new = not isinstance(binding, LocalNumber)
    if not isinstance(binding, LocalNumber):
        build = reader.build
        try:
            with build.located(reader.source.span(target).location):
                handle = build.temporary(scope.fresh(name), known.dtype, ())
        except KernelError as error:
            raise reader.source.error(target, str(error)) from None
        binding = LocalNumber(handle, known.is_weak)
        scope.names[name] = binding
    stores.put(node, binding.handle, (), value, is_new=is_new)
    scope.conditional.discard(name)
    if known.is_weak and known.dtype == i64:
        place = binding.handle.array.name
        reader.uses.store(place, Need(node, value.expression, scope.indices))
    scope.alternatives[name] = value.alternatives
    if (value.dtype, value.is_weak) != (known.dtype, known.is_weak):
        scope.alternatives[name] = (bare(value), *value.alternatives)


def _is_index(reader: Reader, name: str, value: Value) -> bool:
    """Whether a variable may stand for an element that is a subscript, and never changes."""
    scope, body = reader.scope, reader.source.node.body
    if scope.index_arrays is None or not value.dtype.is_integer or value.alternatives:
        return False
    read = {load.array for load in loads(value.expression)}
    return read <= scope.inputs and assignments_of(body, name) <= 1


def _assigned_name(reader: Reader, target: ast.expr) -> str:
    """The name of an assignment's target, which must not be an array or a loop index."""
    if not isinstance(target, ast.Name):
        raise reader.source.error(target, "expected a name here")
    binding = reader.scope.names.get(target.id)
    if isinstance(binding, ArrayHandle | ArrayValue):
        raise reader.source.error(
            target, f"'{target.id}' is an array or an argument; expected another name"
        )
    if target.id in indices_of(binding):
        raise reader.source.error(
            target, f"'{target.id}' is the index of a loop; expected another name"
        )
    return target.id
