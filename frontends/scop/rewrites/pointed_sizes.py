"""Read the integers behind pointers, which a region does not change, as sizes.

::

    void scal(int *n, double *x) {           n_value = *n;
        for (i = 0; i < *n; ++i) x[i] = 0;   for (i = 0; i < n_value; ++i) x[i] = 0;

Fortran passes all numbers so. The entry of the generated function reads them, as it reads the
members of structs. An element ``p[0]`` stays: the array may be empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.rewrites.region import Region
from polysched.frontends.scop.rewrites.usage import base_name, usage_of
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.parse import ParsedSource
from polysched.frontends.scop.source.trees import StandIn, mapped
from polysched.frontends.scop.types.c_types import CType, Typedefs, declared_type
from polysched.frontends.scop.types.layouts import Member
from polysched.frontends.scop.types.struct_places import MemberPlace, MemberVariable


def with_pointed_sizes(
    parsed: ParsedSource, region: Region, typedefs: Typedefs, names: Names
) -> Region:
    """Replace ``*p`` of parameters that are only read so by variables of `region.members`."""
    usage = usage_of(region.items)
    kept = {node.name for node in region.declared}
    kept |= {base_name(node) for node in region.nodes if isinstance(node, c_ast.ArrayRef)}
    only_read = (usage.only_first & set(usage.used)) - usage.assigned - kept
    found: dict[str, str] = {}
    members = dict(region.members)
    for node, type_ in _integers(parsed, region, typedefs):
        if node.name not in only_read:
            continue
        name = found[node.name] = names.fresh(f"{node.name}_value")
        inner = node.type.type
        declared = c_ast.TypeDecl(name, inner.quals, None, inner.type, node.coord)
        number = replace(type_, dims=(), is_pointer=False)
        place = MemberPlace(
            node.name,
            f"*{node.name}",
            Member((), inner, number, 0),
            number.dtype.bytes if number.dtype is not None else 0,
            is_pointer=True,
            is_restrict=type_.is_restrict,
            is_indexed=False,
        )
        declaration = c_ast.Decl(name, [], [], [], [], declared, None, None, node.coord)
        members[name] = MemberVariable(declaration, place)
    if not found:
        return region

    def renamed(node: c_ast.Node) -> c_ast.Node:
        match node:
            case c_ast.UnaryOp(op="*", expr=c_ast.ID(name=name)) if name in found:
                return StandIn(found[name], node)
        return mapped(node, renamed)

    return replace(region, items=tuple(map(renamed, region.items)), members=members)


def _integers(
    parsed: ParsedSource, region: Region, typedefs: Typedefs
) -> Iterator[tuple[c_ast.Decl, CType]]:
    """Yield the parameters of a function that are pointers to integers."""
    for node in region.parameters:
        if isinstance(node.type, c_ast.PtrDecl) and isinstance(node.type.type, c_ast.TypeDecl):
            try:
                type_ = declared_type(node.type, typedefs, parsed.source_map, node)
            except FrontendError:
                continue
            if type_.dtype is not None and type_.dtype.is_integer:
                yield node, type_
