"""Write loops whose bodies repeat their statements for consecutive elements as loops over these.

::

    for (i = 0; i <= n - 4; i += 4) {        for (i = 0; i < n; i++) y[i] = f(x[i]);
        y[i + 0] = f(x[i + 0]);
        y[i + 1] = f(x[i + 1]);
        y[i + 2] = f(x[i + 2]);
        y[i + 3] = f(x[i + 3]);
    }
    for (; i < n; i++) y[i] = f(x[i]);

The statements run in the same order. The loop over the last elements must follow, and its end must
be no less than that of the first loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pycparser import c_ast

from polysched.frontends.scop.rewrites.after_loops import step_of
from polysched.frontends.scop.rewrites.size_values import c_text
from polysched.frontends.scop.rewrites.usage import changed_names
from polysched.frontends.scop.source.trees import names_in, walk

_LEAVING = c_ast.Continue | c_ast.Break | c_ast.Return | c_ast.Goto | c_ast.Label
_ONE = ""
"""The term of a sum that is a number."""


def with_rolled_loops(items: Iterable[c_ast.Node]) -> tuple[c_ast.Node, ...]:
    """Merge each loop of a block that repeats its statements with the loop after it."""
    result: list[c_ast.Node] = []
    for item in items:
        rolled = None
        if result and isinstance(result[-1], c_ast.For) and isinstance(item, c_ast.For):
            rolled = _rolled(result[-1], item)
        if rolled is None:
            result.append(item)
        else:
            result[-1] = rolled
    return tuple(result)


def _rolled(loop: c_ast.For, rest: c_ast.For) -> c_ast.For | None:
    """Return one loop for a loop that repeats its statements and the one that follows."""
    step = step_of(loop.next)
    if step is None or step[1] < 2 or rest.init is not None:
        return None
    name, times = step
    last, end = _last(loop.cond, name), _last(rest.cond, name)
    body, once = _items(loop.stmt), _items(rest.stmt)
    if (
        step_of(rest.next) != (name, 1)
        or isinstance(loop.init, c_ast.DeclList)
        or last is None
        or end is None
        or len(body) != times * len(once)
        or name in changed_names(rest.stmt)
        or any(isinstance(inner, _LEAVING) for inner in walk(loop.stmt))
    ):
        return None
    # The last iteration of the first loop ends within the second.
    difference = _plus(end, last, -1)
    fits = not {*difference} - {_ONE} and difference.get(_ONE, 0) >= times - 1
    bounds = {*last, *end} - {_ONE}
    if not fits or bounds & changed_names(rest.stmt) or not all(map(str.isidentifier, bounds)):
        return None
    for position in range(times):
        group = body[position * len(once) : (position + 1) * len(once)]
        names: dict[str, str] = {}
        if not all(
            _is_same(one, other, name, position, names)
            for one, other in zip(once, group, strict=True)
        ):
            return None
    return c_ast.For(loop.init, rest.cond, rest.next, rest.stmt, loop.coord)


def _last(cond: c_ast.Node | None, name: str) -> dict[str, int] | None:
    """Return the largest value of a variable for which ``i < e`` or ``i + 3 <= e`` holds."""
    match cond:
        case c_ast.BinaryOp(op="<" | "<=" as relation, left=left, right=right):
            sides = _sum(left, name), _sum(right, name)
            if sides[0] is None or sides[1] is None:
                return None
            own = _plus(sides[0], {name: 1}, -1)
            limit = _plus(sides[1], own, -1)
            if name in own or name in limit:
                return None
            return _plus(limit, {_ONE: 1}, -1) if relation == "<" else limit
    return None


def _is_same(one: c_ast.Node, other: c_ast.Node, name: str, by: int, names: dict[str, str]) -> bool:
    """Whether a node is another one with ``name + by`` in place of a variable.

    Args:
        names: the names in the other node of the variables that both declare; more are added.
    """
    if isinstance(one, c_ast.Decl) and isinstance(other, c_ast.Decl):
        names[one.name] = other.name
    mine, theirs = _sum(one, name), _sum(other, name)
    if mine is not None and theirs is not None and name in names_in(one):
        moved = _plus(mine, {_ONE: mine.get(name, 0) * by}, 1)
        return {names.get(term, term): number for term, number in moved.items()} == theirs
    if type(one) is not type(other):
        return False
    for attribute in one.attr_names:
        value = getattr(one, attribute)
        expected = names.get(value, value) if isinstance(value, str) else value
        if getattr(other, attribute) != expected:
            return False
    parts, others = one.children(), other.children()
    return [key for key, _ in parts] == [key for key, _ in others] and all(
        _is_same(left, right, name, by, names)
        for (_, left), (_, right) in zip(parts, others, strict=True)
    )


def _sum(node: c_ast.Node, name: str) -> dict[str, int] | None:
    """Return a sum as the factors of its terms; None if one contains the variable otherwise."""
    match node:
        case c_ast.Constant(type="int", value=text) if text.isdigit():
            return {_ONE: int(text)} if int(text) else {}
        case c_ast.ID(name=own):
            return {own: 1}
        case c_ast.BinaryOp(op="+" | "-" as operator, left=left, right=right):
            sides = _sum(left, name), _sum(right, name)
            if sides[0] is None or sides[1] is None:
                return None
            return _plus(sides[0], sides[1], 1 if operator == "+" else -1)
        case c_ast.BinaryOp(op="*", left=left, right=right):
            sides = _sum(left, name), _sum(right, name)
            for factor, value in (sides, sides[::-1]):
                if factor is not None and value is not None and not {*factor} - {_ONE}:
                    return _plus({}, value, factor.get(_ONE, 0))
    return None if name in names_in(node) else {c_text(node): 1}


def _plus(left: Mapping[str, int], right: Mapping[str, int], factor: int) -> dict[str, int]:
    terms = {term: left.get(term, 0) + factor * right.get(term, 0) for term in {*left, *right}}
    return {term: number for term, number in terms.items() if number}


def _items(node: c_ast.Node) -> Sequence[c_ast.Node]:
    """Return the statements of a body, also those of blocks that declare nothing."""
    if not isinstance(node, c_ast.Compound):
        return (node,)
    items = node.block_items or ()
    blocks = [
        _items(item)
        if not any(
            isinstance(inner, c_ast.Decl) for inner in getattr(item, "block_items", ()) or ()
        )
        else (item,)
        for item in items
    ]
    return [item for block in blocks for item in block]
