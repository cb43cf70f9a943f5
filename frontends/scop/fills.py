"""Translate ``memset`` and ``memcpy`` of ranges of elements to loops.

::

    memset(x, 0, n * sizeof(float));      for (long k = 0; k < n; k++) x[k] = 0;
    memcpy(&x[2], y, m * sizeof *x);      for (long k = 0; k < m; k++) x[2 + k] = y[k];
"""

from __future__ import annotations

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine import affine
from polysched.frontends.scop.counting import names_in
from polysched.frontends.scop.rows import RowBinding, row_of
from polysched.frontends.scop.scope import Scope
from polysched.frontends.scop.subscripts import element_of, is_element
from polysched.frontends.scop.trees import cast_to
from polysched.frontends.scop.types import c_name, declared_type
from polysched.frontends.scop.usage import FILLS
from polysched.ir.expr.dtypes import DType

_EXPECTED = "expected a number of elements times their size, as in memset(x, 0, n * sizeof(float))"


def is_fill(node: c_ast.Node) -> bool:
    """Whether a statement calls memset or memcpy."""
    is_call = isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID)
    return is_call and node.name.name in FILLS


def as_loop(scope: Scope, node: c_ast.FuncCall) -> c_ast.For:
    """Return the loop over the elements that a call sets.

    Raises:
        FrontendError: the call does not set whole elements, or may copy an array onto itself.
    """
    scope.require_known(node.name)
    name = node.name.name
    arguments = [] if node.args is None else node.args.exprs
    if len(arguments) != 3:
        raise scope.error(node, f"'{name}' takes 3 arguments; this call has {len(arguments)}")
    target, value, size = arguments
    row = _row(scope, target)
    count = _count(scope, size, row.dtype)
    variable = "k"
    while variable in names_in(node) or scope.find(variable) is not None:
        variable += "_"
    index = c_ast.ID(variable, node.coord)
    if name == "memset":
        stored = _byte(scope, value, row.dtype)
    else:
        source = _row(scope, value)
        if source.dtype != row.dtype:
            raise scope.error(
                value,
                f"this copies {c_name(source.dtype)} to {c_name(row.dtype)}; expected arrays of "
                "the same type",
            )
        if source.array.name == row.array.name:
            raise scope.error(node, f"'{name}' of an array onto itself; expected two arrays")
        stored = _element(value, index)
    assignment = c_ast.Assignment("=", _element(target, index), stored, node.coord)
    long = c_ast.IdentifierType(["long"], node.coord)
    zero = c_ast.Constant("int", "0", node.coord)
    type_ = c_ast.TypeDecl(variable, [], None, long, node.coord)
    start = c_ast.Decl(variable, [], [], [], [], type_, zero, None, node.coord)
    return c_ast.For(
        c_ast.DeclList([start], node.coord),
        c_ast.BinaryOp("<", index, count, node.coord),
        c_ast.UnaryOp("p++", index, node.coord),
        assignment,
        node.coord,
    )


def _row(scope: Scope, node: c_ast.Node) -> RowBinding:
    row = row_of(scope, _without_cast(node))
    if row is None or row.rank != 1:
        raise scope.error(
            node, "this is not a row of an array; expected an array of one dimension, or a row"
        )
    return row


def _without_cast(node: c_ast.Node) -> c_ast.Node:
    return node.expr if isinstance(node, c_ast.Cast) else node


def _element(pointer: c_ast.Node, index: c_ast.Node) -> c_ast.Node:
    """Return ``pointer[index]``."""
    match _without_cast(pointer):
        case c_ast.BinaryOp(op="+", left=base, right=offset):
            index = c_ast.BinaryOp("+", offset, index, pointer.coord)
            return c_ast.ArrayRef(base, index, pointer.coord)
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=base, subscript=offset)):
            index = c_ast.BinaryOp("+", offset, index, pointer.coord)
            return c_ast.ArrayRef(base, index, pointer.coord)
        case base:
            return c_ast.ArrayRef(base, index, pointer.coord)


def _byte(scope: Scope, value: c_ast.Node, dtype: DType) -> c_ast.Node:
    """Return the value of an element all of whose bytes are `value`."""
    if dtype.bytes == 1 and dtype.is_integer:
        return cast_to(
            c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["unsigned", "char"])), value
        )
    try:
        number = affine(scope, value).number
    except FrontendError:
        number = None
    if number == 0 or (number == -1 and dtype.is_integer and dtype.is_signed):
        return value
    raise scope.error(
        value, f"memset of {c_name(dtype)} to this value; expected 0: use a loop for other values"
    )


def _count(scope: Scope, size: c_ast.Node, dtype: DType) -> c_ast.Node:
    """Return the number of elements in a number of bytes."""
    factors = _factors(size)
    for position, factor in enumerate(factors):
        if isinstance(factor, c_ast.UnaryOp) and factor.op == "sizeof":
            if _size_of(scope, factor) != dtype.bytes:
                break
            others = factors[:position] + factors[position + 1 :]
            count = others[0] if others else c_ast.Constant("int", "1", size.coord)
            for other in others[1:]:
                count = c_ast.BinaryOp("*", count, other, size.coord)
            return count
    if dtype.bytes == 1:
        return size
    raise scope.error(size, f"these bytes are no number of {c_name(dtype)}; {_EXPECTED}")


def _factors(node: c_ast.Node) -> list[c_ast.Node]:
    if isinstance(node, c_ast.BinaryOp) and node.op == "*":
        return [*_factors(node.left), *_factors(node.right)]
    return [node]


def _size_of(scope: Scope, node: c_ast.UnaryOp) -> int | None:
    """Return the bytes of ``sizeof(type)`` or ``sizeof`` of an element; None if unknown."""
    if isinstance(node.expr, c_ast.Typename):
        ctype = declared_type(node.expr.type, scope.typedefs, scope.source_map, node)
        return None if ctype.dtype is None or ctype.dims else ctype.dtype.bytes
    if is_element(node.expr) and not isinstance(node.expr, c_ast.ID):
        with scope.not_evaluated():
            binding, _ = element_of(scope, node.expr)
        return binding.dtype.bytes
    return None
