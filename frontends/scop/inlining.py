"""Calls of the file's own functions that only return an expression of their numbers.

::

    static float square(float x) { return x * x; }     square(e) is (float)((float)e * (float)e)
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.definitions import meanings_of
from polysched.frontends.scop.places import Places
from polysched.frontends.scop.types import Typedefs, declared_type

MOST_NODES = 5_000
"""Of a region's calls, written out."""
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
_CHANGING = frozenset({"++", "--", "p++", "p--", "&", "*", "sizeof"})


@dataclass(frozen=True)
class Formula:
    """A function: its parameters with their types, the type of its value, and that value."""

    parameters: Mapping[str, c_ast.Node]
    result: c_ast.Node
    value: c_ast.Node


def formulas_of(tree: c_ast.FileAST, typedefs: Typedefs, places: Places) -> Mapping[str, Formula]:
    """The functions of that kind that a file defines, by name."""
    return meanings_of(tree, lambda node: _formula(node, typedefs, places))


def _formula(node: c_ast.FuncDef, typedefs: Typedefs, places: Places) -> Formula | None:
    parameters = [] if node.decl.type.args is None else node.decl.type.args.params
    match node.body.block_items:
        case [c_ast.Return(expr=c_ast.Node() as value)]:
            pass
        case _:
            return None
    if not parameters or not all(isinstance(one, c_ast.Decl) for one in parameters):
        return None
    try:
        types = [declared_type(one.type, typedefs, places, one) for one in parameters]
        types.append(declared_type(node.decl.type.type, typedefs, places, node.decl))
    except FrontendError:
        return None
    if any(one.dims or one.dtype is None for one in types):
        return None
    named = {one.name: one.type for one in parameters}
    return Formula(named, node.decl.type.type, value) if _is_of(value, named) else None


def _is_of(node: c_ast.Node, names: Mapping[str, c_ast.Node]) -> bool:
    """Whether an expression computes with the given names only, and changes nothing."""
    match node:
        case c_ast.ID(name=name):
            return name in names
        case c_ast.Cast(expr=inner):
            return _is_of(inner, names)
        case c_ast.FuncCall(name=c_ast.ID(), args=c_ast.ExprList(exprs=arguments)):
            return all(_is_of(one, names) for one in arguments)
        case c_ast.FuncCall() | c_ast.ExprList():
            return False
        case c_ast.UnaryOp(op=operator) if operator in _CHANGING:
            return False
    return isinstance(node, _PURE) and all(_is_of(one, names) for _, one in node.children())


class Inliner:
    """Writes calls out.

    Args:
        formulas: the functions whose calls it writes out.
    """

    def __init__(self, formulas: Mapping[str, Formula], places: Places) -> None:
        self._formulas = formulas
        self._places = places
        self._written = 0

    def __call__(self, node: c_ast.Node, inside: tuple[str, ...] = ()) -> c_ast.Node:
        """A node with the calls in it written out; itself if there are none.

        Raises:
            FrontendError: a function calls itself, or too much is written out.
        """
        result = _mapped(node, lambda child: self(child, inside))
        if not isinstance(result, c_ast.FuncCall) or not isinstance(result.name, c_ast.ID):
            return result
        name = result.name.name
        formula = self._formulas.get(name)
        given = [] if result.args is None else result.args.exprs
        if formula is None or len(given) != len(formula.parameters):
            return result
        if name in inside:
            raise self._places.error(node, f"'{name}' calls itself; expected a loop")
        casts = {
            parameter: _cast(type_, argument)
            for (parameter, type_), argument in zip(formula.parameters.items(), given, strict=True)
        }
        value = self._replaced(self(formula.value, (*inside, name)), casts, node)
        return _cast(formula.result, value)

    def _replaced(
        self, value: c_ast.Node, casts: Mapping[str, c_ast.Node], call: c_ast.Node
    ) -> c_ast.Node:
        self._written += 1
        if self._written > MOST_NODES:
            raise self._places.error(
                call, "calls of the file's functions are too long, written out"
            )
        if isinstance(value, c_ast.ID) and value.name in casts:
            return casts[value.name]
        if isinstance(value, c_ast.FuncCall):
            arguments = self._replaced(value.args, casts, call)
            return c_ast.FuncCall(value.name, arguments, value.coord)
        return _mapped(value, lambda child: self._replaced(child, casts, call))


def _cast(type_: c_ast.Node, node: c_ast.Node) -> c_ast.Cast:
    return c_ast.Cast(c_ast.Typename(None, [], None, type_), node, node.coord)


def _mapped(node: c_ast.Node, function: Callable[[c_ast.Node], c_ast.Node]) -> c_ast.Node:
    """A copy of a node with other children; itself if they are the same."""
    changed = {}
    for slot in node.__slots__:
        value = None if slot in ("coord", "__weakref__") else getattr(node, slot)
        if isinstance(value, c_ast.Node):
            other: object = function(value)
            if other is not value:
                changed[slot] = other
        elif isinstance(value, list):
            others = [function(one) if isinstance(one, c_ast.Node) else one for one in value]
            if any(one is not other for one, other in zip(value, others, strict=True)):
                changed[slot] = others
    if not changed:
        return node
    result = copy.copy(node)
    for slot, value in changed.items():
        setattr(result, slot, value)
    return result
