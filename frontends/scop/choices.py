"""The functions of a file that kernels may call: those that give the larger or smaller argument.

::

    static int max(int a, int b) { return a > b ? a : b; }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.definitions import meanings_of
from polysched.frontends.scop.places import Places
from polysched.frontends.scop.types import Typedefs, declared_type
from polysched.ir.dtypes import DType
from polysched.ir.operators import Operator


@dataclass(frozen=True)
class Choice:
    """A function of two numbers of one type that compares them and gives one of them.

    Attributes:
        dtype: of both parameters and of the result.
        symbol: the comparison, of the arguments in the order of ``compared``.
        compared: ``(0, 1)`` or ``(1, 0)``.
        chosen: the argument that is given where the comparison holds.
    """

    dtype: DType
    symbol: str
    compared: tuple[int, int]
    chosen: int

    @property
    def operator(self) -> Operator:
        """What it is of integers."""
        takes_left = self.compared[0] == self.chosen
        is_minimum = takes_left == (self.symbol in ("<", "<="))
        return Operator.MINIMUM if is_minimum else Operator.MAXIMUM


def choices_of(tree: c_ast.FileAST, typedefs: Typedefs, places: Places) -> Mapping[str, Choice]:
    """The functions of that kind that a file defines, by name."""
    return meanings_of(tree, lambda node: _choice(node, typedefs, places))


def _choice(node: c_ast.FuncDef, typedefs: Typedefs, places: Places) -> Choice | None:
    parameters = [] if node.decl.type.args is None else node.decl.type.args.params
    if len(parameters) != 2 or not all(isinstance(one, c_ast.Decl) for one in parameters):
        return None
    dtype = _common_type([node.decl.type, *parameters], typedefs, places)
    parts = _parts(tuple(node.body.block_items or ()))
    if dtype is None or parts is None:
        return None
    holds, if_true, if_false = parts
    if not isinstance(holds, c_ast.BinaryOp) or holds.op not in ("<", "<=", ">", ">="):
        return None
    names = [one.name for one in parameters]
    at = [_position(one, names) for one in (holds.left, holds.right, if_true, if_false)]
    if sorted(at[:2]) != [0, 1] or sorted(at[2:]) != [0, 1]:
        return None
    return Choice(dtype, holds.op, (at[0], at[1]), at[2])


def _common_type(nodes: list[c_ast.Node], typedefs: Typedefs, places: Places) -> DType | None:
    """The one type of numbers that is declared, None if there are several."""
    try:
        types = [declared_type(node.type, typedefs, places, node) for node in nodes]
    except FrontendError:
        return None
    dtype = types[0].dtype
    is_number = dtype is not None and (dtype.is_integer or dtype.is_float)
    is_one = all(one.dtype == dtype and not one.dims for one in types)
    return dtype if is_number and is_one else None


def _parts(items: tuple[c_ast.Node, ...]) -> tuple[c_ast.Node, c_ast.Node, c_ast.Node] | None:
    """The condition, and what is given if it holds and if not."""
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
    """What a statement returns; the statement itself if it does something else."""
    match node:
        case c_ast.Compound(block_items=[only]):
            return _returned(only)
        case c_ast.Return(expr=c_ast.Node() as value):
            return value
    return node


def _position(node: c_ast.Node, names: list[str]) -> int:
    is_parameter = isinstance(node, c_ast.ID) and node.name in names
    return names.index(node.name) if is_parameter else -1
