"""Translate ``memset``, ``memcpy`` and ``memmove`` of ranges of elements to loops.

::

    memset(x, 0, n * sizeof(float));      for (long k = 0; k < n; k++) x[k] = 0;
    memcpy(&x[2], y, m * sizeof *x);      for (long k = 0; k < m; k++) x[2 + k] = y[k];
    memset(A, 0, sizeof A);               a loop over each dimension of A
    memmove(x, x + 1, n);                 two loops, through a temporary array
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.bindings import ArrayBinding, IntegerBinding
from polysched.frontends.scop.affine.expressions import affine
from polysched.frontends.scop.affine.rows import RowBinding, row_of
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.affine.sizeof import bytes_of
from polysched.frontends.scop.rewrites.derived import factors_of
from polysched.frontends.scop.rewrites.usage import FILLS, pointed_name
from polysched.frontends.scop.source.quoting import counting_loop
from polysched.frontends.scop.source.trees import cast_to, names_in
from polysched.frontends.scop.types.c_types import c_name
from polysched.ir.expr.dtypes import DType, i64
from polysched.ir.expr.expressions import Constant, Expression

_EXPECTED = "expected a number of elements times their size, as in memset(x, 0, n * sizeof(float))"


def is_fill(node: c_ast.Node) -> bool:
    """Whether a statement calls memset, memcpy or memmove."""
    is_call = isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID)
    return is_call and node.name.name in FILLS


def as_loops(scope: Scope, node: c_ast.FuncCall) -> tuple[c_ast.Node, ...]:
    """Return the statements that a call stands for: loops, and a temporary array for memmove.

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
    extents = _extents(scope, size, row, target)
    indices = [c_ast.ID(_free(scope, node, f"k{number or ''}"), node.coord)
               for number in range(len(extents))]  # fmt: skip
    if name == "memset":
        stored = _byte(scope, value, row.dtype)
        return (_loops(indices, extents, _element(target, indices), stored, node),)
    source = _row(scope, value)
    if source.dtype != row.dtype or source.rank != row.rank:
        raise scope.error(
            value,
            f"this copies {c_name(source.dtype)} to {c_name(row.dtype)}; expected arrays of "
            "the same type",
        )
    own, other = _element(target, indices), _element(value, indices)
    if name == "memcpy":
        if source.array.name == row.array.name:
            raise scope.error(node, f"'{name}' of an array onto itself; expected two arrays")
        return (_loops(indices, extents, own, other, node),)
    copy = _free(scope, node, "moved")
    type_: c_ast.Node = c_ast.TypeDecl(
        copy, [], None, c_ast.IdentifierType(c_name(row.dtype).split()), node.coord
    )
    for extent in reversed(extents):
        type_ = c_ast.ArrayDecl(type_, extent, [], node.coord)
    declared = c_ast.Decl(copy, [], [], [], [], type_, None, None, node.coord)
    held = _element(c_ast.ID(copy, node.coord), indices)
    return (
        declared,
        _loops(indices, extents, held, other, node),
        _loops(indices, extents, own, held, node),
    )


def _free(scope: Scope, node: c_ast.Node, name: str) -> str:
    """Return a name that is not visible here."""
    while name in names_in(node) or scope.find(name) is not None:
        name += "_"
    return name


def _loops(
    indices: Sequence[c_ast.ID],
    extents: Sequence[c_ast.Node],
    target: c_ast.Node,
    value: c_ast.Node,
    node: c_ast.Node,
) -> c_ast.Node:
    result: c_ast.Node = c_ast.Assignment("=", target, value, node.coord)
    for index, extent in reversed(list(zip(indices, extents, strict=True))):
        result = counting_loop(index.name, extent, result, node)
    return result


def _row(scope: Scope, node: c_ast.Node) -> RowBinding:
    """Return the array that a range of elements lies in; its start may depend on data."""
    try:
        row = row_of(scope, _without_cast(node))
    except FrontendError:
        array = c_ast.ID(pointed_name(_without_cast(node)), node.coord)
        row = row_of(scope, array) if array.name else None
        if row is None or row.rank != 1:
            raise
    if row is None or not row.rank:
        raise scope.error(node, "this is not an array; expected an array, or a row of one")
    return row


def _without_cast(node: c_ast.Node) -> c_ast.Node:
    return node.expr if isinstance(node, c_ast.Cast) else node


def _element(pointer: c_ast.Node, indices: Sequence[c_ast.Node]) -> c_ast.Node:
    """Return ``pointer[k][k1]...``."""
    first, *others = indices
    match _without_cast(pointer):
        case c_ast.BinaryOp(op="+", left=base, right=offset):
            first = c_ast.BinaryOp("+", offset, first, pointer.coord)
        case c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef(name=base, subscript=offset)):
            first = c_ast.BinaryOp("+", offset, first, pointer.coord)
        case base:
            pass
    for index in (first, *others):
        base = c_ast.ArrayRef(base, index, pointer.coord)
    return base


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


def _extents(
    scope: Scope, size: c_ast.Node, row: RowBinding, target: c_ast.Node
) -> list[c_ast.Node]:
    """Return the extents of the range of elements that a number of bytes covers."""
    own = row.array.shape[len(row.array.shape) - row.rank :]
    match size:
        case c_ast.UnaryOp(op="sizeof", expr=c_ast.ID(name=name)):
            whole = scope.find(name)
            if (
                isinstance(whole, ArrayBinding)
                and whole.is_object
                and (whole.array.shape, whole.dtype) == (own, row.dtype)
            ):
                return [_as_node(scope, extent, target) for extent in own]
    inner = own[1:]
    number, factors = _count(scope, size, row.dtype)
    for extent in inner:
        taken = next((factor for factor in factors if _is_equal(scope, factor, extent)), None)
        if taken is not None:
            factors.remove(taken)
        elif isinstance(extent, Constant) and number % int(extent.value) == 0:
            number //= int(extent.value)
        else:
            raise scope.error(
                size, f"these bytes are no number of rows of {extent} elements; {_EXPECTED}"
            )
    outer: c_ast.Node | None = None
    if number != 1 or not factors:
        outer = c_ast.Constant("int", str(number), size.coord)
    for factor in factors:
        outer = factor if outer is None else c_ast.BinaryOp("*", outer, factor, size.coord)
    assert outer is not None
    return [outer, *(_as_node(scope, extent, target) for extent in inner)]


def _is_equal(scope: Scope, node: c_ast.Node, extent: Expression) -> bool:
    try:
        return bool(affine(scope, node).value == extent)
    except FrontendError:
        return False


def _as_node(scope: Scope, extent: Expression, at: c_ast.Node) -> c_ast.Node:
    """Return a function of the sizes as a node; other than a literal, as a new constant."""
    if isinstance(extent, Constant):
        return c_ast.Constant("int", str(int(extent.value)), at.coord)
    name = _free(scope, at, "extent")
    scope.bind(name, IntegerBinding(extent, i64))
    return c_ast.ID(name, at.coord)


def _count(scope: Scope, size: c_ast.Node, dtype: DType) -> tuple[int, list[c_ast.Node]]:
    """Return a number of elements as an integer and other factors, given their bytes."""
    factors = factors_of(size)
    known: list[int] = []
    others: list[c_ast.Node] = []
    for factor in factors:
        is_sizeof = isinstance(factor, c_ast.UnaryOp) and factor.op == "sizeof"
        number = bytes_of(scope, factor) if is_sizeof else _literal(factor)
        if number is None:
            others.append(factor)
        else:
            known.append(number)
    if prod(known) % dtype.bytes == 0:
        return prod(known) // dtype.bytes, others
    raise scope.error(size, f"these bytes are no number of {c_name(dtype)}; {_EXPECTED}")


def _literal(node: c_ast.Node) -> int | None:
    is_number = isinstance(node, c_ast.Constant) and node.value.isdigit()
    return int(node.value) if is_number else None
