"""Inline calls of functions that compute a number from numbers.

::

    static float square(float x) { return x * x; }     square(e) -> (float)((float)e * (float)e)

The body may declare and assign local variables and choose by ``if``; see
:mod:`polysched.frontends.scop.inline.straight_line`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.inline.definitions import summaries_of
from polysched.frontends.scop.inline.straight_line import returned_value
from polysched.frontends.scop.source.source_map import SourceMap
from polysched.frontends.scop.source.trees import cast_to, mapped
from polysched.frontends.scop.types.c_types import Typedefs, declared_type

MOST_NODES = 5_000
"""Largest number of syntax tree nodes that inlining may add to a region."""
_PURE = (
    c_ast.Constant
    | c_ast.ID
    | c_ast.BinaryOp
    | c_ast.TernaryOp
    | c_ast.Cast
    | c_ast.UnaryOp
    | c_ast.FuncCall
    | c_ast.ExprList
)
_NOT_INLINED = frozenset({"++", "--", "p++", "p--", "&", "*", "sizeof"})
"""Unary operators with side effects, on addresses, or on types."""


@dataclass(frozen=True)
class Formula:
    """Inlinable function: parameter types by name, result type, returned expression."""

    parameters: Mapping[str, c_ast.Node]
    result: c_ast.Node
    value: c_ast.Node


def formulas_of(
    tree: c_ast.FileAST, typedefs: Typedefs, source_map: SourceMap
) -> Mapping[str, Formula]:
    """Find the inlinable functions that a file defines, by name."""
    return summaries_of(tree, lambda node: _formula(node, typedefs, source_map))


def _formula(node: c_ast.FuncDef, typedefs: Typedefs, source_map: SourceMap) -> Formula | None:
    parameters = [] if node.decl.type.args is None else node.decl.type.args.params
    if not parameters or not all(isinstance(node, c_ast.Decl) for node in parameters):
        return None
    try:
        types = [declared_type(node.type, typedefs, source_map, node) for node in parameters]
        types.append(declared_type(node.decl.type.type, typedefs, source_map, node.decl))
    except FrontendError:
        return None
    if any(ctype.dims or ctype.dtype is None for ctype in types):
        return None
    named = {parameter.name: parameter.type for parameter in parameters}
    result = node.decl.type.type
    value = returned_value(node.body.block_items or (), named, result, MOST_NODES)
    return None if value is None or not _is_pure(value, named) else Formula(named, result, value)


def _is_pure(node: c_ast.Node, names: Mapping[str, c_ast.Node]) -> bool:
    """Whether an expression has no side effects and uses no variables other than `names`."""
    match node:
        case c_ast.ID(name=name):
            return name in names
        case c_ast.Cast(expr=inner):
            return _is_pure(inner, names)
        case c_ast.FuncCall(name=c_ast.ID(), args=c_ast.ExprList(exprs=arguments)):
            return all(_is_pure(argument, names) for argument in arguments)
        case c_ast.FuncCall() | c_ast.ExprList():
            return False
        case c_ast.UnaryOp(op=operator) if operator in _NOT_INLINED:
            return False
    return isinstance(node, _PURE) and all(_is_pure(child, names) for _, child in node.children())


class Inliner:
    """Inlines calls.

    Args:
        formulas: the functions to inline, by name.
    """

    def __init__(self, formulas: Mapping[str, Formula], source_map: SourceMap) -> None:
        self._formulas = formulas
        self._source_map = source_map
        self._written = 0

    def __call__(self, node: c_ast.Node, inside: tuple[str, ...] = ()) -> c_ast.Node:
        """Inline the calls in a node; a node without calls is returned itself.

        Args:
            inside: the functions that are being inlined.

        Raises:
            FrontendError: a function calls itself, or the inlined code is too large.
        """
        result = mapped(node, lambda child: self(child, inside))
        if not isinstance(result, c_ast.FuncCall) or not isinstance(result.name, c_ast.ID):
            return result
        name = result.name.name
        formula = self._formulas.get(name)
        arguments = [] if result.args is None else result.args.exprs
        if formula is None or len(arguments) != len(formula.parameters):
            return result
        if name in inside:
            raise self._source_map.error(node, f"'{name}' calls itself; expected a loop")
        casts = {
            parameter: cast_to(type_, argument)
            for (parameter, type_), argument in zip(
                formula.parameters.items(), arguments, strict=True
            )
        }
        value = self._replaced(self(formula.value, (*inside, name)), casts, node)
        return cast_to(formula.result, value)

    def _replaced(
        self, value: c_ast.Node, casts: Mapping[str, c_ast.Node], call: c_ast.Node
    ) -> c_ast.Node:
        self._written += 1
        if self._written > MOST_NODES:
            raise self._source_map.error(
                call,
                f"inlining the calls of the file's functions makes more than {MOST_NODES:,} "
                "operations; expected fewer or smaller calls",
            )
        if isinstance(value, c_ast.ID) and value.name in casts:
            return casts[value.name]
        if isinstance(value, c_ast.FuncCall):
            arguments = self._replaced(value.args, casts, call)
            return c_ast.FuncCall(value.name, arguments, value.coord)
        return mapped(value, lambda child: self._replaced(child, casts, call))
