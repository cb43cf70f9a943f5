"""Arrays that a function makes itself: ``np.empty``, ``np.zeros`` and the like."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.annotations import dtype_named
from polysched.frontends.python.expressions import Reader
from polysched.frontends.python.values import Value, number, stored
from polysched.ir.array_handle import ArrayHandle
from polysched.ir.dtypes import DType, f64
from polysched.ir.expressions import Expression
from polysched.ir.kernel import Role

_FILLS: Mapping[Any, int | None] = MappingProxyType({np.empty: None, np.zeros: 0, np.ones: 1})
_LIKE: Mapping[Any, int | None] = MappingProxyType(
    {np.empty_like: None, np.zeros_like: 0, np.ones_like: 1}
)


def is_array_maker(reader: Reader, node: ast.Call) -> bool:
    """Whether a call makes an array.

    Raises:
        FrontendError: the function that is called does not exist.
    """
    function = reader.outer(node.func)
    return any(function is one for one in (*_FILLS, *_LIKE, np.full))


def declare_array(reader: Reader, target: ast.expr, node: ast.Call, role: Role) -> ArrayHandle:
    """Declare the array that a call makes, and fill it as the call does.

    Raises:
        FrontendError: its shape or type is none that a kernel's array can have.
    """
    function = reader.outer(node.func)
    named = {one.arg: one.value for one in node.keywords}
    given = list(node.args)
    if not given or set(named) - {"dtype"}:
        raise reader.source.error(node, "expected a shape, and a type such as dtype=np.float32")
    fill: Value | None
    if function in _LIKE:
        like = reader.array(given.pop(0)).array
        shape, dtype, start = like.shape, like.dtype, _LIKE[function]
        fill = None if start is None else number(start)
    else:
        shape, dtype = _shape(reader, given.pop(0)), f64
        if function is np.full:
            if not given:
                raise reader.source.error(node, "expected a shape and a value")
            fill = reader.value(given.pop(0))
            dtype = fill.dtype  # numpy's own choice, if none is named
        else:
            start = _FILLS[function]
            fill = None if start is None else number(start)
    named_type = named.get("dtype", given[0] if given else None)
    dtype = dtype if named_type is None else _dtype(reader, named_type)
    return _declared(reader, target, (shape, dtype, role), fill)


def _declared(
    reader: Reader,
    target: ast.expr,
    what: tuple[tuple[Expression, ...], DType, Role],
    fill: Value | None,
) -> ArrayHandle:
    assert isinstance(target, ast.Name)
    (shape, dtype, role), build = what, reader.build
    declare = build.output if role is Role.OUTPUT else build.temporary
    try:
        with build.located(reader.source.span(target).location):
            array = declare(target.id, dtype, shape)
            if fill is not None:
                bounds: dict[str, Any] = {
                    f"{target.id}_{name}": extent
                    for name, extent in zip(array.array.dimensions, shape, strict=True)
                }
                with build.loops(**bounds) as at:
                    array[at] = stored(fill, dtype)
    except KernelError as error:
        raise reader.source.error(target, str(error)) from None
    return array


def _shape(reader: Reader, node: ast.expr) -> tuple[Expression, ...]:
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return reader.array(node.value).array.shape
    parts = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    return tuple(reader.value(part).expression for part in parts)


def _dtype(reader: Reader, node: ast.expr) -> DType:
    if isinstance(node, ast.Attribute) and node.attr == "dtype":
        return reader.array(node.value).array.dtype
    try:
        return dtype_named(reader.source, node)
    except KernelError as error:
        raise reader.source.error(node, str(error)) from None
