"""Write out loops that end with an exchange of two pointers, so that each name keeps its array.

::

    for (t = 0; t < n; t++) {               for (t = 0; t + 1 < n; t += 2) {
        f(a, b, t);                             { f(a, b, t); }
        tmp = a; a = b; b = tmp;       ->       { f(b, a, t + 1); }
    }                                       }
    g(a);                                   for (t = n / 2 * 2; t < n; t++) { f(a, b, t); }
                                            if (0 < n && n % 2 == 1) { g(b); } else { g(a); }

Only loops of the outermost block: after one in another loop, the next iteration would begin with
the names exchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pycparser import c_ast

from polysched.frontends.scop.rewrites.after_loops import step_of
from polysched.frontends.scop.rewrites.loop_forms import flat, items_of
from polysched.frontends.scop.rewrites.usage import changed_names, changes, declared_names
from polysched.frontends.scop.source.quoting import c_expression, c_statement
from polysched.frontends.scop.source.trees import is_zero, loop_start, names_in, substituted, walk

_LEAVING = c_ast.Break | c_ast.Continue | c_ast.Return | c_ast.Goto | c_ast.Label
_MOST_NODES = 2000
"""Limit on the syntax nodes after such a loop, which are written twice."""


def with_written_out_swaps(
    items: Sequence[c_ast.Node], pointers: Sequence[str]
) -> tuple[c_ast.Node, ...]:
    """Rewrite the loops of a function body that exchange pointers.

    Args:
        pointers: the parameters that are pointers.
    """
    known = {
        node.name
        for node in items
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.PtrDecl)
    }
    for position, item in enumerate(items):
        swap = _swap(item, known.union(pointers)) if isinstance(item, c_ast.For) else None
        if swap is None:
            continue
        rest = with_written_out_swaps(items[position + 1 :], (*pointers, *known))
        used = {name for statement in rest for name in names_in(statement)}
        size = sum(1 for statement in rest for _ in walk(statement))
        hidden = {swap.spare}
        if not isinstance(item.init, c_ast.DeclList):
            hidden.add(swap.index)
        if used & hidden or size > _MOST_NODES:
            continue
        if used & {swap.first, swap.second}:
            sides = (swap.exchanged(c_ast.Compound(list(rest), item.coord)), _block(rest, item))
            rest = (c_ast.If(swap.is_odd(), *sides, item.coord),)
        return *items[:position], *swap.loops(), *rest
    return tuple(items)


@dataclass(frozen=True)
class _Swap:
    """Loop from `lower` to below `upper` that ends with an exchange of two pointers.

    Attributes:
        loop: the loop.
        index: its variable.
        body: the statements before the exchange.
        spare: the pointer that holds a value during the exchange.
    """

    loop: c_ast.For
    index: str
    lower: c_ast.Node
    upper: c_ast.Node
    body: c_ast.Compound
    first: str
    second: str
    spare: str

    def exchanged(self, node: c_ast.Node) -> c_ast.Node:
        """Return a node with the names of the pointers exchanged."""
        one, other = (c_ast.ID(name, node.coord) for name in (self.first, self.second))
        return substituted(node, {self.first: other, self.second: one})

    def loops(self) -> tuple[c_ast.Node, c_ast.Node]:
        """Return the loop over pairs of iterations, and the one over the last if it is single."""
        loop, index = self.loop, c_ast.ID(self.index, self.loop.coord)
        following = c_expression("index + 1", loop, index=index)
        again = substituted(self.exchanged(self.body), {self.index: following})
        pair = c_ast.Compound([self.body, again], loop.coord)
        parts = {"i": index, "upper": self.upper, "length": self._length}
        pairs = c_statement("for (; i + 1 < upper; i += 2) pair;", loop, **parts, pair=pair)
        even = c_expression("length / 2 * 2", loop, **parts)
        if not is_zero(self.lower):
            even = c_expression(
                "lower < upper ? lower + even : lower", loop, lower=self.lower, even=even, **parts
            )
        single = c_statement("for (; i < upper; i++) body;", loop, **parts, body=self.body)
        return (
            c_ast.For(loop.init, pairs.cond, pairs.next, pairs.stmt, loop.coord),
            c_ast.For(self._start(even), single.cond, single.next, single.stmt, loop.coord),
        )

    def is_odd(self) -> c_ast.Node:
        """Return the condition that the loop exchanges the pointers an odd number of times."""
        parts = {"lower": self.lower, "upper": self.upper, "length": self._length}
        return c_expression("lower < upper && length % 2 == 1", self.loop, **parts)

    @property
    def _length(self) -> c_ast.Node:
        if is_zero(self.lower):
            return self.upper
        return c_expression("upper - lower", self.loop, upper=self.upper, lower=self.lower)

    def _start(self, value: c_ast.Node) -> c_ast.Node:
        """Return the start of a loop with another first value."""
        init = self.loop.init
        if not isinstance(init, c_ast.DeclList):
            return c_ast.Assignment("=", init.lvalue, value, init.coord)
        (own,) = init.decls
        declared = c_ast.Decl(
            own.name, own.quals, own.align, own.storage, own.funcspec, own.type, value, None,
            own.coord,
        )  # fmt: skip
        return c_ast.DeclList([declared], init.coord)


def _swap(loop: c_ast.For, pointers: set[str]) -> _Swap | None:
    """Match a loop that counts up by 1 and ends with an exchange of pointers."""
    started, step = loop_start(loop), None if loop.next is None else step_of(loop.next)
    match loop.cond:
        case c_ast.BinaryOp(op="<", left=c_ast.ID(name=str(tested)), right=upper):
            pass
        case c_ast.BinaryOp(op="<=", left=c_ast.ID(name=str(tested)), right=last):
            upper = c_expression("last + 1", loop, last=last)
        case _:
            return None
    if started is None or step != (started[0], 1) or tested != started[0]:
        return None
    if not isinstance(started[1], c_ast.Constant):
        return None  # the length of the range may wrap around
    if isinstance(loop.init, c_ast.DeclList) and len(loop.init.decls) != 1:
        return None
    items = _without_blocks_at_end(flat(items_of(loop.stmt)))
    names = _exchanged(items[-3:])
    if names is None or not {*names[:2]} <= pointers:
        return None
    body = c_ast.Compound(items[:-3], loop.stmt.coord or loop.coord)
    bounds = {*names_in(started[1]), *names_in(upper)}
    nodes = list(walk(body))
    is_moved = any(changes(node, name) for node in nodes for name in (*names[:2], started[0]))
    is_changed = bool(bounds & {*changed_names(body), *names})
    is_changed |= bool(declared_names(body) & {*bounds, *names, started[0]})
    leaves = any(isinstance(node, _LEAVING) for node in nodes)
    if leaves or is_moved or is_changed or names[2] in names_in(body):
        return None
    return _Swap(loop, started[0], started[1], upper, body, *names)


def _exchanged(items: Sequence[c_ast.Node]) -> tuple[str, str, str] | None:
    """Match ``tmp = a; a = b; b = tmp;``; return the names of ``a``, ``b`` and ``tmp``."""
    match list(items):
        case [
            c_ast.Assignment(
                op="=", lvalue=c_ast.ID(name=str(spare)), rvalue=c_ast.ID(name=str(first))
            )
            | c_ast.Decl(name=str(spare), type=c_ast.PtrDecl(), init=c_ast.ID(name=str(first))),
            c_ast.Assignment(
                op="=", lvalue=c_ast.ID(name=str(set_)), rvalue=c_ast.ID(name=str(second))
            ),
            c_ast.Assignment(
                op="=", lvalue=c_ast.ID(name=str(last)), rvalue=c_ast.ID(name=str(held))
            ),
        ] if set_ == first and last == second and held == spare:
            return (first, second, spare) if len({first, second, spare}) == 3 else None
    return None


def _without_blocks_at_end(items: list[c_ast.Node]) -> list[c_ast.Node]:
    """Take the block at the end apart, also that of ``do { ... } while (0)``."""
    match items:
        case [*before, c_ast.Compound(block_items=[_, _, _] as inner)]:
            return [*before, *inner]
        case [
            *before,
            c_ast.DoWhile(cond=c_ast.Constant(value="0"), stmt=c_ast.Compound() as block),
        ]:
            return [*before, *items_of(block)]
    return items


def _block(items: Sequence[c_ast.Node], node: c_ast.Node) -> c_ast.Compound:
    return c_ast.Compound(list(items), node.coord)
