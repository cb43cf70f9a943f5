"""Argument annotations: the element type, shape and value range that each one declares.

==================================  ===============================================================
``a: "f32[n, m + 1]"``              an array; its extents are affine in names and integers
``a: "f32"``                        a number, passed as a zero-dimensional array
``a: "i64[n] in range(m)"``         an array of integers in a range, which may be subscripts
``n: int``                          a size
``a: Annotated[Any, "f32[n]"]``     the same for type checkers
``a: Array[ps.f32, "n", "m + 1"]``  the same in parts, or ``Array["f32[n, m + 1]"]``
==================================  ===============================================================

``Annotated[NDArray[np.float32], "n", "m"]`` is an array too, whose elements type checkers know:
mypy and linters accept this form without a comment.

Every name in an extent is a size. The function need not have an argument for it: the call takes
its value from the shapes of the arrays.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from types import GenericAlias
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.source.function_source import FunctionSource
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.ir.expr.expressions import Constant, Expression, Parameter

EXPECTED = 'expected a type and a shape such as "f32[n, m]", or int for a size'


class Array:
    """The annotation of an array: ``Array[ps.f32, "height", "width + 2"]``.

    Its parts are an element type and the extents: names, integers, or sums of these as strings.
    ``Array["f32[height, width + 2]"]`` is the same. Type checkers read neither: for them, write
    ``Annotated[NDArray[np.float32], "height", "width + 2"]``.
    """

    def __class_getitem__(cls, item: object) -> GenericAlias:
        return GenericAlias(cls, item)


@dataclass(frozen=True)
class ArrayArgument:
    """An array argument.

    Attributes:
        values: the half-open range of its elements; None if not declared.
        axes: the dimensions in the order in which they lie in memory, the slowest first; None for
            row-major order.
        is_weak: whether it is a Python number.
    """

    name: str
    dtype: DType
    shape: tuple[Expression, ...]
    node: ast.arg
    values: tuple[Expression, Expression] | None = None
    axes: tuple[int, ...] | None = None
    is_weak: bool = False

    @property
    def stored_shape(self) -> tuple[Expression, ...]:
        """The extents in the order in which the dimensions lie in memory."""
        return self.shape if self.axes is None else tuple(self.shape[axis] for axis in self.axes)


@dataclass(frozen=True)
class SizeArgument:
    """An integer argument: a parameter of the kernel, or a literal."""

    name: str
    node: ast.arg
    literal: int | None = None


Argument = ArrayArgument | SizeArgument


def require_named(source: FunctionSource) -> None:
    """Check that a function has no ``*arguments`` and no ``**named``."""
    for extra in (source.node.args.vararg, source.node.args.kwarg):
        if extra is not None:
            stars = "**" if extra is source.node.args.kwarg else "*"
            raise source.error(
                extra, f"'{stars}{extra.arg}' takes any arguments; expected named arguments"
            )


def arguments_of(source: FunctionSource) -> tuple[Argument, ...]:
    """Read the arguments of a function, in the order of its definition."""
    signature = source.node.args
    require_named(source)
    for default in (*signature.defaults, *signature.kw_defaults):
        if default is not None:
            raise source.error(
                default,
                "a kernel's argument cannot have a default value; pass the value at the call",
            )
    nodes = (*signature.posonlyargs, *signature.args, *signature.kwonlyargs)
    return tuple(_argument(source, node) for node in nodes)


def _argument(source: FunctionSource, node: ast.arg) -> Argument:
    if node.annotation is None:
        raise source.error(node, f"argument '{node.arg}' has no annotation; {EXPECTED}")
    listed = _listed(source, node.annotation)
    if listed is not None:
        return _of_list(source, node, *listed)
    annotation = _unwrapped(source, node.annotation)
    if isinstance(annotation, ast.Name) and annotation.id == "int":
        return SizeArgument(node.arg, node)
    values = None
    try:
        if isinstance(annotation, ast.Compare) and isinstance(annotation.ops[0], ast.In):
            values = _range(source, annotation.comparators[0])
            annotation = annotation.left
        if isinstance(annotation, ast.Subscript):
            inside = annotation.slice
            extents = inside.elts if isinstance(inside, ast.Tuple) else [inside]
            shape = tuple(_extent(source, extent) for extent in extents)
            return ArrayArgument(node.arg, _dtype(source, annotation.value), shape, node, values)
        return ArrayArgument(node.arg, _dtype(source, annotation), (), node, values)
    except KernelError as error:
        raise source.error(node.annotation, f"{error}; {EXPECTED}") from None


def _listed(source: FunctionSource, node: ast.expr) -> tuple[ast.expr, tuple[ast.expr, ...]] | None:
    """The element type and the extents of ``Array[T, ...]`` and ``Annotated[NDArray[T], ...]``."""
    if not isinstance(node, ast.Subscript):
        return None
    name = ast.unparse(node.value).rpartition(".")[2]
    if not isinstance(node.slice, ast.Tuple):
        is_type = name == Array.__name__ and not isinstance(node.slice, ast.Constant)
        return (node.slice, ()) if is_type else None
    first, *rest = node.slice.elts
    if name == "Annotated" and isinstance(first, ast.Subscript):
        is_array = ast.unparse(first.value).rpartition(".")[2] == "NDArray"
        return (first.slice, tuple(rest)) if is_array else None
    return (first, tuple(rest)) if name == Array.__name__ else None


def _of_list(
    source: FunctionSource, node: ast.arg, dtype: ast.expr, extents: tuple[ast.expr, ...]
) -> ArrayArgument:
    annotation = node.annotation
    assert annotation is not None
    try:
        shape = tuple(_extent(source, _unwrapped(source, extent)) for extent in extents)
        return ArrayArgument(node.arg, dtype_named(source, dtype), shape, node)
    except KernelError as error:
        raise source.error(annotation, f"{error}; {EXPECTED}") from None


def _unwrapped(source: FunctionSource, node: ast.expr) -> ast.expr:
    """Strip the quotes, ``Annotated`` and ``Array`` from an annotation."""
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and ast.unparse(node.value).rpartition(".")[2] == Array.__name__
    ):
        node = node.slice
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        is_annotated = ast.unparse(node.value).rpartition(".")[2] == "Annotated"
        if is_annotated and len(node.slice.elts) == 2:
            node = node.slice.elts[1]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return ast.parse(node.value.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            raise source.error(node, f"{node.value!r} cannot be read; {EXPECTED}") from None
    return node


def require_real(dtype: np.dtype[Any]) -> None:
    """Check that an element type is not complex."""
    if dtype.kind == "c":
        raise KernelError(
            f"complex numbers ({dtype}) are not supported; pass the real and the imaginary part as "
            "two arrays, x.real.copy() and x.imag.copy()"
        )


def dtype_named(source: FunctionSource, node: ast.expr) -> DType:
    """The element type of an annotation such as ``f32``, ``ps.f32`` or ``np.float32``."""
    return _dtype(source, _unwrapped(source, node))


def _dtype(source: FunctionSource, node: ast.expr) -> DType:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    if name in ("complex", "complex64", "complex128", "csingle", "cdouble"):
        require_real(np.dtype(name))
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        # `ps.f32`, under whatever name the user imported the module.
        return as_dtype(node.attr)
    if isinstance(node, ast.Name):
        names = {"float": "f64", "bool": "bool"}
        return as_dtype(names.get(node.id, node.id))
    raise KernelError(f"'{ast.unparse(node)}' is not an element type")


def _extent(source: FunctionSource, node: ast.expr) -> Expression:
    """Read an extent; the kernel's builder checks that it is affine."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return Constant(value)
        case ast.Name(id=name):
            outer = source.outer.get(name)
            nodes = ast.walk(source.node.args)
            arguments = {node.arg for node in nodes if isinstance(node, ast.arg)}
            if isinstance(outer, int) and not isinstance(outer, bool) and name not in arguments:
                return Constant(outer)
            return Parameter(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_extent(source, operand)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _extent(source, left) + _extent(source, right)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _extent(source, left) - _extent(source, right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _extent(source, left) * _extent(source, right)
        case ast.BinOp(left=left, op=ast.FloorDiv(), right=right):
            return _extent(source, left) // _extent(source, right)
    raise KernelError(f"'{ast.unparse(node)}' is not an extent")


def _range(source: FunctionSource, node: ast.expr) -> tuple[Expression, Expression]:
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[end], keywords=[]):
            return Constant(0), _extent(source, end)
        case ast.Call(func=ast.Name(id="range"), args=[start, end], keywords=[]):
            return _extent(source, start), _extent(source, end)
    raise KernelError(f"'{ast.unparse(node)}' is not a range")


def spelled(text: str, arguments: Iterable[Argument]) -> str:
    """Spell sizes in a condition as in Python: ``x_n1 == x_n0`` as ``x.shape[1] == s.shape[0]``.

    Dimensions of equal extents share a size; a dimension of an array that the text does not name
    yet is preferred.
    """
    places: dict[str, list[tuple[str, int]]] = {}
    for argument in arguments:
        if isinstance(argument, ArrayArgument):
            for axis, extent in enumerate(argument.shape):
                if isinstance(extent, Parameter):
                    places.setdefault(extent.name, []).append((argument.name, axis))
    named: set[str] = set()
    for size in dict.fromkeys(re.findall(r"\w+", text)):
        if size in places:
            array, axis = min(places[size], key=lambda place: place[0] in named)
            named.add(array)
            text = re.sub(rf"\b{size}\b", f"{array}.shape[{axis}]", text)
    return text
