"""Remove the structs from a region; see :mod:`polysched.frontends.scop.rewrites.members`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

from pycparser import c_ast

from polysched.frontends.scop.rewrites.loop_ranges import NotUnderstoodError
from polysched.frontends.scop.rewrites.members import Members
from polysched.frontends.scop.rewrites.pointer_counters import with_counter
from polysched.frontends.scop.rewrites.pointer_loops import with_counted_pointers
from polysched.frontends.scop.rewrites.region import Region
from polysched.frontends.scop.rewrites.usage import base_name
from polysched.frontends.scop.rewrites.walks import moves_in
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.parse import ParsedSource
from polysched.frontends.scop.source.trees import names_in, walk
from polysched.frontends.scop.types.c_types import Typedefs
from polysched.frontends.scop.types.layouts import Layouts
from polysched.frontends.scop.types.struct_places import Base


def without_structs(
    parsed: ParsedSource, region: Region, typedefs: Typedefs, *, joins: bool = False
) -> Region:
    """Replace the members of structs in a region by variables; `region.members` are new ones.

    Args:
        joins: whether arrays of structs whose numbers have one type become one array each.

    A use of a struct that has no such form stays, and is refused where it is translated.

    Raises:
        FrontendError: the layout of a struct that the region uses is not known.
    """
    moving = _moved_structs(parsed, region, typedefs)
    if moving:
        pointers = [
            declaration.name
            for declaration in _outside(parsed, region)
            if isinstance(declaration.type, c_ast.PtrDecl)
        ]
        region = replace(region, items=with_counted_pointers(region.items, pointers))
        moving = _moved_structs(parsed, region, typedefs)
    for name in moving:
        with contextlib.suppress(NotUnderstoodError):
            region = replace(region, items=with_counter(region.items, name))
    used = {name for item in region.items for name in names_in(item)}
    changed = {name for name in moving if moves_in(region.items, [name])}
    inside = [node for item in region.items for node in walk(item) if isinstance(node, c_ast.Decl)]
    layouts = Layouts(parsed, typedefs)
    taken = frozenset(
        used
        | set(region.members)
        | {node.name for node in inside if node.name}
        | _declared(parsed, region)
    )
    indexed: set[str] = set()
    while True:
        members = Members(layouts, Names(taken), set(indexed), joins)
        environment: dict[str, Base] = {}
        for node in _outside(parsed, region):
            environment.pop(node.name, None)
            if node.name in used - changed:
                base = members.base(node, is_local=False)
                if base is not None:
                    environment[node.name] = base
        items = members.items(region.items, environment)
        if members.indexed == indexed:
            _require_none(parsed, items, environment)
            return replace(region, items=items, members={**region.members, **members.variables})
        indexed = members.indexed


def _moved_structs(parsed: ParsedSource, region: Region, typedefs: Typedefs) -> list[str]:
    """Return the pointers to structs from outside a region, or declared in it, that it moves."""
    inside = [node for item in region.items for node in walk(item) if isinstance(node, c_ast.Decl)]
    layouts = Layouts(parsed, typedefs)
    pointers = {
        node.name: None
        for node in (*_outside(parsed, region), *inside)
        if isinstance(node.type, c_ast.PtrDecl)
        and isinstance(node.type.type, c_ast.TypeDecl)
        and layouts.struct(node.type.type) is not None
    }
    return [name for name in pointers if moves_in(region.items, [name])]


def _require_none(
    parsed: ParsedSource, items: tuple[c_ast.Node, ...], environment: Mapping[str, Base]
) -> None:
    """Check that no use of the structs outside the region is left."""
    for item in items:
        for node in walk(item):
            if isinstance(node, c_ast.StructRef) and base_name(node) in environment:
                break
        else:
            continue
        base = environment[base_name(node)]
        path = [node.field.name]
        member = next(
            (candidate for candidate in base.layout.members if list(candidate.path) == path), None
        )
        shown = parsed.source_map.text(node)
        if member is not None and member.is_pointer:
            reason = (
                f"'{shown}' is a pointer in each of several structs; expected a pointer in a "
                "single struct, or an array in the struct itself"
            )
        else:
            reason = (
                f"'{shown}' is no number in a struct; expected members that are numbers, arrays of "
                "numbers, or pointers to numbers"
            )
        raise parsed.source_map.error(node, reason)


def _outside(parsed: ParsedSource, region: Region) -> Iterator[c_ast.Decl]:
    """Yield the declarations outside a region, outermost first."""
    for node in (*parsed.tree.ext, *region.around):
        if isinstance(node, c_ast.Decl) and node.name is not None:
            yield node


def _declared(parsed: ParsedSource, region: Region) -> set[str]:
    return {node.name for node in _outside(parsed, region)}
