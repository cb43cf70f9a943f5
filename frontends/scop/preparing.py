"""Rewrite a region of C before it is translated: calls, exits, structs, and names for sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.declare.variables import typedefs_of
from polysched.frontends.scop.inline.choices import choices_of
from polysched.frontends.scop.inline.statement_calls import Expansion, inlinable
from polysched.frontends.scop.inline.value_calls import Inliner, formulas_of
from polysched.frontends.scop.rewrites.counting import with_countdowns
from polysched.frontends.scop.rewrites.derived import DerivedSizes, sizes_of
from polysched.frontends.scop.rewrites.entry_values import with_entry_values
from polysched.frontends.scop.rewrites.exits import without_exits
from polysched.frontends.scop.rewrites.flat_ranges import FlatRanges
from polysched.frontends.scop.rewrites.hoisted_pointers import with_hoisted_pointers
from polysched.frontends.scop.rewrites.live_out import with_values_after
from polysched.frontends.scop.rewrites.normalizing import normalized
from polysched.frontends.scop.rewrites.own_parameters import with_own_parameters
from polysched.frontends.scop.rewrites.pointed_sizes import with_pointed_sizes
from polysched.frontends.scop.rewrites.pointer_swaps import with_written_out_swaps
from polysched.frontends.scop.rewrites.pointer_tests import with_pointer_tests
from polysched.frontends.scop.rewrites.pointer_values import with_pointer_values
from polysched.frontends.scop.rewrites.region import Region
from polysched.frontends.scop.rewrites.row_lengths import RowLengths
from polysched.frontends.scop.rewrites.row_tables import with_row_tables
from polysched.frontends.scop.rewrites.settled import with_settled_integers
from polysched.frontends.scop.rewrites.static_variables import with_own_statics
from polysched.frontends.scop.rewrites.stepped_loops import with_counted_steps
from polysched.frontends.scop.rewrites.string_loops import with_string_lengths
from polysched.frontends.scop.rewrites.structs import without_structs
from polysched.frontends.scop.rewrites.walks import local_pointers
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.parse import ParsedSource
from polysched.frontends.scop.source.trees import LOOPS, names_in, walk
from polysched.frontends.scop.types.c_types import Typedefs, declared_type
from polysched.frontends.scop.types.layouts import Layouts
from polysched.ir.expr.dtypes import DType


def forms_of(parsed: ParsedSource, region: Region) -> tuple[Region, list[Region]]:
    """Return a region without calls and structs, and the forms to translate, the best first."""
    plain = _without_calls_and_structs(parsed, region)
    forms = _with_names_for_sizes(parsed, plain)
    if plain.members:
        joined = _without_calls_and_structs(parsed, region, joins=True)
        if joined.members != plain.members:
            forms = [*_with_names_for_sizes(parsed, joined), *forms]
    return plain, forms


def _without_calls_and_structs(
    parsed: ParsedSource, region: Region, *, joins: bool = False
) -> Region:
    """Inline calls, rewrite early exits and remove structs; `joins` as in `without_structs`."""
    typedefs = typedefs_of(parsed.tree, region.before)
    taken = {name for item in region.items for name in names_in(item)} | set(_local_names(region))
    region = with_pointed_sizes(parsed, region, typedefs, Names(frozenset(taken)))
    plain = _without_calls(parsed, region)
    plain = without_structs(parsed, plain, typedefs, joins=joins)
    taken = {name for item in plain.items for name in names_in(item)}
    taken |= set(_local_names(plain)) | set(plain.members) | set(plain.derived)
    pointers = [*parameters_of(plain)[1], *local_pointers(plain.before)]
    return with_pointer_tests(plain, pointers, Names(frozenset(taken)))


def _with_names_for_sizes(parsed: ParsedSource, region: Region) -> list[Region]:
    """Return the region as it stands, and with names for functions of sizes."""
    named = _with_derived_sizes(parsed, region)
    return [region] if named is region else [region, named]


def _with_derived_sizes(parsed: ParsedSource, region: Region) -> Region:
    """Name the functions of sizes that are not affine, or that are row lengths."""
    typedefs = typedefs_of(parsed.tree, region.before)
    numbers: dict[str, DType] = {}
    for name, type_ in {**parameters_of(region)[0], **numbers_before(region)}.items():
        with contextlib.suppress(FrontendError):
            dtype = declared_type(type_, typedefs, parsed.source_map, region.function.decl).dtype
            if dtype is not None:
                numbers[name] = dtype
    taken = {name for item in region.items for name in names_in(item)}
    taken |= set(_local_names(region)) | set(region.members) | set(region.derived)
    names = Names(frozenset(taken))
    integers = sizes_of(numbers, region.items)
    sizes = {name: dtype for name, dtype in integers.items() if dtype.is_signed}
    flat = with_counted_steps(region.items, sizes, names)
    rows = RowLengths(flat, integers, _element_bytes(parsed, region, typedefs))
    items = FlatRanges(rows, names).rewritten()
    derived = DerivedSizes(sizes, names, region.leaves_loops, not region.is_function)
    changed, exact = derived.items(items), None if items == flat else derived.items(flat)
    if not derived.found and items == region.items:
        return region
    found = {**region.derived, **derived.found}
    return replace(region, items=changed, derived=found, for_all_sizes=exact)


def _element_bytes(parsed: ParsedSource, region: Region, typedefs: Typedefs) -> dict[str, int]:
    """Return the sizes of the elements of arrays of one dimension, by name."""
    declared = {node.name: node for node in (*region.around, *region.nodes)
                if isinstance(node, c_ast.Decl)}  # fmt: skip
    declared |= {name: member.declaration for name, member in region.members.items()}
    found: dict[str, int] = {}
    for name, node in declared.items():
        with contextlib.suppress(FrontendError):
            type_ = declared_type(node.type, typedefs, parsed.source_map, node)
            if len(type_.dims) == 1 and type_.dtype is not None:
                found[name] = type_.dtype.bytes
    return found


def _leaves_loops(items: tuple[c_ast.Node, ...]) -> bool:
    """Whether a loop may be left before its condition fails."""
    leaving = c_ast.Break | c_ast.Return | c_ast.Goto
    return any(
        isinstance(inner, leaving)
        for item in items
        for node in walk(item)
        if isinstance(node, LOOPS)
        for inner in walk(node.stmt)
    )


def _without_calls(parsed: ParsedSource, region: Region) -> Region:
    """Inline the statements of the file's own functions, and rewrite early exits."""
    typedefs = typedefs_of(parsed.tree)
    if typedefs_of(parsed.tree, region.before) != typedefs:
        return region  # a local typedef may change the types that the functions name
    others = {
        *formulas_of(parsed.tree, typedefs, parsed.source_map),
        *choices_of(parsed.tree, typedefs, parsed.source_map),
    }
    visible = frozenset(_local_names(region))
    taken = {name for item in region.items for name in names_in(item)} | visible
    names = Names(
        frozenset(taken | {node.name for node in parsed.tree.ext if hasattr(node, "name")})
    )
    functions = inlinable(parsed.tree, others, visible)
    expansion = Expansion(functions, names, visible, parsed.source_map)
    own = with_own_statics(region.items) if region.is_function else region.items
    own = with_written_out_swaps(expansion.items(own), parameters_of(region)[1])
    items = with_pointer_values(own, names)
    region = replace(region, leaves_loops=_leaves_loops(items))
    if not region.is_function:
        return replace(region, items=items)
    result = region.function.decl.type.type
    numbers = parameters_of(region)[0]
    items = with_settled_integers(items, _integers(parsed, region, typedefs), names)
    items = with_own_parameters(with_countdowns(items, numbers), numbers, names)
    is_void = isinstance(result, c_ast.TypeDecl) and getattr(result.type, "names", 0) == ["void"]
    items, value = without_exits(normalized(items), None if is_void else result, names)
    if value is not None:
        items = (*items, c_ast.Return(c_ast.ID(value, items[-1].coord), items[-1].coord))
    return replace(region, items=items)


def _integers(parsed: ParsedSource, region: Region, typedefs: Typedefs) -> dict[str, c_ast.Node]:
    """Return the types of the integers among the parameters and outermost variables."""
    declared = [node for node in region.items if isinstance(node, c_ast.Decl)]
    types = {**parameters_of(region)[0], **{node.name: node.type for node in declared}}
    found: dict[str, c_ast.Node] = {}
    for name, type_ in types.items():
        if isinstance(type_, c_ast.TypeDecl):
            with contextlib.suppress(FrontendError):
                own = declared_type(type_, typedefs, parsed.source_map, region.function.decl)
                if own.dtype is not None and own.dtype.is_integer:
                    found[name] = type_
    return found


def _local_names(region: Region) -> Iterator[str]:
    """Yield the names that a function declares in a region, around it, or as parameters."""
    for item in (*region.parameters, *region.before, *region.items):
        for node in walk(item):
            if isinstance(node, c_ast.Decl) and node.name:
                yield node.name


def parameters_of(region: Region) -> tuple[dict[str, c_ast.Node], list[str]]:
    """Return the types of the parameters that are numbers, and the names of the pointers."""
    types = {node.name: node.type for node in region.parameters}
    types |= {name: member.declaration.type for name, member in region.members.items()}
    pointers = c_ast.PtrDecl | c_ast.ArrayDecl
    return (
        {name: type_ for name, type_ in types.items() if isinstance(type_, c_ast.TypeDecl)},
        [name for name, type_ in types.items() if isinstance(type_, pointers)],
    )


def numbers_before(region: Region) -> dict[str, c_ast.Node]:
    """Return the types of the local variables around a region that are no pointers or arrays."""
    return {
        node.name: node.type
        for node in region.before
        if isinstance(node, c_ast.Decl) and isinstance(node.type, c_ast.TypeDecl)
    }


def with_values_around(parsed: ParsedSource, region: Region) -> Region:
    """Compute values before a part of a function, and pass others on to the code after it."""
    typedefs = typedefs_of(parsed.tree, region.before)

    layouts = Layouts(parsed, typedefs)
    declared = {node.name: node for node in region.around}

    def element_type(array: c_ast.Node) -> DType | None:
        path: tuple[str, ...] = ()
        while isinstance(array, c_ast.StructRef):
            array, path = array.name, (array.field.name, *path)
        node = declared.get(array.name) if isinstance(array, c_ast.ID) else None
        if node is None:
            return None
        with contextlib.suppress(FrontendError):
            if path:
                type_ = layouts.member_type(node.type, path)
            else:
                type_ = declared_type(node.type, typedefs, parsed.source_map, node)
            return type_.dtype if type_ is not None and len(type_.dims) == 1 else None
        return None

    def has_bytes(type_: c_ast.Node) -> bool:
        inner = type_
        while isinstance(inner, c_ast.PtrDecl | c_ast.ArrayDecl):
            inner = inner.type
        try:
            struct = layouts.struct(inner)
            if struct is not None:
                types = [member.type for member in layouts.layout(struct, inner).members]
            else:
                types = [declared_type(inner, typedefs, parsed.source_map, region.function.decl)]
        except FrontendError:
            return True
        return any(type_.dtype is None or type_.dtype.bits <= 8 for type_ in types)

    taken = {name for item in region.items for name in names_in(item)}
    names = Names(frozenset(taken | set(_local_names(region))))
    changed = with_hoisted_pointers(region, layouts.struct, has_bytes, names)
    changed = with_entry_values(changed, element_type, names)
    if not changed.is_function:
        changed = with_string_lengths(changed, element_type, names)
    return with_values_after(changed, region)


def with_equal_rows(region: Region) -> Region:
    """Read the rows of arrays of pointers as rows of one array."""
    taken = {name for item in region.items for name in names_in(item)}
    taken |= set(_local_names(region)) | set(region.members) | set(region.derived)
    return with_row_tables(region, Names(frozenset(taken)))


def with_values_inlined(parsed: ParsedSource, region: Region) -> Region:
    """Replace the calls of the file's own functions by their values."""
    typedefs = typedefs_of(parsed.tree, region.before)
    if typedefs != typedefs_of(parsed.tree):
        return region  # a local typedef may change the types that the functions name
    choices = choices_of(parsed.tree, typedefs, parsed.source_map)
    formulas = formulas_of(parsed.tree, typedefs, parsed.source_map)
    inlined = Inliner(
        {name: formula for name, formula in formulas.items() if name not in choices},
        parsed.source_map,
    )
    return replace(region, items=tuple(map(inlined, region.items)))
