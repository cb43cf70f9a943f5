"""Values that a region leaves in counters and pointers of its function.

::

    for (; i + 4 <= n; i += 4) f(i);        int i_own = i;
                                            for (; i_own + 4 <= n; i_own += 4) f(i_own);
                                            i_after = i_own;               and then i = i_after;

    for (k = 0; k < n; k++) *d++ = 0;       for (k = 0; k < n; k++) *d++ = 0;
                                            d_moved = distance of d;       and then d += d_moved;

The translated region has no loop variables or moving pointers of the function: it stores what it
leaves in variables of its own, and the code after its call puts it where it belongs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum, auto

from pycparser import c_ast

from polysched.frontends.scop.rewrites.region import LiveOut, Region
from polysched.frontends.scop.rewrites.usage import base_name, changed_by, declared_names
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import (
    LOOPS,
    Distance,
    mapped,
    names_in,
    substituted,
    walk,
)

_LEAVING = (c_ast.Break, c_ast.Continue, c_ast.Goto, c_ast.Return)
_EMPTY = c_ast.EmptyStatement()


def with_values_after(region: Region, original: Region) -> Region:
    """Let a part of a function store the values that counters and pointers have after it.

    Args:
        region: the part, as other rewriting has left it.
        original: the part with the statements of the source.
    """
    if region.is_function:
        return replace(region, ended=frozenset(name for name, _ in _declared_around(region)))
    declared = dict(_declared_around(region))
    changed = {base_name(target) for target in _targets(region) if isinstance(target, c_ast.ID)}
    counters = set(_counters(region))
    taken = {*names_in(region.function.body), *declared}
    taken |= declared_names(region.function.body)
    names = Names(frozenset(taken))
    ended = frozenset(name for name in declared if not leaves_value(original, name))
    region = replace(region, ended=ended)
    for name, type_ in declared.items():
        if name not in changed:
            continue
        if name in ended:  # the forms of loops that count start with the value of a variable
            if name in counters and isinstance(type_, c_ast.TypeDecl) and _in_do_loop(region, name):
                region, _, _ = _copied(region, name, type_, names)
        elif isinstance(type_, c_ast.PtrDecl):
            region = _with_distance(region, name, names)
        elif isinstance(type_, c_ast.TypeDecl) and name in counters:
            region = _with_copy(region, name, type_, names)
    return region


def leaves_value(region: Region, name: str) -> bool:
    """Whether the value of a variable after a region may be read, also by the region itself."""
    is_repeated = _is_repeated(region, name)
    uses = uses_outside(region.function.body, name, set(map(id, region.items)))
    is_used = any(is_repeated or _is_after(use, region) for use in uses)
    return is_used or (is_repeated and _first_use(region.items, name) is _Use.READ)


def _is_after(node: c_ast.Node, region: Region) -> bool:
    """Whether a node outside a region follows it in the text."""
    at, start = node.coord, region.node.coord
    return at is None or (at.line, at.column or 0) > (start.line, start.column or 0)


def uses_outside(node: c_ast.Node, name: str, inside: set[int]) -> Iterator[c_ast.Node]:
    """Yield the uses of a variable outside a region, except in loops that set it themselves."""
    if id(node) in inside:
        return
    if isinstance(node, c_ast.ID) and node.name == name:
        yield node
    if isinstance(node, c_ast.For) and _sets(node.init, name):
        return
    for _, child in node.children():
        yield from uses_outside(child, name, inside)


def _sets(init: c_ast.Node | None, name: str) -> bool:
    match init:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=own)):
            return bool(own == name)
        case c_ast.DeclList(decls=declarations):
            return any(declaration.name == name for declaration in declarations)
    return False


def _is_repeated(region: Region, name: str) -> bool:
    """Whether a region is inside a loop that does not declare a variable, or a ``goto`` exists."""
    if any(isinstance(part, c_ast.Goto) for part in walk(region.function.body)):
        return True
    loops = (part for part in walk(region.function.body) if isinstance(part, LOOPS))
    inside = ([*walk(loop)][1:] for loop in loops)
    return any(
        any(node is region.node for node in nodes)
        and not any(_declares(node, name) for node in nodes)
        for nodes in inside
    )


def _declares(node: c_ast.Node, name: str) -> bool:
    """Whether a node declares a variable that is a new one each time."""
    is_own = isinstance(node, c_ast.Decl) and node.name == name
    return is_own and "static" not in (node.storage or ())


def reads_earlier_value(items: Iterable[c_ast.Node], name: str) -> bool:
    """Whether the statements of a function may read a value that a variable had before them."""
    return _first_use(map(_without_exits, items), name) is _Use.READ


def _without_exits(node: c_ast.Node) -> c_ast.Node:
    """Let statements that leave a loop or the function go on: more reads may follow then."""
    match node:
        case c_ast.Break() | c_ast.Continue() | c_ast.Return(expr=None):
            return _EMPTY
        case c_ast.Return(expr=value):
            return value
    return mapped(node, _without_exits)


class _Use(Enum):
    """First use of a variable by statements: none on some path, a value set, or its value read."""

    NONE = auto()
    SET = auto()
    READ = auto()


def _first_use(nodes: Iterable[c_ast.Node | None], name: str) -> _Use:
    """Return the first use of a variable by nodes that are evaluated in order."""
    leaves = False
    for node in nodes:
        if node is None or name not in names_in(node):
            leaves = leaves or any(isinstance(inner, _LEAVING) for inner in walk(node or _EMPTY))
            continue
        use = _Use.READ if leaves else _own_first_use(node, name)
        if use is not _Use.NONE:
            return use
        leaves = any(isinstance(inner, _LEAVING) for inner in walk(node))
    return _Use.NONE


def _own_first_use(node: c_ast.Node, name: str) -> _Use:
    match node:
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=own), rvalue=value) if own == name:
            return _Use.READ if name in names_in(value) else _Use.SET
        case c_ast.Compound(block_items=items) | c_ast.ExprList(exprs=items):
            return _first_use(items or (), name)
        case c_ast.For():
            first = _first_use((node.init, node.cond), name)
            if first is not _Use.NONE:
                return first
            inside = _first_use((node.stmt, node.next), name)
            return _Use.READ if inside is _Use.READ else _Use.NONE  # it may run no iteration
        case c_ast.If(cond=cond, iftrue=one, iffalse=other):
            sides = {_first_use((cond, side), name) for side in (one, other)}
            if _Use.READ in sides:
                return _Use.READ
            return _Use.NONE if _Use.NONE in sides else _Use.SET
    return _Use.READ


def _declared_around(region: Region) -> Iterator[tuple[str, c_ast.Node]]:
    """Yield the variables of the function around a region, with their types."""
    inside = {node.name for node in region.declared}
    yield from ((node.name, node.type) for node in region.around if node.name not in inside)


def _targets(region: Region) -> Iterator[c_ast.Node]:
    yield from (target for target in map(changed_by, region.nodes) if target is not None)


def _counters(region: Region) -> Iterator[str]:
    """Yield the names in the headers of loops and in subscripts."""
    for item in region.items:
        for node in walk(item):
            parts: list[c_ast.Node | None] = []
            if isinstance(node, LOOPS):
                parts = [node.cond, getattr(node, "init", None), getattr(node, "next", None)]
            elif isinstance(node, c_ast.ArrayRef):
                parts = [node.subscript]
            yield from (name for part in parts if part is not None for name in names_in(part))


def _with_copy(region: Region, name: str, type_: c_ast.TypeDecl, names: Names) -> Region:
    """Let a region count with a variable of its own, and store its last value."""
    region, own, coord = _copied(region, name, type_, names)
    after = names.fresh(f"{name}_after")
    store = c_ast.Assignment("=", c_ast.ID(after, coord), c_ast.ID(own, coord), coord)
    result = LiveOut(after, c_ast.TypeDecl(after, [], None, type_.type, coord), name, "=")
    return _with_result(region, store, result)


def _copied(
    region: Region, name: str, type_: c_ast.TypeDecl, names: Names
) -> tuple[Region, str, c_ast.Node]:
    """Let a region count with a variable of its own; return its name and place too."""
    own = names.fresh(f"{name}_own")
    coord = region.items[0].coord
    is_set = _first_use(region.items, name) is _Use.SET
    first = None if is_set else c_ast.ID(name, coord)
    renamed = c_ast.TypeDecl(own, [], None, type_.type, coord)
    copy = c_ast.Decl(own, [], [], [], [], renamed, first, None, coord)
    items = [substituted(item, {name: c_ast.ID(own, coord)}) for item in region.items]
    return replace(region, items=(copy, *items)), own, coord


def _in_do_loop(region: Region, name: str) -> bool:
    """Whether the condition of a ``do`` loop of a region uses a variable."""
    nodes = (node for item in region.items for node in walk(item))
    return any(isinstance(node, c_ast.DoWhile) and name in names_in(node.cond) for node in nodes)


def _with_distance(region: Region, name: str, names: Names) -> Region:
    """Let a region store by how many elements it moves a pointer."""
    after = names.fresh(f"{name}_moved")
    coord = region.items[0].coord
    store = c_ast.Assignment("=", c_ast.ID(after, coord), Distance(name, coord), coord)
    long = c_ast.TypeDecl(after, [], None, c_ast.IdentifierType(["long"]), coord)
    return _with_result(region, store, LiveOut(after, long, name, "+="))


def _with_result(region: Region, store: c_ast.Node, result: LiveOut) -> Region:
    return replace(region, items=(*region.items, store), results=(*region.results, result))
