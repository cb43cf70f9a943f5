"""Rewrite statements to the forms that are translated: one pass over a region, bottom up.

========================================  ==========================================
in C                                      becomes
========================================  ==========================================
``*(p + e)``, ``(p + e)[i]``               ``p[e]``, ``p[e + i]``
``__builtin_expect(e, v)``                ``(long)e``
``while`` and ``do`` loops that count     ``for`` loops
``i``, after a loop that counts it        a constant: :mod:`.after_loops`
``do { ... } while (0)``                  ``{ ... }``
``switch`` whose cases end in ``break``   ``if``, ``else if``, ``else``
``T *p = c ? a : b; ...``                 ``if (c) { T *p = a; ... } else { T *p = b; ... }``
``x[k++] = v``                            ``x[k] = v; k++``
loop headers with several variables       one variable: :mod:`.loop_headers`
loops that repeat their statements        one element each: :mod:`.rerolled`
========================================  ==========================================

Everything else stays as it is, and is refused where it is translated if it is not supported.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from functools import reduce
from typing import TypeAlias

from pycparser import c_ast

from polysched.frontends.scop.rewrites.after_loops import AfterLoops, integers_of
from polysched.frontends.scop.rewrites.counting import with_for_loops
from polysched.frontends.scop.rewrites.loop_headers import counters_of, with_plain_header
from polysched.frontends.scop.rewrites.rerolled import with_rolled_loops
from polysched.frontends.scop.rewrites.side_effects import with_steps_apart
from polysched.frontends.scop.rewrites.usage import changed_by, changed_names
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import cast_to, mapped, names_in, walk

MOST_CHOSEN_NODES = 400
"""Largest number of syntax nodes after a choice between pointers: the choice doubles them."""

_Block: TypeAlias = Callable[[Iterable[c_ast.Node]], tuple[c_ast.Node, ...]]
"""Normalizes the statements of a block in order."""


def normalized(items: tuple[c_ast.Node, ...]) -> tuple[c_ast.Node, ...]:
    """Normalize the statements of a block."""
    counters = counters_of(items)
    steps = [inner for item in items for inner in with_steps_apart(item)]
    apart = [_with_own_counters(item, counters) for item in steps]
    types = integers_of(apart)
    names = Names(frozenset(name for item in apart for name in (*names_in(item), *types)))

    def in_order(block: Iterable[c_ast.Node]) -> tuple[c_ast.Node, ...]:
        loops = with_for_loops(with_rolled_loops(block), AfterLoops(types, names))
        return _with_chosen_pointers(tuple(map(_with_plain_headers, loops)))

    return in_order(_normalized(item, in_order) for item in apart)


def _with_own_counters(node: c_ast.Node, counters: frozenset[str]) -> c_ast.Node:
    """Normalize the headers of loops that set several variables from outside."""
    node = mapped(node, lambda child: _with_own_counters(child, counters))
    return with_plain_header(node, counters) if isinstance(node, c_ast.For) else node


def _normalized(node: c_ast.Node, in_order: _Block) -> c_ast.Node:
    node = mapped(node, lambda child: _normalized(child, in_order))
    match node:
        case c_ast.Compound(block_items=[*items]):
            changed = in_order(items)
            return node if changed == tuple(items) else c_ast.Compound(list(changed), node.coord)
        case c_ast.DoWhile(cond=c_ast.Constant(value="0"), stmt=body) if not _leaves(body):
            return body
        case c_ast.For():
            return with_plain_header(node)
        case c_ast.UnaryOp(op="*", expr=c_ast.BinaryOp(op="+" | "-") as address):
            return _element(address, node)
        case c_ast.ArrayRef(name=c_ast.BinaryOp(op="+" | "-") as address, subscript=index):
            return _element(c_ast.BinaryOp("+", address, index, node.coord), node)
        case c_ast.FuncCall(
            name=c_ast.ID(name="__builtin_expect"), args=c_ast.ExprList(exprs=[value, _])
        ):
            return _as_long(value)
        case c_ast.Switch():
            return _as_ifs(node) or node
    return node


def _with_plain_headers(node: c_ast.Node) -> c_ast.Node:
    """Normalize the header of a loop that was no ``for`` loop before."""
    return with_plain_header(node) if isinstance(node, c_ast.For) else node


def _with_chosen_pointers(items: tuple[c_ast.Node, ...]) -> tuple[c_ast.Node, ...]:
    """Choose between two pointers by an ``if`` around the rest of their block."""
    for position, item in enumerate(items):
        match item:
            case c_ast.Decl(type=c_ast.PtrDecl(), init=c_ast.TernaryOp() as choice):
                rest = items[position + 1 :]
                if sum(1 for statement in rest for _ in walk(statement)) > MOST_CHOSEN_NODES:
                    return items
                sides = []
                for pointer in (choice.iftrue, choice.iffalse):
                    declared = copy.copy(item)
                    declared.init = pointer
                    block = _with_chosen_pointers((declared, *rest))
                    sides.append(c_ast.Compound(list(block), item.coord))
                return *items[:position], c_ast.If(choice.cond, *sides, item.coord)
    return items


def _leaves(body: c_ast.Node) -> bool:
    return any(isinstance(inner, c_ast.Break | c_ast.Continue) for inner in walk(body))


def _element(address: c_ast.BinaryOp, node: c_ast.Node) -> c_ast.Node:
    pointer, offset = _split(address)
    if offset is None or not isinstance(pointer, c_ast.ID | c_ast.ArrayRef):
        return node
    return c_ast.ArrayRef(pointer, offset, node.coord)


def _split(address: c_ast.Node) -> tuple[c_ast.Node, c_ast.Node | None]:
    """Split ``p + a - b`` into the pointer ``p``, its leftmost operand, and ``a - b``."""
    if not isinstance(address, c_ast.BinaryOp) or address.op not in ("+", "-"):
        return address, None
    pointer, offset = _split(address.left)
    right = address.right
    if offset is not None:
        return pointer, c_ast.BinaryOp(address.op, offset, right, address.coord)
    return pointer, right if address.op == "+" else c_ast.UnaryOp("-", right, address.coord)


def _as_long(value: c_ast.Node) -> c_ast.Cast:
    return cast_to(c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["long"])), value)


def _as_ifs(node: c_ast.Switch) -> c_ast.Node | None:
    """Turn a switch into ifs; None if a case falls through or changes what is switched on."""
    if not isinstance(node.stmt, c_ast.Compound) or not node.stmt.block_items:
        return None
    if changed_names(node.stmt) & set(names_in(node.cond)) or _has_effect(node.cond):
        return None
    values: list[c_ast.Node] = []
    is_default = False
    branches: list[tuple[list[c_ast.Node], c_ast.Node]] = []
    otherwise: c_ast.Node | None = None
    *_, last = node.stmt.block_items
    for item in node.stmt.block_items:
        if not isinstance(item, c_ast.Case | c_ast.Default):
            return None
        if isinstance(item, c_ast.Case):
            values.append(item.expr)
        else:
            is_default = True
        body = _without_break(list(item.stmts or []), is_last=item is last)
        if body is None:
            return None
        if not body[1]:
            continue
        block = c_ast.Compound(body[0], item.coord)
        if is_default:
            otherwise = block
        else:
            branches.append((values, block))
        values, is_default = [], False
    result = otherwise
    for matched, block in reversed(branches):
        tests = [c_ast.BinaryOp("==", node.cond, value, value.coord) for value in matched]
        holds = reduce(lambda a, b: c_ast.BinaryOp("||", a, b, a.coord), tests)
        result = c_ast.If(holds, block, result, node.coord)
    return result or c_ast.EmptyStatement(node.coord)


def _without_break(
    stmts: list[c_ast.Node], *, is_last: bool
) -> tuple[list[c_ast.Node], bool] | None:
    """Return the statements of a case and whether they end it; None if it falls through."""
    if len(stmts) == 1 and isinstance(stmts[0], c_ast.Compound):
        inner = list(stmts[0].block_items or [])
        if inner and isinstance(inner[-1], c_ast.Break | c_ast.Return):
            stmts = inner
    ends = bool(stmts) and isinstance(stmts[-1], c_ast.Break | c_ast.Return)
    body = stmts[:-1] if ends and isinstance(stmts[-1], c_ast.Break) else stmts
    if any(isinstance(inner, c_ast.Break) for item in body for inner in walk(item)):
        return None  # it leaves the switch early, or a loop
    if stmts and not ends and not is_last:
        return None
    return body, ends or is_last


def _has_effect(node: c_ast.Node) -> bool:
    return any(
        changed_by(inner) is not None or isinstance(inner, c_ast.FuncCall) for inner in walk(node)
    )
