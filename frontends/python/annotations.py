"""What the annotations of a function's arguments declare.

==================================  ===============================================================
``a: "f32[n, m + 1]"``              an array; its extents are affine in names and integers
``a: "f32"``                        a number, passed as an array of no dimensions
``a: "i64[n] in range(m)"``         an array whose elements are in a range: they may be subscripts
``n: int``                          a size
``a: Annotated[Any, "f32[n]"]``     the same for type checkers
==================================  ===============================================================

The names in extents are sizes, whether the function has an argument for them or not: they are told
by the shapes.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from polysched.errors import KernelError
from polysched.frontends.python.source import FunctionSource
from polysched.ir.dtypes import DType, as_dtype
from polysched.ir.expressions import Constant, Expression, Parameter

EXPECTED = 'expected a type and a shape such as "f32[n, m]", or int for a size'


@dataclass(frozen=True)
class ArrayArgument:
    """An array that is passed.

    Attributes:
        values: the range of its elements, the upper end excluded.
    """

    name: str
    dtype: DType
    shape: tuple[Expression, ...]
    node: ast.arg
    values: tuple[Expression, Expression] | None = None


@dataclass(frozen=True)
class SizeArgument:
    """An integer that is passed: a parameter of the kernel."""

    name: str
    node: ast.arg


Argument = ArrayArgument | SizeArgument


def arguments_of(source: FunctionSource) -> tuple[Argument, ...]:
    """The arguments of a function in the order of its definition.

    Raises:
        FrontendError: one has no annotation, or one that says nothing that a kernel can have.
    """
    given = source.node.args
    for extra in (given.vararg, given.kwarg):
        if extra is not None:
            raise source.error(extra, f"'*{extra.arg}' takes any arguments; expected named ones")
    for default in (*given.defaults, *given.kw_defaults):
        if default is not None:
            raise source.error(
                default, "a default value, which a kernel does not have; expected it at the call"
            )
    return tuple(
        _argument(source, node) for node in (*given.posonlyargs, *given.args, *given.kwonlyargs)
    )


def _argument(source: FunctionSource, node: ast.arg) -> Argument:
    if node.annotation is None:
        raise source.error(node, f"argument '{node.arg}' has no annotation; {EXPECTED}")
    meant = _unwrapped(source, node.annotation)
    if isinstance(meant, ast.Name) and meant.id == "int":
        return SizeArgument(node.arg, node)
    values = None
    try:
        if isinstance(meant, ast.Compare) and isinstance(meant.ops[0], ast.In):
            values = _range(source, meant.comparators[0])
            meant = meant.left
        if isinstance(meant, ast.Subscript):
            dims = meant.slice.elts if isinstance(meant.slice, ast.Tuple) else [meant.slice]
            shape = tuple(_extent(source, one) for one in dims)
            return ArrayArgument(node.arg, _dtype(source, meant.value), shape, node, values)
        return ArrayArgument(node.arg, _dtype(source, meant), (), node, values)
    except KernelError as error:
        raise source.error(node.annotation, f"{error}; {EXPECTED}") from None


def _unwrapped(source: FunctionSource, node: ast.expr) -> ast.expr:
    """The expression inside of quotes, and inside of ``Annotated``."""
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


def dtype_named(source: FunctionSource, node: ast.expr) -> DType:
    """The element type that a type in the source means: ``f32``, ``ps.f32``, ``np.float32``.

    Raises:
        KernelError: none.
    """
    return _dtype(source, _unwrapped(source, node))


def _dtype(source: FunctionSource, node: ast.expr) -> DType:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        # As `ps.f32`: whatever the module is called here.
        return as_dtype(node.attr)
    if isinstance(node, ast.Name):
        names = {"float": "f64", "bool": "bool"}
        return as_dtype(names.get(node.id, node.id))
    raise KernelError(f"'{ast.unparse(node)}' is no element type")


def _extent(source: FunctionSource, node: ast.expr) -> Expression:
    """An affine expression over sizes. Whether it is affine the kernel's builder tells."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return Constant(value)
        case ast.Name(id=name):
            outer = source.outer.get(name)
            arguments = {one.arg for one in ast.walk(source.node.args) if isinstance(one, ast.arg)}
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
    raise KernelError(f"'{ast.unparse(node)}' is no extent")


def _range(source: FunctionSource, node: ast.expr) -> tuple[Expression, Expression]:
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[end], keywords=[]):
            return Constant(0), _extent(source, end)
        case ast.Call(func=ast.Name(id="range"), args=[start, end], keywords=[]):
            return _extent(source, start), _extent(source, end)
    raise KernelError(f"'{ast.unparse(node)}' is no range")
