"""Find the regions of a function that has no translation as a whole.

::

    if (x == NULL) return -1;            stays
    for (i = 0; i < n; i++) s += x[i];   a region, with the statements up to the next loop
    for (i = 0; i < n; i++) x[i] /= s;
    log_sum(s);                          stays

A region is a run of statements of one block that begins and ends with a loop, or with an ``if``
that contains one. Neighboring loops become one region if they have a translation together; a loop
that has none is searched for regions inside.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.rewrites.region import Region
from polysched.frontends.scop.source.trees import LOOPS, names_in, walk

FEWEST_ITERATIONS = 64
"""Least literal number of iterations for which a call pays: below, the loop is left to C."""

_Items: TypeAlias = tuple[c_ast.Node, ...]
_LEAVING = (c_ast.Return, c_ast.Goto, c_ast.Label, c_ast.Case, c_ast.Default)
_OMP = re.compile(r"omp\b")
_OMP_LOOP = re.compile(r"omp\s+(parallel\s+)?for\b(?!.*\b(simd|collapse|ordered)\b)")

_Found = TypeVar("_Found")


def found_regions(
    function: c_ast.FuncDef, translate: Callable[[Region], _Found]
) -> Iterator[_Found]:
    """Yield the translations of the regions of a function, in the order of the text.

    A loop that OpenMP shares among threads is no region, but its iterations may contain regions.
    Functions with other OpenMP directives have no regions: several threads would run each of them.

    Args:
        translate: translates a region, or raises `FrontendError`.
    """

    def attempt(region: Region) -> _Found | None:
        if not (_is_closed(region) and _is_long(region)):
            return None
        with contextlib.suppress(FrontendError):
            return translate(region)
        return None

    directives = [node.string for node in walk(function.body) if _is_directive(node)]
    if all(map(_OMP_LOOP.match, directives)):
        yield from _regions_below(function, function.body, (), attempt)


def _regions_below(
    function: c_ast.FuncDef,
    node: c_ast.Node,
    before: _Items,
    attempt: Callable[[Region], _Found | None],
) -> Iterator[_Found]:
    match node:
        case c_ast.Compound(block_items=items):
            yield from _regions_in(function, items or (), before, attempt)
        case c_ast.Case(stmts=items) | c_ast.Default(stmts=items):
            yield from _regions_in(function, items or (), before, attempt)
        case c_ast.For(init=c_ast.DeclList(decls=declared), stmt=body):
            yield from _regions_in(function, (body,), (*before, *declared), attempt)
        case c_ast.For(stmt=body) | c_ast.While(stmt=body) | c_ast.DoWhile(stmt=body):
            yield from _regions_in(function, (body,), before, attempt)
        case c_ast.If() | c_ast.Switch() | c_ast.Label():
            for _, child in node.children():
                yield from _regions_in(function, (child,), before, attempt)


def _regions_in(
    function: c_ast.FuncDef,
    items: Sequence[c_ast.Node],
    before: _Items,
    attempt: Callable[[Region], _Found | None],
) -> Iterator[_Found]:
    """Yield the regions among the statements of a block; `before` is declared around it."""
    last: tuple[Region, _Found] | None = None
    for position, item in enumerate(items):
        if isinstance(item, c_ast.Decl | c_ast.Typedef):
            before = (*before, item)
        if not any(isinstance(node, LOOPS) for node in walk(item)):
            continue
        start = position
        while start and isinstance(items[start - 1], c_ast.Pragma):
            start -= 1
        run = tuple(items[start : position + 1])
        region = Region(function, before, run, False, run[0], item)
        is_statement = isinstance(item, (*LOOPS, c_ast.If))
        found = attempt(region) if is_statement else None
        if found is not None and last is not None:
            begin = items.index(last[0].items[0])
            run = tuple(items[begin : position + 1])
            joined = replace(region, before=last[0].before, items=run, node=run[0])
            together = attempt(joined)
            if together is not None:
                last = joined, together
                continue
        if last is not None:
            yield last[1]
        last = None if found is None else (region, found)
        if found is None:
            yield from _regions_below(function, item, before, attempt)
    if last is not None:
        yield last[1]


def _is_closed(region: Region) -> bool:
    """Whether control enters a region at its start and leaves it at its end."""
    nodes = [node for item in region.items for node in walk(item)]
    if any(isinstance(node, _LEAVING) or _is_directive(node) for node in nodes):
        return False
    return not any(_leaves(item) for item in region.items)


def _is_directive(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Pragma) and bool(_OMP.match(node.string))


def _leaves(node: c_ast.Node) -> bool:
    """Whether a statement contains a ``break`` or ``continue`` of a loop around it."""
    if isinstance(node, c_ast.Break | c_ast.Continue):
        return True
    return not isinstance(node, LOOPS) and any(_leaves(child) for _, child in node.children())


def _is_long(region: Region) -> bool:
    """Whether a loop of a region may run long enough for a call to pay."""
    return max(map(_iterations, region.items)) >= FEWEST_ITERATIONS


def _iterations(node: c_ast.Node) -> int:
    """Return a bound on the iterations of a nest that counts between literals."""
    inside = max((_iterations(child) for _, child in node.children()), default=0)
    return _longest(node) * max(inside, 1) if isinstance(node, LOOPS) else inside


def _longest(loop: c_ast.Node) -> int:
    """Return a bound on the iterations of a loop that counts between literals."""
    parts = [loop.cond, loop.init] if isinstance(loop, c_ast.For) else [None]
    nodes = [node for part in parts if part is not None for node in walk(part)]
    literals = [node.value for node in nodes if isinstance(node, c_ast.Constant)]
    names = {name for part in parts if part is not None for name in names_in(part)}
    is_literal = None not in parts and len(names) == 1
    if not is_literal or not all(text.isdigit() for text in literals):
        return FEWEST_ITERATIONS
    return max(map(int, literals), default=FEWEST_ITERATIONS)
