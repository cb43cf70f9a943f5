"""Resolve C lvalues such as ``A[i][j]`` and ``*p`` to array elements."""

from __future__ import annotations

from pycparser import c_ast

from polysched.errors import FrontendError, KernelError
from polysched.frontends.scop.affine.bindings import ArrayBinding
from polysched.frontends.scop.affine.expressions import affine
from polysched.frontends.scop.affine.integer_types import require_signed
from polysched.frontends.scop.affine.integers import plus
from polysched.frontends.scop.affine.linearized import NO_OFFSET, polynomial_value, split_subscript
from polysched.frontends.scop.affine.rows import RowBinding
from polysched.frontends.scop.affine.scope import Scope
from polysched.ir.core.limits import limited
from polysched.ir.expr.affine import instance_space, to_pw_aff
from polysched.ir.expr.dtypes import i64
from polysched.ir.expr.expressions import Cast, Constant, Expression


def is_element(node: c_ast.Node) -> bool:
    """Whether an expression has the form of an element: a name, a subscript or a dereference."""
    return isinstance(node, c_ast.ID | c_ast.ArrayRef) or (
        isinstance(node, c_ast.UnaryOp) and node.op == "*"
    )


def moved_pointer(scope: Scope, node: c_ast.Node, name: str) -> FrontendError:
    """Build the error for an expression that moves a pointer."""
    return scope.error(
        node,
        f"'{scope.source_map.text(node)}' moves the pointer '{name}', which must keep the value "
        f"of its declaration; write {name}[i] instead, where i is a loop variable",
    )


def element_of(scope: Scope, node: c_ast.Node) -> tuple[ArrayBinding, tuple[Expression, ...]]:
    """Resolve ``A[i][j]``, ``*p`` or ``s`` to an array and the subscripts of the element.

    The access is recorded in the scope's log.
    """
    binding, subscripts = _resolved(scope, node)
    scope.log(node, binding, subscripts)
    if binding.is_draft:  # the element is not known before the shape is
        subscripts = (Constant(0),) * len(binding.array.shape)
    return binding, subscripts


def _resolved(scope: Scope, node: c_ast.Node) -> tuple[ArrayBinding, tuple[Expression, ...]]:
    name, parts = _parts(scope, node)
    binding = scope.lookup(name)
    if not isinstance(binding, ArrayBinding):
        raise scope.error(node, f"'{name.name}' is an integer; expected an array or a pointer")
    if len(parts) != binding.rank:
        raise scope.error(node, _wrong_rank(name.name, binding.rank, len(parts)))
    offset = binding.offset if isinstance(binding, RowBinding) else NO_OFFSET
    if binding.is_draft and binding.is_flat:
        return binding, (_flat_subscript(scope, parts[0], offset),)
    if binding.is_flat and (parts[0] is not None or offset != NO_OFFSET):
        first = parts[0] or c_ast.Constant("int", "0", node.coord)
        return binding, split_subscript(scope, first, binding.array, offset)
    subscripts = tuple(_subscript(scope, part) for part in parts)
    if isinstance(binding, RowBinding):
        first, *others = subscripts
        return binding, (*binding.prefix, plus(offset, first), *others)
    return binding, subscripts + (Constant(0),) * (len(binding.array.shape) - binding.rank)


def _flat_subscript(scope: Scope, node: c_ast.Node | None, offset: Expression) -> Expression:
    """Translate a linearized subscript of an array of unknown shape to a polynomial."""
    if node is None:
        return offset
    try:
        return plus(offset, affine(scope, node).value)
    except FrontendError:
        value = data_subscript(scope, node)
        return plus(offset, polynomial_value(scope, node) if value is None else value)


def data_subscript(scope: Scope, node: c_ast.Node) -> Expression | None:
    """Translate a subscript with elements of an index array, as in ``h[image[i] + 1]``.

    Return None if the subscript has no such element, or combines it with anything but signed
    integers.
    """
    match node:
        case c_ast.ArrayRef() | c_ast.ID():
            named = scope.find(node.name) if isinstance(node, c_ast.ID) else None
            if isinstance(node, c_ast.ID) and not (
                isinstance(named, ArrayBinding) and named.array.values is not None
            ):
                return None
            binding, subscripts = element_of(scope, node)
            if binding.array.values is None:
                return None
            return Cast(binding.element(subscripts, scope.source_map.location(node)), i64)
        case c_ast.BinaryOp(op="+" | "-" as operator):
            sides = [_data_or_affine(scope, side) for side in (node.left, node.right)]
            if sides[0] is None or sides[1] is None:
                return None
            return sides[0] + sides[1] if operator == "+" else sides[0] - sides[1]
    return None


def _data_or_affine(scope: Scope, node: c_ast.Node) -> Expression | None:
    try:
        integer = affine(scope, node)
    except FrontendError:
        return data_subscript(scope, node)
    return integer.value if integer.dtype.is_signed else None


def _subscript(scope: Scope, node: c_ast.Node | None) -> Expression:
    if node is None:
        return Constant(0)
    try:
        value = require_signed(scope, node, affine(scope, node)).value
    except FrontendError:
        with_data = data_subscript(scope, node)
        if with_data is None:
            raise
        return with_data
    space = instance_space(scope.parameters, "", scope.indices)
    try:
        with limited(KernelError, "it is too intricate"):
            to_pw_aff(value, space)
    except KernelError as error:
        raise scope.error(node, str(error)) from None
    return value


def _parts(scope: Scope, node: c_ast.Node) -> tuple[c_ast.ID, list[c_ast.Node | None]]:
    """Split an element into its name and subscripts, outermost first; ``*p`` gives None for 0."""
    match node:
        case c_ast.ID():
            return node, []
        case c_ast.ArrayRef(name=inner, subscript=subscript):
            name, before = _parts(scope, inner)
            return name, [*before, subscript]
        case c_ast.UnaryOp(op="*", expr=inner) if is_element(inner):
            name, before = _parts(scope, inner)
            return name, [*before, None]
        case c_ast.UnaryOp(
            op="*",
            expr=c_ast.UnaryOp(op="p++" | "p--" | "++" | "--", expr=c_ast.ID() as pointer) as move,
        ):
            raise moved_pointer(scope, move, pointer.name)
        case c_ast.UnaryOp(op="*"):
            raise scope.error(
                node,
                f"'{scope.source_map.text(node)}' uses pointer arithmetic; expected subscripts "
                "such as p[i]",
            )
    raise _no_array(scope, node)


def _no_array(scope: Scope, node: c_ast.Node) -> FrontendError:
    shown = scope.source_map.text(node)
    if isinstance(node, c_ast.StructRef):
        return scope.error(
            node, f"'{shown}' is a member of a struct; expected an array by its name"
        )
    return scope.error(node, f"'{shown}' is not an array; expected an array by its name")


def _wrong_rank(name: str, rank: int, count: int) -> str:
    if rank == 0:
        return f"'{name}' is a number; it takes no subscripts"
    dimensions = "1 dimension" if rank == 1 else f"{rank} dimensions"
    if count < rank:
        subscripts = "1 subscript" if count == 1 else f"{count or 'no'} subscripts"
        return f"array '{name}' with {subscripts} is a pointer, not an element; it has {dimensions}"
    return f"array '{name}' has {dimensions}; it is given {count} subscripts"
