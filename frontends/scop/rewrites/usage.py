"""Collect how a region uses each name, before it is translated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pycparser import c_ast

from polysched.frontends.scop.source.trees import LOOPS, walk

FILLS = frozenset({"memset", "memcpy", "memmove"})
"""Functions of string.h that write to their first argument."""
_CHANGES = frozenset({"++", "--", "p++", "p--"})


@dataclass(frozen=True)
class Usage:
    """Uses of the names in a region.

    Attributes:
        used: all names, in the order of the text.
        assigned: names that statements assign to, directly, through subscripts or through pointers;
            loop headers do not count.
        loop_variables: variables that loop headers assign to and do not declare.
        only_first: names of which every use is ``p[0]`` or ``*p``.
        changed: for each name that is itself assigned to, as in ``p++`` or ``p = q``, the first
            such node; ``*p`` and ``p[i]`` do not count.
        in_subscripts: names that occur in the subscripts of elements.
        maybe_unset: local variables without a first value that an ``if`` in a loop sets, with the
            loop and the ``if`` inside the scope of the variable, or whose elements data select.
    """

    used: tuple[str, ...]
    assigned: frozenset[str]
    loop_variables: frozenset[str]
    only_first: frozenset[str]
    changed: Mapping[str, c_ast.Node] = field(default_factory=dict)
    in_subscripts: frozenset[str] = frozenset()
    maybe_unset: frozenset[str] = frozenset()


def usage_of(items: tuple[c_ast.Node, ...]) -> Usage:
    """Collect how statements use each name."""
    used: dict[str, None] = {}
    assigned: set[str] = set()
    stored: set[str] = set()  # arrays and pointers whose elements are assigned to
    changed: dict[str, c_ast.Node] = {}
    loop_variables: set[str] = set()
    beyond_first: set[str] = set()
    in_subscripts: set[str] = set()
    for item in items:
        for node, header in _walk(item, None):
            if isinstance(node, c_ast.ID):
                used[node.name] = None
            if isinstance(node, c_ast.ArrayRef):
                inside = (inner for inner, _ in _walk(node.subscript, None))
                in_subscripts |= {inner.name for inner in inside if isinstance(inner, c_ast.ID)}
            target = changed_by(node)
            name = "" if target is None else base_name(target)
            if name and header is None:
                assigned.add(name)
                if isinstance(target, c_ast.ID):
                    changed.setdefault(name, node)
                else:
                    stored.add(name)
            elif name and header is not None and not isinstance(header.init, c_ast.DeclList):
                loop_variables.add(name)
        beyond_first |= set(_beyond_first(item))
    pointers: dict[str, set[str]] = {}  # a set, since several blocks may declare the same name
    for item in items:
        for node, _ in _walk(item, None):
            if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.PtrDecl):
                pointers.setdefault(node.name, set()).add(pointed_name(node.init))
    # A store through a pointer is a store to the array that it points into.
    pending = list(stored)
    while pending:
        reached = pointers.get(pending.pop(), set()) - stored
        stored |= reached
        pending += reached
    return Usage(
        tuple(used),
        frozenset(assigned | stored),
        frozenset(loop_variables),
        frozenset(set(used) - beyond_first),
        changed,
        frozenset(in_subscripts),
        frozenset(_maybe_unset(items, {}, set(changed), 0, 0)),
    )


def changed_by(node: c_ast.Node) -> c_ast.Node | None:
    """Return the target of an assignment, as in ``x = 1``, ``x++`` or ``memset(x, ...)``.

    None for a node that assigns to nothing.
    """
    match node:
        case c_ast.Assignment(lvalue=target):
            return target
        case c_ast.UnaryOp(op=operator, expr=target) if operator in _CHANGES:
            return target
        case c_ast.FuncCall(
            name=c_ast.ID(name=name), args=c_ast.ExprList(exprs=[target, _, _])
        ) if name in FILLS:
            pointer = target.expr if isinstance(target, c_ast.Cast) else target
            return c_ast.UnaryOp("*", c_ast.ID(pointed_name(pointer), target.coord), target.coord)
    return None


def changes(node: c_ast.Node, name: str) -> bool:
    """Whether a node assigns to a variable itself."""
    target = changed_by(node)
    return isinstance(target, c_ast.ID) and bool(target.name == name)


def evaluated(node: c_ast.Node) -> Iterator[c_ast.Node]:
    """Yield the parts of an expression or block that are evaluated once, whatever their values."""
    yield node
    match node:
        case c_ast.If(cond=first) | c_ast.TernaryOp(cond=first):
            yield from evaluated(first)
        case c_ast.BinaryOp(op="&&" | "||", left=first):
            yield from evaluated(first)
        case c_ast.UnaryOp(op="sizeof") | c_ast.Switch():
            pass
        case _ if not isinstance(node, LOOPS):
            for _, child in node.children():
                yield from evaluated(child)


def may_change(node: c_ast.Node, name: str) -> bool:
    """Whether a node assigns to a variable itself, or takes its address."""
    is_address = isinstance(node, c_ast.UnaryOp) and node.op == "&"
    target = node.expr if is_address else changed_by(node)
    return isinstance(target, c_ast.ID) and bool(target.name == name)


def changed_names(*blocks: c_ast.Node) -> set[str]:
    """Return the variables, arrays and pointers that code assigns to, also to their elements."""
    targets = [changed_by(node) for block in blocks for node in walk(block)]
    return {base_name(target) for target in targets if target is not None} - {""}


def declared_names(*blocks: c_ast.Node) -> set[str]:
    """Return the names that code declares."""
    nodes = [node for block in blocks for node in walk(block)]
    return {node.name for node in nodes if isinstance(node, c_ast.Decl)}


def base_name(node: c_ast.Node) -> str:
    """Return the name in ``A[i][j]``, ``*p``, ``p->m`` or ``x``; empty for any other expression."""
    match node:
        case c_ast.ID(name=str(name)):
            return name
        case (
            c_ast.ArrayRef(name=inner)
            | c_ast.UnaryOp(op="*", expr=inner)
            | c_ast.StructRef(name=inner)
        ):
            return base_name(inner)
    return ""


def pointed_name(node: c_ast.Node | None) -> str:
    """Return the array in ``A + e``, ``&A[i][j]`` or ``A[i]``; empty for any other expression."""
    match node:
        case c_ast.BinaryOp(op="+" | "-", left=inner) | c_ast.UnaryOp(op="&", expr=inner):
            return pointed_name(inner)
        case c_ast.Node():
            return base_name(node)
    return ""


def _walk(
    node: c_ast.Node, header: c_ast.For | None
) -> Iterator[tuple[c_ast.Node, c_ast.For | None]]:
    """Yield all nodes, each with the loop whose header contains it, or None."""
    yield node, header
    for name, child in node.children():
        if isinstance(node, c_ast.For):
            yield from _walk(child, node if name in ("init", "cond", "next") else None)
        else:
            yield from _walk(child, header)


def _maybe_unset(
    nodes: Iterable[c_ast.Node],
    declared: dict[str, tuple[str, int, int]],
    data: set[str],
    loops: int,
    ifs: int,
) -> Iterator[str]:
    """Yield the variables that an ``if`` in a loop sets, and those whose elements data select.

    Args:
        declared: for each variable without a first value, and each pointer into one, that variable
            and the numbers of loops and branches around it.
        data: the variables whose values may be data; more are added.
        loops: the number of loops around the statements.
        ifs: the number of branches around them.
    """
    for node in nodes:
        if isinstance(node, c_ast.Decl) and node.init is None:
            declared[node.name] = node.name, loops, ifs
        elif isinstance(node, c_ast.Decl) and pointed_name(node.init) in declared:
            declared[node.name] = declared[pointed_name(node.init)]
        elif isinstance(node, c_ast.Decl) and _reads_data(node.init, data):
            data.add(node.name)
        elif (
            isinstance(node, c_ast.ArrayRef)
            and base_name(node) in declared
            and _reads_data(node.subscript, data)
        ):
            yield declared[base_name(node)][0]
        target = changed_by(node)
        if target is not None and base_name(target) in declared:
            name, *around = declared[base_name(target)]
            if loops > around[0] and ifs > around[1]:
                yield name
        children = (child for _, child in node.children())
        inner = dict(declared) if isinstance(node, c_ast.Compound | c_ast.For) else declared
        is_loop, is_if = isinstance(node, LOOPS), isinstance(node, c_ast.If)
        yield from _maybe_unset(children, inner, data, loops + is_loop, ifs + is_if)


def _reads_data(node: c_ast.Node, data: set[str]) -> bool:
    kinds = c_ast.ArrayRef | c_ast.StructRef
    return any(
        isinstance(part, kinds) or (isinstance(part, c_ast.ID) and part.name in data)
        for part in walk(node)
    )


def _beyond_first(node: c_ast.Node) -> Iterator[str]:
    """Yield the names that are used other than as ``*p`` or ``p[0]``."""
    match node:
        case c_ast.ID(name=str(name)):
            yield name
        case c_ast.UnaryOp(op="*", expr=c_ast.ID()):
            pass
        case c_ast.ArrayRef(name=c_ast.ID(), subscript=c_ast.Constant(value="0")):
            pass
        case _:
            for _, child in node.children():
                yield from _beyond_first(child)
