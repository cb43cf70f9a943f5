"""Arrays of pointers to rows, as one array whose rows lie at equal distances.

::

    for (y = 0; y < h; y++)                     for (y = 0; y < h; y++)
        for (x = 0; x < w; x++)                     for (x = 0; x < w; x++)
            out[y][x] = 0;                              out_rows[y * out_step + x] = 0;

The code before the call reads the pointers and checks the distances; the program as written runs if
they differ. Arrays of pointers that the region changes, or uses in another way, stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pycparser import c_ast

from polysched.frontends.scop.rewrites.loop_ranges import as_long
from polysched.frontends.scop.rewrites.region import Region
from polysched.frontends.scop.rewrites.size_values import RowStep
from polysched.frontends.scop.rewrites.usage import changed_by
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.trees import StandIn, mapped, names_in, walk


def with_row_tables(region: Region, names: Names) -> Region:
    """Replace the elements of the rows of arrays of pointers by elements of arrays of numbers."""
    for node in region.around:
        element = _element_type(node)
        if element is None or not _is_only_read(node.name, region.items):
            continue
        rows, step = names.fresh(f"{node.name}_rows"), names.fresh(f"{node.name}_step")
        renamed = c_ast.TypeDecl(rows, element.quals, None, element.type, node.coord)
        pointer = c_ast.PtrDecl([], renamed, node.coord)
        declared = c_ast.Decl(rows, [], [], [], [], pointer, None, None, node.coord)
        in_rows = _Rows(node.name, rows, step)
        region = replace(
            region,
            items=tuple(map(in_rows, region.items)),
            before=(*region.before, declared),
            derived={**region.derived, step: RowStep(c_ast.ID(node.name, node.coord), rows)},
        )
    return region


@dataclass(frozen=True)
class _Rows:
    """Replacement of ``A[i]`` by ``A_rows + i * A_step``."""

    table: str
    rows: str
    step: str

    def __call__(self, node: c_ast.Node) -> c_ast.Node:
        match node:
            case c_ast.ArrayRef(name=row, subscript=column) if _is_row(row, self.table):
                place = c_ast.BinaryOp("+", self.distance(row), self(column), node.coord)
                return c_ast.ArrayRef(StandIn(self.rows, row), place, node.coord)
            case c_ast.ArrayRef() if _is_row(node, self.table):
                rows = StandIn(self.rows, node)
                return c_ast.BinaryOp("+", rows, self.distance(node), node.coord)
        return mapped(node, self)

    def distance(self, row: c_ast.ArrayRef) -> c_ast.Node:
        number = as_long(self(row.subscript))
        return c_ast.BinaryOp("*", number, StandIn(self.step, row), row.coord)


def _is_row(node: c_ast.Node, name: str) -> bool:
    return isinstance(node, c_ast.ArrayRef) and (
        isinstance(node.name, c_ast.ID) and bool(node.name.name == name)
    )


def _element_type(node: c_ast.Decl) -> c_ast.TypeDecl | None:
    """Return the type of the numbers that a pointer to pointers leads to; None for others."""
    outer = node.type
    inner = outer.type if isinstance(outer, c_ast.PtrDecl | c_ast.ArrayDecl) else None
    pointed = inner.type if isinstance(inner, c_ast.PtrDecl) else None
    return pointed if isinstance(pointed, c_ast.TypeDecl) else None


def _is_only_read(name: str, items: Sequence[c_ast.Node]) -> bool:
    """Whether all uses of an array of pointers are reads of its pointers, and there is one."""
    nodes = [node for item in items for node in walk(item)]
    rows = [node for node in nodes if _is_row(node, name)]
    changed = [changed_by(node) for node in nodes]
    changed += [node.expr for node in nodes if isinstance(node, c_ast.UnaryOp) and node.op == "&"]
    is_declared = any(isinstance(node, c_ast.Decl) and node.name == name for node in nodes)
    uses = sum(names_in(item).count(name) for item in items)
    is_kept = not any(row is target for row in rows for target in changed)
    return bool(rows) and len(rows) == uses and is_kept and not is_declared
