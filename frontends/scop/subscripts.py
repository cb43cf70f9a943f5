"""Which element of an array an expression names."""

from __future__ import annotations

from pycparser import c_ast

from polysched.errors import FrontendError, KernelError
from polysched.frontends.scop.affine import affine, require_signed
from polysched.frontends.scop.integers import plus
from polysched.frontends.scop.linearized import NOTHING, split_subscript
from polysched.frontends.scop.rows import RowBinding
from polysched.frontends.scop.scope import ArrayBinding, Scope
from polysched.ir.affine import instance_space, to_pw_aff
from polysched.ir.expressions import Constant, Expression
from polysched.ir.limits import limited


def is_element(node: c_ast.Node) -> bool:
    """Whether an expression can be an element: a name, subscripted or dereferenced."""
    return isinstance(node, c_ast.ID | c_ast.ArrayRef) or (
        isinstance(node, c_ast.UnaryOp) and node.op == "*"
    )


def moved_pointer(scope: Scope, node: c_ast.Node, name: str) -> FrontendError:
    """The error about an expression that moves a pointer."""
    return scope.error(
        node,
        f"'{scope.places.source_of(node)}' moves the pointer '{name}', which has to stay where its "
        f"declaration puts it; write {name}[i] instead, where i is the variable of a loop",
    )


def element_of(scope: Scope, node: c_ast.Node) -> tuple[ArrayBinding, tuple[Expression, ...]]:
    """The array, and the subscripts of the element, that ``A[i][j]``, ``*p`` or ``s`` names.

    Raises:
        FrontendError: not one subscript for each dimension, or one that is not affine.
    """
    name, given = _parts(scope, node)
    binding = scope.lookup(name)
    if not isinstance(binding, ArrayBinding):
        raise scope.error(node, f"'{name.name}' is an integer; expected an array or a pointer")
    if len(given) != binding.rank:
        raise scope.error(node, _wrong_rank(name.name, binding.rank, len(given)))
    offset = binding.offset if isinstance(binding, RowBinding) else NOTHING
    if binding.is_flat and (given[0] is not None or offset != NOTHING):
        first = given[0] or c_ast.Constant("int", "0", node.coord)
        return binding, split_subscript(scope, first, binding.array, offset)
    subscripts = tuple(_subscript(scope, one) for one in given)
    if isinstance(binding, RowBinding):
        first, *others = subscripts
        return binding, (*binding.prefix, plus(offset, first), *others)
    return binding, subscripts + (Constant(0),) * (len(binding.array.shape) - binding.rank)


def _subscript(scope: Scope, node: c_ast.Node | None) -> Expression:
    if node is None:
        return Constant(0)
    value = require_signed(scope, node, affine(scope, node)).value
    space = instance_space(scope.parameters, "", scope.indices)
    try:
        with limited(KernelError, "it is too intricate"):
            to_pw_aff(value, space)
    except KernelError as error:
        raise scope.error(node, str(error)) from None
    return value


def _parts(scope: Scope, node: c_ast.Node) -> tuple[c_ast.ID, list[c_ast.Node | None]]:
    """The name, and the subscripts from the outermost; None: the one of ``*p``, which is 0."""
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
            expr=c_ast.UnaryOp(op="p++" | "p--" | "++" | "--", expr=c_ast.ID() as moved) as move,
        ):
            raise moved_pointer(scope, move, moved.name)
        case c_ast.UnaryOp(op="*"):
            raise scope.error(
                node,
                f"'{scope.places.source_of(node)}' computes with pointers; expected subscripts "
                "such as p[i]",
            )
    raise _no_array(scope, node)


def _no_array(scope: Scope, node: c_ast.Node) -> FrontendError:
    shown = scope.places.source_of(node)
    if isinstance(node, c_ast.StructRef):
        return scope.error(
            node, f"'{shown}' is a member of a struct; expected an array by its name"
        )
    return scope.error(node, f"'{shown}' is no array; expected an array by its name")


def _wrong_rank(name: str, rank: int, given: int) -> str:
    if rank == 0:
        return f"'{name}' is a number; it takes no subscripts"
    dimensions = "1 dimension" if rank == 1 else f"{rank} dimensions"
    if given < rank:
        subscripts = "1 subscript" if given == 1 else f"{given or 'no'} subscripts"
        return f"array '{name}' with {subscripts} is a pointer, not an element; it has {dimensions}"
    return f"array '{name}' has {dimensions}; it is subscripted with {given}"
