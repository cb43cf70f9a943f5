"""Rewrite statements that leave a loop or a function early to conditions.

::

    if (n < 1) return -1;               if (n < 1) r = -1; else { ...; r = best; }
    ...; return best;                   return r;

    for (i = 0; i < n; i++) {           int stopped = 0;
        s += x[i];                      for (i = 0; i < n; i++)
        if (s > limit) break;               if (!stopped) { s += x[i]; if (s > limit) stopped = 1; }
    }

A loop that is left early then counts to its end and does nothing in the other iterations. In these
it may read no element of an array that it has not reached, unless the extent of the array is known.
Otherwise it reads the element of the first iteration again: ``x[stopped ? 0 : i]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pycparser import c_ast

from polysched.frontends.scop.rewrites.after_loops import step_of, value_at_end
from polysched.frontends.scop.rewrites.usage import changed_by
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import loop_start, names_in, substituted, walk

_LOOPS = c_ast.For | c_ast.While | c_ast.DoWhile
_EXITS = (c_ast.Return, c_ast.Break, c_ast.Continue)


def without_exits(
    items: Sequence[c_ast.Node],
    result: c_ast.Node | None,
    names: Names,
) -> tuple[tuple[c_ast.Node, ...], str | None]:
    """Rewrite the early exits of a function body.

    Args:
        items: the statements; a final ``return`` is no early exit.
        result: the type of the returned value; None for a void function.

    Returns:
        The statements, and the variable that holds the returned value at their end; None if there
        is no early ``return`` of a value. Statements that cannot be rewritten stay.
    """
    *before, last = items or (None,)
    body = before if isinstance(last, c_ast.Return) else items
    if not any(isinstance(n, c_ast.Return) or _is_left(n) for item in body for n in walk(item)):
        return tuple(items), None
    if result is not None and not _always_exits(last):
        return tuple(items), None  # the value is not defined on some path
    if any(_loses_values(items, n) for item in body for n in walk(item) if _is_left(n)):
        return tuple(items), None  # where the loop stopped is not known after it
    value = None if result is None else names.fresh("returned")
    exits = _Exits(names, value)
    rewritten = exits.items(tuple(items), ())
    declared: list[c_ast.Node] = []
    if exits.value is not None and result is not None:
        # A store that a condition on data skips keeps the value before, so there has to be one.
        zero = c_ast.Constant("int", "0", result.coord)
        declared.append(_declaration(exits.value, result, zero))
    if exits.return_flag is not None:
        declared.append(_flag(exits.return_flag))
    return (*declared, *rewritten), exits.value


def _is_left(node: c_ast.Node) -> bool:
    """Whether a loop contains a ``break`` of its own."""
    return isinstance(node, _LOOPS) and _has_exit(node.stmt, c_ast.Break)


def _loses_values(items: Sequence[c_ast.Node], loop: c_ast.Node) -> bool:
    """Whether statements outside a loop may read a variable that its header changes.

    The loop goes on counting after it has been left. Only the value of a loop variable that counts
    is kept, for the statements after the loop in its block.
    """
    if not isinstance(loop, c_ast.For):
        return False
    parts = [part for part in (loop.init, loop.cond, loop.next) if part is not None]
    nodes = [node for part in parts for node in walk(part)]
    own = {node.name for node in nodes if isinstance(node, c_ast.Decl)}
    changed = {target.name for node in nodes if isinstance(target := changed_by(node), c_ast.ID)}
    counter = _counter(loop)
    kept = None if counter is None else counter[0]
    return any(_uses(items, name, loop, name == kept) for name in changed - own)


def _uses(nodes: Sequence[c_ast.Node], name: str, loop: c_ast.Node, is_kept: bool) -> bool:
    """Whether nodes use a variable outside a loop, and outside loops that set it first.

    If its value is kept, the statements after the loop in its block do not count.
    """
    for node in nodes:
        if node is loop:
            if is_kept:
                return False
            continue
        start = loop_start(node) if isinstance(node, c_ast.For) else None
        if start is not None and start[0] == name and name not in names_in(start[1]):
            continue
        if isinstance(node, c_ast.ID) and node.name == name:
            return True
        if _uses([child for _, child in node.children()], name, loop, is_kept):
            return True
    return False


def _has_exit(node: c_ast.Node | None, *kinds: type[c_ast.Node]) -> bool:
    """Whether a statement contains exits that leave it.

    The breaks and continues of the loops inside are left out.
    """
    if node is None:
        return False
    if isinstance(node, kinds):
        return True
    if isinstance(node, _LOOPS | c_ast.Switch):
        return c_ast.Return in kinds and any(
            isinstance(inner, c_ast.Return) for inner in walk(node)
        )
    return any(_has_exit(child, *kinds) for _, child in node.children())


def _always_exits(node: c_ast.Node | None) -> bool:
    match node:
        case c_ast.Return() | c_ast.Break() | c_ast.Continue():
            return True
        case c_ast.Compound(block_items=[*_, last]):
            return _always_exits(last)
        case c_ast.If(iftrue=first, iffalse=second):
            return _always_exits(first) and _always_exits(second)
    return False


@dataclass(frozen=True)
class _Loop:
    """Loop that is left early.

    Attributes:
        flag: the variable that is 1 after the loop has been left.
        index: the loop variable that is read after the loop; None if none is.
        last: the variable that has its value there.
    """

    flag: str
    index: str | None = None
    last: str | None = None


class _Exits:
    """Rewriting of one function body; `value` receives the returned value."""

    def __init__(self, names: Names, value: str | None) -> None:
        self._names, self.value = names, value
        self.return_flag: str | None = None

    def items(
        self, items: tuple[c_ast.Node, ...], loops: tuple[_Loop, ...]
    ) -> tuple[c_ast.Node, ...]:
        """Rewrite the statements of a block inside `loops`, up to the one that always exits."""
        for position, item in enumerate(items):
            before, rest = items[:position], items[position + 1 :]
            if isinstance(item, _EXITS):
                return *before, *self._exit(item, loops)
            if not any(isinstance(node, _EXITS) for node in walk(item)):
                continue
            match item:
                case c_ast.If():
                    return *before, *self._if(item, rest, loops)
                case c_ast.Compound(block_items=inner):
                    if _has_exit(item, c_ast.Return, c_ast.Continue):
                        return *before, _block(self.items((*(inner or ()), *rest), loops), item)
                    block = _block(self.items(tuple(inner or ()), loops), item)
                    return *before, block, *self._guarded(rest, item, loops)
                case c_ast.For() if _has_exit(item.stmt, c_ast.Break, c_ast.Return):
                    return *before, *self._loop(item, rest, loops)
                case c_ast.For():
                    body = _block(self.items(_items(item.stmt), ()), item.stmt)
                    loop = c_ast.For(item.init, item.cond, item.next, body, item.coord)
                    return *before, loop, *self.items(rest, loops)
        return items

    def _exit(self, node: c_ast.Node, loops: tuple[_Loop, ...]) -> list[c_ast.Node]:
        """Return the assignments that an exit becomes."""
        left: tuple[_Loop, ...] = ()
        result: list[c_ast.Node] = []
        if isinstance(node, c_ast.Return):
            left = loops
            if node.expr is not None and self.value is not None:
                result.append(_assigned(self.value, node.expr, node))
            if loops:
                self.return_flag = self.return_flag or self._names.fresh("has_returned")
                result.append(_assigned(self.return_flag, _number(1, node), node))
        elif isinstance(node, c_ast.Break):
            left = loops[-1:]
        for loop in left:
            if loop.index is not None and loop.last is not None:
                result.append(_assigned(loop.last, c_ast.ID(loop.index, node.coord), node))
            result.append(_assigned(loop.flag, _number(1, node), node))
        return result

    def _if(
        self, node: c_ast.If, rest: tuple[c_ast.Node, ...], loops: tuple[_Loop, ...]
    ) -> list[c_ast.Node]:
        first, second = _items(node.iftrue), _items(node.iffalse)
        tail: list[c_ast.Node] = []
        if _always_exits(node.iftrue):
            second = (*second, *rest)
        elif _always_exits(node.iffalse):
            first = (*first, *rest)
        elif _has_exit(node, c_ast.Continue) or (not loops and _has_exit(node, c_ast.Return)):
            first, second = (*first, *rest), (*second, *rest)
        else:
            tail = self._guarded(rest, node, loops)
        sides = [_block(self.items(side, loops), node) for side in (first, second)]
        return [c_ast.If(node.cond, sides[0], sides[1] if second else None, node.coord), *tail]

    def _guarded(
        self, rest: tuple[c_ast.Node, ...], node: c_ast.Node, loops: tuple[_Loop, ...]
    ) -> list[c_ast.Node]:
        """Return statements that run unless `node` has left the loop around it."""
        following = self.items(rest, loops)
        if not rest or not loops or not _has_exit(node, c_ast.Break, c_ast.Return):
            return list(following)
        return [_unless(loops[-1].flag, following, node)]

    def _loop(
        self, node: c_ast.For, rest: tuple[c_ast.Node, ...], loops: tuple[_Loop, ...]
    ) -> list[c_ast.Node]:
        flag = self._names.fresh("stopped")
        loop = _Loop(flag)
        declared: list[c_ast.Node] = [_flag(flag)]
        index = _counter(node)
        if index is not None and any(index[0] in names_in(item) for item in rest):
            name, ended = index
            last = self._names.fresh(f"{name}_after")
            type_ = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["long"]))
            declared.append(_declaration(last, type_, ended))
            loop = replace(loop, index=name, last=last)
            rest = tuple(substituted(item, {name: c_ast.ID(last)}) for item in rest)
        own, steps = _items(node.stmt), ()
        if not _has_exit(node.stmt, c_ast.Break, c_ast.Continue):
            own, steps = _steps_apart(own)
        inner = self.items(own, (*loops, loop))
        body = _block([_unless(flag, inner, node.stmt), *steps], node.stmt)
        changed = c_ast.For(node.init, node.cond, node.next, body, node.coord)
        following = self.items(rest, loops)
        flagged = loops[-1].flag if loops else self.return_flag
        if _has_exit(node.stmt, c_ast.Return) and flagged is not None and following:
            following = (_unless(flagged, following, node),)
        return [*declared, changed, *following]


def _steps_apart(
    items: tuple[c_ast.Node, ...],
) -> tuple[tuple[c_ast.Node, ...], tuple[c_ast.Node, ...]]:
    """Split the steps at the end of a body off, as in ``{ ...; p++; q += 2; }``.

    A loop that is only left by ``return`` performs them in every iteration: nothing reads the
    variables after it has been left.
    """
    end = len(items)
    while end and step_of(items[end - 1]) is not None:
        end -= 1
    return items[:end], items[end:]


def _counter(node: c_ast.For) -> tuple[str, c_ast.Node] | None:
    """Return a variable from outside that a loop counts, and its value after the last test."""
    step = None if node.next is None else step_of(node.next)
    if isinstance(node.init, c_ast.DeclList) or step is None:
        return None
    ended = value_at_end(node, step[0])
    return None if ended is None else (step[0], ended)


def _items(node: c_ast.Node | None) -> tuple[c_ast.Node, ...]:
    if isinstance(node, c_ast.Compound):
        return tuple(node.block_items or ())
    return () if node is None else (node,)


def _block(items: Sequence[c_ast.Node], node: c_ast.Node) -> c_ast.Compound:
    return c_ast.Compound(list(items), node.coord)


def _unless(flag: str, items: Sequence[c_ast.Node], node: c_ast.Node) -> c_ast.If:
    holds = c_ast.UnaryOp("!", c_ast.ID(flag, node.coord), node.coord)
    return c_ast.If(holds, _block(items, node), None, node.coord)


def _number(number: int, node: c_ast.Node) -> c_ast.Constant:
    return c_ast.Constant("int", str(number), node.coord)


def _assigned(name: str, value: c_ast.Node, node: c_ast.Node) -> c_ast.Assignment:
    return c_ast.Assignment("=", c_ast.ID(name, node.coord), value, node.coord)


def _declaration(name: str, type_: c_ast.Node, init: c_ast.Node | None) -> c_ast.Decl:
    declared = c_ast.TypeDecl(name, [], None, type_.type, type_.coord)
    coord = type_.coord if init is None else init.coord
    return c_ast.Decl(name, [], [], [], [], declared, init, None, coord)


def _flag(name: str) -> c_ast.Decl:
    type_ = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["int"]))
    return _declaration(name, type_, c_ast.Constant("int", "0"))
