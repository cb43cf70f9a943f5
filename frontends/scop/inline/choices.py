"""Recognize the min and max functions that a C file defines; kernels may call them.

::

    static int max(int a, int b) { return a > b ? a : b; }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.inline.definitions import summaries_of
from polysched.frontends.scop.source.source_map import SourceMap
from polysched.frontends.scop.types.c_types import Typedefs, declared_type
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.operators import Operator


@dataclass(frozen=True)
class Choice:
    """Min or max function: it compares two numbers of one type and returns one of them.

    Attributes:
        dtype: the type of both parameters and of the result.
        symbol: the comparison operator.
        compared: positions of the left and right operand of the comparison: ``(0, 1)`` or
            ``(1, 0)``.
        chosen: position of the argument that is returned if the comparison holds.
    """

    dtype: DType
    symbol: str
    compared: tuple[int, int]
    chosen: int

    @property
    def operator(self) -> Operator:
        """MINIMUM or MAXIMUM; exact for integers only, because of NaN and signed zeros."""
        takes_left = self.compared[0] == self.chosen
        is_minimum = takes_left == (self.symbol in ("<", "<="))
        return Operator.MINIMUM if is_minimum else Operator.MAXIMUM


def choices_of(
    tree: c_ast.FileAST, typedefs: Typedefs, source_map: SourceMap
) -> Mapping[str, Choice]:
    """Find the min and max functions that a file defines, by name."""
    return summaries_of(tree, lambda node: _choice(node, typedefs, source_map))


def _choice(node: c_ast.FuncDef, typedefs: Typedefs, source_map: SourceMap) -> Choice | None:
    parameters = [] if node.decl.type.args is None else node.decl.type.args.params
    if len(parameters) != 2 or not all(isinstance(node, c_ast.Decl) for node in parameters):
        return None
    dtype = _common_type([node.decl.type, *parameters], typedefs, source_map)
    parts = _parts(tuple(node.body.block_items or ()))
    if dtype is None or parts is None:
        return None
    holds, if_true, if_false = parts
    if not isinstance(holds, c_ast.BinaryOp) or holds.op not in ("<", "<=", ">", ">="):
        return None
    names = [parameter.name for parameter in parameters]
    at = [_position(operand, names) for operand in (holds.left, holds.right, if_true, if_false)]
    if sorted(at[:2]) != [0, 1] or sorted(at[2:]) != [0, 1]:
        return None
    return Choice(dtype, holds.op, (at[0], at[1]), at[2])


def _common_type(
    nodes: list[c_ast.Node], typedefs: Typedefs, source_map: SourceMap
) -> DType | None:
    """Return the number type that all declarations have; None if they differ."""
    try:
        types = [declared_type(node.type, typedefs, source_map, node) for node in nodes]
    except FrontendError:
        return None
    dtype = types[0].dtype
    is_number = dtype is not None and (dtype.is_integer or dtype.is_float)
    is_common = all(ctype.dtype == dtype and not ctype.dims for ctype in types)
    return dtype if is_number and is_common else None


def _parts(items: tuple[c_ast.Node, ...]) -> tuple[c_ast.Node, c_ast.Node, c_ast.Node] | None:
    """Split a function body into the condition and the two returned expressions."""
    match items:
        case (c_ast.Return(expr=c_ast.TernaryOp() as choice),):
            return choice.cond, choice.iftrue, choice.iffalse
        case (c_ast.If(cond=holds, iftrue=first, iffalse=None), other):
            pass
        case (c_ast.If(cond=holds, iftrue=first, iffalse=c_ast.Node() as other),):
            pass
        case _:
            return None
    return holds, _returned(first), _returned(other)


def _returned(node: c_ast.Node) -> c_ast.Node:
    """Return the operand of a return statement; any other statement itself."""
    match node:
        case c_ast.Compound(block_items=[only]):
            return _returned(only)
        case c_ast.Return(expr=c_ast.Node() as value):
            return value
    return node


def _position(node: c_ast.Node, names: list[str]) -> int:
    is_parameter = isinstance(node, c_ast.ID) and node.name in names
    return names.index(node.name) if is_parameter else -1
