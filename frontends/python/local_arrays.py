"""Local arrays of a function: calls of ``np.empty``, ``np.zeros`` and similar functions."""

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
from polysched.ir.core.kernel import Role
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.dtypes import DType, f64
from polysched.ir.expr.expressions import Expression

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
    return any(function is maker for maker in (*_FILLS, *_LIKE, np.full))


def declare_array(reader: Reader, target: ast.expr, node: ast.Call, role: Role) -> ArrayHandle:
    """Declare the array that a call makes, and fill it as the call does.

    Raises:
        FrontendError: a kernel's array cannot have its shape or type.
    """
    function = reader.outer(node.func)
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    arguments = list(node.args)
    if not arguments or set(keywords) - {"dtype"}:
        raise reader.source.error(node, "expected a shape, and a type such as dtype=np.float32")
    fill: Value | None
    if function in _LIKE:
        like = reader.array(arguments.pop(0)).array
        shape, dtype, start = like.shape, like.dtype, _LIKE[function]
        fill = None if start is None else number(start)
    else:
        shape, dtype = _shape(reader, arguments.pop(0)), f64
        if function is np.full:
            if not arguments:
                raise reader.source.error(node, "expected a shape and a value")
            fill = reader.value(arguments.pop(0))
            dtype = fill.dtype  # numpy's default
        else:
            start = _FILLS[function]
            fill = None if start is None else number(start)
    dtype_node = keywords.get("dtype", arguments[0] if arguments else None)
    dtype = dtype if dtype_node is None else _dtype(reader, dtype_node)
    return _declared(reader, target, (shape, dtype, role), fill)


def _declared(
    reader: Reader,
    target: ast.expr,
    properties: tuple[tuple[Expression, ...], DType, Role],
    fill: Value | None,
) -> ArrayHandle:
    assert isinstance(target, ast.Name)
    (shape, dtype, role), build = properties, reader.build
    declare = build.output if role is Role.OUTPUT else build.temporary
    try:
        with build.located(reader.source.span(target).location):
            array = declare(target.id, dtype, shape)
            if fill is not None:
                bounds: dict[str, Any] = {
                    f"{target.id}_{name}": extent
                    for name, extent in zip(array.array.dimensions, shape, strict=True)
                }
                with build.loops(**bounds) as indices:
                    array[indices] = stored(fill, dtype)
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
