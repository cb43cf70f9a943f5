"""What a region does with each name, found before it is translated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pycparser import c_ast

_CHANGES = frozenset({"++", "--", "p++", "p--"})


@dataclass(frozen=True)
class Usage:
    """The names of a region.

    Attributes:
        used: all names, in the order of the text.
        assigned: those that a statement assigns to, not counting the headers of loops.
        loop_variables: those that loops count and do not declare.
        only_first: those of which every use is ``p[0]`` or ``*p``.
        changed: where a name itself is assigned to first, ``p++`` or ``p = q``, not ``*p`` or
            ``p[i]``.
    """

    used: tuple[str, ...]
    assigned: frozenset[str]
    loop_variables: frozenset[str]
    only_first: frozenset[str]
    changed: Mapping[str, c_ast.Node] = field(default_factory=dict)


def usage_of(items: tuple[c_ast.Node, ...]) -> Usage:
    """What statements do with each name."""
    used: dict[str, None] = {}
    assigned: set[str] = set()
    through: set[str] = set()
    itself: dict[str, c_ast.Node] = {}
    counted: set[str] = set()
    elsewhere: set[str] = set()
    for item in items:
        for node, header in _walk(item, None):
            if isinstance(node, c_ast.ID):
                used[node.name] = None
            target = _changed_by(node)
            changed = "" if target is None else base_name(target)
            if changed and header is None:
                assigned.add(changed)
                if isinstance(target, c_ast.ID):
                    itself.setdefault(changed, node)
                else:
                    through.add(changed)
            elif changed and header is not None and not isinstance(header.init, c_ast.DeclList):
                counted.add(changed)
        elsewhere |= set(_beyond_first(item))
    pointers: dict[str, set[str]] = {}  # blocks may each have a pointer of one name
    for item in items:
        for node, _ in _walk(item, None):
            if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.PtrDecl):
                pointers.setdefault(node.name, set()).add(pointed_name(node.init))
    changing = list(through)
    while changing:
        reached = pointers.get(changing.pop(), set()) - through
        through |= reached
        changing += reached
    return Usage(
        tuple(used),
        frozenset(assigned | through),
        frozenset(counted),
        frozenset(set(used) - elsewhere),
        itself,
    )


def _changed_by(node: c_ast.Node) -> c_ast.Node | None:
    match node:
        case c_ast.Assignment(lvalue=target):
            return target
        case c_ast.UnaryOp(op=operator, expr=target) if operator in _CHANGES:
            return target
    return None


def base_name(node: c_ast.Node) -> str:
    """The name in ``A[i][j]``, ``*p`` or ``x``; empty where there is none."""
    match node:
        case c_ast.ID(name=str(name)):
            return name
        case c_ast.ArrayRef(name=inner) | c_ast.UnaryOp(op="*", expr=inner):
            return base_name(inner)
    return ""


def pointed_name(node: c_ast.Node | None) -> str:
    """The array in ``A + e``, ``&A[i][j]`` or ``A[i]``; empty where there is none."""
    match node:
        case c_ast.BinaryOp(op="+", left=inner) | c_ast.UnaryOp(op="&", expr=inner):
            return pointed_name(inner)
        case c_ast.Node():
            return base_name(node)
    return ""


def _walk(
    node: c_ast.Node, header: c_ast.For | None
) -> Iterator[tuple[c_ast.Node, c_ast.For | None]]:
    """All nodes, each with the loop in whose header it is."""
    yield node, header
    for name, child in node.children():
        if isinstance(node, c_ast.For):
            yield from _walk(child, node if name in ("init", "cond", "next") else None)
        else:
            yield from _walk(child, header)


def _beyond_first(node: c_ast.Node) -> Iterator[str]:
    """The names that are used in other ways than ``*p`` and ``p[0]``."""
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
