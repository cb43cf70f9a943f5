"""Assignments to local variables that are arrays."""

from __future__ import annotations

import ast

from polysched.frontends.python.expressions.array_calls import copied
from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.scope.array_values import ArrayValue, require_same, shape_text
from polysched.frontends.python.scope.bindings import (
    LocalNumber,
    PartialBinding,
    array_of,
    indices_of,
)
from polysched.frontends.python.source.liveness import is_changed, is_dead_after
from polysched.frontends.python.statements.element_stores import ElementStores
from polysched.ir.core.kernel import Role


def assign_array(
    stores: ElementStores, node: ast.stmt, target: ast.Name, value: ArrayValue
) -> None:
    """Bind a name to a view, or to a new array that holds a result.

    Raises:
        FrontendError: the name is a number, or cannot get another array here.
    """
    scope, name = stores.reader.scope, target.id
    binding = scope.names.get(name)
    if isinstance(binding, LocalNumber | PartialBinding) or name in scope.types:
        raise stores.reader.source.error(
            target,
            f"'{name}' is a number, and the value is an array; expected another name or a number",
        )
    if name in indices_of(binding):
        raise stores.reader.source.error(
            target, f"'{name}' is the index of a loop; expected another name"
        )
    is_result = value.base is not None and scope.unnamed.get(value.base.array.name) is value
    if name in scope.kept:
        _overwrite(stores, node, target, copied(value) if is_result else value)
    elif is_result:
        for other in [other for other, shown in scope.names.items() if shown is value]:
            del scope.names[other]  # the name that stood for a call in this statement
        scope.names[name] = scope.owned[name] = value
        scope.unnamed = {k: v for k, v in scope.unnamed.items() if v is not value}
    elif value.base is not None and not _is_overwritten(stores.reader, node, target, value):
        scope.names[name] = value
    else:
        scope.names[name] = stores.arrays.temporary(node, copied(value), name)
        scope.owned[name] = scope.names[name]


def _overwrite(stores: ElementStores, node: ast.stmt, target: ast.Name, value: ArrayValue) -> None:
    """Give a name a new array inside of a loop or branch, in the memory of the old one."""
    scope, name, source = stores.reader.scope, target.id, stores.reader.source
    advice = f"write '{name}[:] = ...' to change its elements, or use a new name"
    old = scope.names.get(name)
    if value.base is not None and is_moved(stores.reader, node, target, value):
        value = copied(value)
    if value.base is not None:
        raise source.error(
            node,
            f"'{name}' is another array before this loop or branch; {advice}, or a copy: "
            f"'{name} = ....copy()'",
        )
    if not isinstance(old, ArrayValue) or scope.owned.get(name) is not old:
        raise source.error(node, f"'{name}' is another array before this loop or branch; {advice}")
    others = [other for other, b in scope.names.items() if array_of(b) is old.base]
    if len(others) > 1:
        alias = next(other for other in others if other != name)
        raise source.error(
            node, f"'{name}' gets a new array here while '{alias}' is the old one; {advice}"
        )
    same = old.dtype == value.dtype and old.rank == value.rank
    same = same and all(
        require_same(stores.reader.build, a, b) for a, b in zip(old.shape, value.shape, strict=True)
    )
    if not same:
        raise source.error(
            node,
            f"'{name}' is {old.dtype} of shape {shape_text(old.shape)} before this loop or "
            f"branch, and {value.dtype} of shape {shape_text(value.shape)} here; {advice}",
        )
    if not value.is_undefined:
        stores.arrays.store(node, old, value)


def _is_overwritten(reader: Reader, node: ast.stmt, target: ast.Name, value: ArrayValue) -> bool:
    """Whether ``x = y`` must copy: a loop or branch around gives ``y`` another array later."""
    other = _value_of(node, target)
    is_kept = isinstance(other, ast.Name) and other.id in reader.scope.kept
    return is_kept and is_moved(reader, node, target, value)


def is_moved(reader: Reader, node: ast.stmt, target: ast.expr, value: ArrayValue) -> bool:
    """Whether a copy stands for ``x = y``: of the two, one is not read or none is changed."""
    scope, source = reader.scope, reader.source
    assert value.base is not None
    other = _value_of(node, target)
    if not isinstance(other, ast.Name) or not isinstance(target, ast.Name) or scope.inlined:
        return False
    inner = [part for local in source.functions.values() for part in ast.walk(local)]
    if any(isinstance(part, ast.Name) and part.id in (target.id, other.id) for part in inner):
        return False
    if not any(is_changed(source.node, name) for name in (target.id, other.id)):
        return True
    is_own = value.base.array.role in (Role.OUTPUT, Role.TEMPORARY)
    names = {name for name, binding in scope.names.items() if array_of(binding) is value.base}
    return is_own and names <= {other.id} and is_dead_after(source.node, node, other.id)


def _value_of(node: ast.stmt, target: ast.expr) -> ast.expr | None:
    """The expression that an assignment stores in one of its targets."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
        return None
    only = node.targets[0]
    if isinstance(only, ast.Tuple) and isinstance(node.value, ast.Tuple):
        pairs = zip(only.elts, node.value.elts, strict=True)
        return next((value for name, value in pairs if name is target), None)
    return node.value
