"""Turn integers that a function sets in front of its loops into constants.

::

    if (n > 64) n = 64;                      const int n_2 = n > 64 ? 64 : n;
    for (i = 0; i < n; i++) f(i);            for (i = 0; i < n_2; i++) f(i);

Only variables that no loop changes, and that are set to functions of the parameters, so that they
may stand in bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pycparser import c_ast

from polysched.frontends.scop.rewrites.usage import base_name, changed_by
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.quoting import c_expression, variable
from polysched.frontends.scop.source.trees import names_in, walk, with_stand_ins

_PURE = (
    c_ast.ID | c_ast.Constant | c_ast.BinaryOp | c_ast.TernaryOp | c_ast.Cast | c_ast.UnaryOp
    | c_ast.Typename | c_ast.TypeDecl | c_ast.IdentifierType
)  # fmt: skip
_Effects = dict[str, c_ast.Node]


def with_settled_integers(
    items: Sequence[c_ast.Node], integers: Mapping[str, c_ast.Node], names: Names
) -> tuple[c_ast.Node, ...]:
    """Replace the assignments to integers between the loops of a function by constants.

    Args:
        integers: the types of the integers among the parameters and the variables of the outermost
            block, by name.
    """
    effects = [_effects(item) for item in items]
    settled = _settled(items, effects, integers)
    current: dict[str, str] = {}
    result: list[c_ast.Node] = []
    for item, own in zip(items, effects, strict=True):
        if not own or not own.keys() <= settled:
            result.append(with_stand_ins(item, current))
            continue
        values = {name: with_stand_ins(value, current) for name, value in own.items()}
        for name, value in values.items():
            current[name] = names.fresh(name)
            result.append(variable(current[name], integers[name], value, item, "const"))
    return tuple(result)


def _settled(
    items: Sequence[c_ast.Node],
    effects: Sequence[_Effects | None],
    integers: Mapping[str, c_ast.Node],
) -> set[str]:
    """Find the integers that only statements of the outermost block change, to pure values."""
    declared = [node.name for item in items for node in walk(item) if isinstance(node, c_ast.Decl)]
    outermost = {item.name: item for item in items if isinstance(item, c_ast.Decl)}
    elsewhere: set[str] = set()
    for item, own in zip(items, effects, strict=True):
        for node in walk(item):
            address = isinstance(node, c_ast.UnaryOp) and node.op == "&"
            target = node.expr if address else changed_by(node)
            if target is not None and (own is None or address):
                elsewhere.add(base_name(target))
    found = {
        name
        for name in integers
        if name not in elsewhere and declared.count(name) == (1 if name in outermost else 0)
    }
    while True:
        impure = {
            name
            for own in (*effects, *({name: loop.init} for name, loop in outermost.items()))
            for name, value in (own or {}).items()
            if name in found and value is not None and not _is_pure(value, found)
        }
        if not impure:
            return found
        found -= impure


def _is_pure(node: c_ast.Node, settled: set[str]) -> bool:
    """Whether a value is computed from settled integers alone."""
    inside = all(isinstance(inner, _PURE) and changed_by(inner) is None for inner in walk(node))
    is_read = any(isinstance(part, c_ast.UnaryOp) and part.op in "*&" for part in walk(node))
    return inside and not is_read and set(names_in(node)) <= settled


def _effects(node: c_ast.Node) -> _Effects | None:
    """Return the values that a statement gives to variables; None for a statement of another kind.

    The values refer to variables by their values before the statement.
    """
    match node:
        case c_ast.EmptyStatement():
            return {}
        case c_ast.Assignment(op=operator, lvalue=c_ast.ID(name=str(name)) as own, rvalue=value):
            changed = value
            if operator != "=":
                changed = c_ast.BinaryOp(operator[:-1], own, value, node.coord)
            return {name: changed}
        case c_ast.UnaryOp(
            op="++" | "p++" | "--" | "p--" as operator, expr=c_ast.ID(name=str(name)) as own
        ):
            return {name: c_expression(f"own {operator[-1]} 1", node, own=own)}
        case c_ast.Compound(block_items=items):
            return _in_order(items or [])
        case c_ast.If(cond=cond, iftrue=first, iffalse=second):
            one, other = _effects(first), {} if second is None else _effects(second)
            if one is None or other is None:
                return None
            return {
                name: c_expression(
                    "cond ? first : second",
                    node,
                    cond=cond,
                    first=one.get(name, name),
                    second=other.get(name, name),
                )
                for name in one | other
            }
    return None


def _in_order(items: Sequence[c_ast.Node]) -> _Effects | None:
    """Return the values of independent statements: none reads what another one assigns."""
    found: _Effects = {}
    for item in items:
        own = _effects(item)
        if own is None or any(found.keys() & {name, *names_in(own[name])} for name in own):
            return None
        found |= own
    return found
