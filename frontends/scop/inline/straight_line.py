"""Evaluate the body of a function of numbers symbolically, to one returned expression.

::

    static float clamp(float v, float lo, float hi)
    {
        if (v < lo) return lo;              v < lo ? lo : (v > hi ? hi : v)
        if (v > hi) return hi;
        return v;
    }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from pycparser import c_ast

from polysched.frontends.scop.source.trees import cast_to, substituted, walk

_CHANGES = {"p++": "+", "++": "+", "p--": "-", "--": "-"}


@dataclass(frozen=True)
class _State:
    """Types and values of the variables; a value is None before the first assignment."""

    types: Mapping[str, c_ast.Node]
    values: Mapping[str, c_ast.Node | None]


class _NotSupportedError(Exception):
    """The body has a statement without a symbolic value."""


def returned_value(
    items: Sequence[c_ast.Node],
    parameters: Mapping[str, c_ast.Node],
    result: c_ast.Node,
    most_nodes: int,
) -> c_ast.Node | None:
    """Return the value of a function in terms of its parameters; None if it has none.

    Args:
        items: the statements of the body: declarations, assignments to local variables and
            parameters, ``if`` and ``return``.
        parameters: the parameter types, by name.
        most_nodes: the largest number of nodes of the expression.
    """
    values = {name: c_ast.ID(name) for name in parameters}
    try:
        value = _value(list(items), _State(parameters, values), result)
    except _NotSupportedError:
        return None
    is_small = len(list(islice(walk(value), most_nodes + 1))) <= most_nodes
    return value if is_small else None


def _value(items: list[c_ast.Node], state: _State, result: c_ast.Node) -> c_ast.Node:
    """Return the value that a list of statements returns."""
    for position, item in enumerate(items):
        rest = items[position + 1 :]
        match item:
            case c_ast.Return(expr=c_ast.Node() as value):
                return cast_to(result, _evaluated(value, state))
            case c_ast.Compound(block_items=inner):
                if any(isinstance(node, c_ast.Decl) for node in inner or ()):
                    raise _NotSupportedError  # its variables would be visible after it
                return _value([*(inner or ()), *rest], state, result)
            case c_ast.If(iftrue=first, iffalse=second) if _returns(first) or _returns(second):
                holds = _evaluated(item.cond, state)
                sides = ([first], [] if second is None else [second])
                values = [_value([*side, *rest], state, result) for side in sides]
                return c_ast.TernaryOp(holds, *values, item.coord)
        state = _after(item, state)
    raise _NotSupportedError  # it ends without a value


def _returns(node: c_ast.Node | None) -> bool:
    return node is not None and any(isinstance(inner, c_ast.Return) for inner in walk(node))


def _after(item: c_ast.Node, state: _State) -> _State:
    """Return the variables after a statement that does not return."""
    match item:
        case c_ast.Decl(name=str(name), type=c_ast.TypeDecl() as type_, init=init):
            if name in state.types or item.storage:
                raise _NotSupportedError  # it hides another variable, or keeps its value
            state = replace(state, types={**state.types, name: type_})
            return _assigned(name, init, state) if init is not None else _with(state, name, None)
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=value):
            return _assigned(name, value, state)
        case c_ast.Assignment(op=operator, lvalue=c_ast.ID(name=name) as own, rvalue=value):
            changed = c_ast.BinaryOp(operator.removesuffix("="), own, value, item.coord)
            return _assigned(name, changed, state)
        case c_ast.UnaryOp(op=operator, expr=c_ast.ID(name=name) as own) if operator in _CHANGES:
            one = c_ast.Constant("int", "1", item.coord)
            changed = c_ast.BinaryOp(_CHANGES[operator], own, one, item.coord)
            return _assigned(name, changed, state)
        case c_ast.Compound(block_items=inner):
            after = state
            for node in inner or ():
                after = _after(node, after)
            return replace(state, values={name: after.values[name] for name in state.values})
        case c_ast.If(cond=cond, iftrue=first, iffalse=second):
            holds = _evaluated(cond, state)
            branches = [state if side is None else _after(side, state) for side in (first, second)]
            return _merged(holds, state, *branches)
        case c_ast.EmptyStatement():
            return state
    raise _NotSupportedError


def _assigned(name: str, value: c_ast.Node, state: _State) -> _State:
    if name not in state.types:
        raise _NotSupportedError  # a variable of the file
    return _with(state, name, cast_to(state.types[name], _evaluated(value, state)))


def _with(state: _State, name: str, value: c_ast.Node | None) -> _State:
    return replace(state, values={**state.values, name: value})


def _evaluated(node: c_ast.Node, state: _State) -> c_ast.Node:
    known = {name: value for name, value in state.values.items() if value is not None}
    unset = state.values.keys() - known.keys()
    if any(isinstance(inner, c_ast.ID) and inner.name in unset for inner in walk(node)):
        raise _NotSupportedError
    return substituted(node, known)


def _merged(holds: c_ast.Node, before: _State, first: _State, second: _State) -> _State:
    """Join the branches of an ``if``; a variable that one of them leaves unset is unset."""
    values: dict[str, c_ast.Node | None] = {}
    for name in before.values:
        left, right = first.values[name], second.values[name]
        if left is right:
            values[name] = left
        elif left is None or right is None:
            values[name] = None
        else:
            choice = c_ast.TernaryOp(holds, left, right, holds.coord)
            values[name] = cast_to(before.types[name], choice)
    return replace(before, values=values)
