"""Values that the code around a region computes before it calls the generated function.

::

    for (k = row[i]; k < row[i + 1]; k++) s += v[k];    const long row_i = row[i], row_i_1 = ...;
                                                        for (k = row_i; k < row_i_1; k++) ...

    while (p < end) s += *p++;                          const long p_to_end = end - p;
                                                        const T *end_own = p + p_to_end;
                                                        while (p < end_own) s += *p++;

C evaluates the first value and the first comparison of a loop whenever control reaches the loop. An
element in them may be read before the region if the region stores only to variables of its function
whose address nobody has, and to elements of types that may not alias the element (C11 6.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from pycparser import c_ast

from polysched.frontends.scop.rewrites.region import Region
from polysched.frontends.scop.rewrites.size_values import EntryValue, c_text
from polysched.frontends.scop.rewrites.usage import FILLS, base_name, changed_by
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import StandIn, mapped, names_in, substituted, walk
from polysched.frontends.scop.types.c_types import may_alias
from polysched.ir.expr.dtypes import DType, i64

ElementType = Callable[[c_ast.Node], DType | None]
"""Returns the element type of an array of numbers: a variable, or a member; None for others."""


def with_entry_values(region: Region, element_type: ElementType, names: Names) -> Region:
    """Compute elements in bounds, and distances of pointers, before a part of a function."""
    if region.is_function:
        return region
    return _with_ends(_with_elements(region, element_type, names), names)


def _with_elements(region: Region, element_type: ElementType, names: Names) -> Region:
    changed = set(_changed(region))
    found: dict[str, str] = {}
    values: dict[str, EntryValue] = {}

    def named(node: c_ast.Node) -> c_ast.Node:
        if not isinstance(node, c_ast.ArrayRef):
            return mapped(node, named)
        dtype = element_type(node.name)
        used = names_in(node)
        is_plain = not any(isinstance(n, c_ast.FuncCall) or changed_by(n) for n in walk(node))
        if dtype is None or not dtype.is_integer or not is_plain or set(used) & changed:
            return node
        if not _keeps_elements(region, dtype, element_type):
            return node
        text = c_text(node)
        if text not in found:
            found[text] = names.fresh("_".join(used)[:40])
            values[found[text]] = EntryValue(node, dtype)
        return StandIn(found[text], node)

    def with_bounds(item: c_ast.Node) -> c_ast.Node:
        if not isinstance(item, c_ast.For) or not isinstance(item.cond, c_ast.BinaryOp):
            return item
        cond = item.cond if item.cond.op in ("&&", "||") else named(item.cond)
        return c_ast.For(item.init and named(item.init), cond, item.next, item.stmt, item.coord)

    items = tuple(map(with_bounds, region.items))
    return replace(region, items=items, derived={**region.derived, **values})


def _with_ends(region: Region, names: Names) -> Region:
    """Express the ends of walks, which are pointers too, by their distances from the start."""
    pointers = dict(_pointers_around(region))
    changed = set(_changed(region))
    for start, end in dict.fromkeys(_compared(region)):
        if start not in changed or end in changed or not {start, end} <= set(pointers):
            continue
        coord = region.items[0].coord
        own, distance = names.fresh(f"{end}_own"), names.fresh(f"{start}_to_{end}")
        difference = c_ast.BinaryOp("-", c_ast.ID(end, coord), c_ast.ID(start, coord), coord)
        type_ = pointers[start]
        renamed = c_ast.TypeDecl(own, type_.type.quals, None, type_.type.type, coord)
        place = c_ast.BinaryOp("+", c_ast.ID(start, coord), c_ast.ID(distance, coord), coord)
        pointer = c_ast.PtrDecl([], renamed, coord)
        copy = c_ast.Decl(own, [], [], [], [], pointer, place, None, coord)
        items = [substituted(item, {end: c_ast.ID(own, coord)}) for item in region.items]
        derived = {**region.derived, distance: EntryValue(difference, i64)}
        region = replace(region, items=(copy, *items), derived=derived)
    return region


def _compared(region: Region) -> Iterator[tuple[str, str]]:
    """Yield the variables that the conditions of the outermost loops compare, in both orders."""
    for item in region.items:
        cond = item.cond if isinstance(item, c_ast.For | c_ast.While) else None
        if isinstance(cond, c_ast.BinaryOp):
            for left, right in ((cond.left, cond.right), (cond.right, cond.left)):
                if isinstance(left, c_ast.ID):
                    yield from ((left.name, name) for name in names_in(right))


def _pointers_around(region: Region) -> Iterator[tuple[str, c_ast.PtrDecl]]:
    for node in region.around:
        if isinstance(node.type, c_ast.PtrDecl) and isinstance(node.type.type, c_ast.TypeDecl):
            yield node.name, node.type


def _changed(region: Region) -> Iterator[str]:
    """Yield the names that a region changes or declares."""
    for node in region.nodes:
        target = changed_by(node)
        if target is not None:
            yield base_name(target)
        elif isinstance(node, c_ast.Decl) and node.name:
            yield node.name


def _keeps_elements(region: Region, dtype: DType, element_type: ElementType) -> bool:
    """Whether no store of a region may change an element of a type in memory."""
    body = region.function.body
    addressed = {
        base_name(node.expr)
        for node in walk(body)
        if isinstance(node, c_ast.UnaryOp) and node.op == "&"
    }
    own = {node.name for node in (*region.around, *region.declared)}
    for item in region.items:
        for node in walk(item):
            target = changed_by(node)
            is_fill = isinstance(node, c_ast.FuncCall) and base_name(node.name) in FILLS
            if is_fill:
                return False
            if target is not None and not isinstance(target, c_ast.ID):
                is_element = isinstance(target, c_ast.ArrayRef | c_ast.UnaryOp)
                stored = element_type(_array_of(target)) if is_element else None
                if stored is None or may_alias(stored, dtype):
                    return False
            if isinstance(target, c_ast.ID) and (
                target.name not in own or target.name in addressed
            ):
                return False
    return True


def _array_of(target: c_ast.ArrayRef | c_ast.UnaryOp) -> c_ast.Node:
    """Return the array or pointer in ``x[i][j]``, ``*p`` or ``s->x[i]``."""
    inner = target.name if isinstance(target, c_ast.ArrayRef) else target.expr
    is_element = isinstance(inner, c_ast.ArrayRef | c_ast.UnaryOp)
    return _array_of(inner) if is_element else inner
