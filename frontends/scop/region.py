"""Select the statements that become the kernel: a scop region, or a whole function body."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from pycparser import c_ast

from polysched.errors import FrontendError, suggestion
from polysched.frontends.scop.parse import ParsedSource


@dataclass(frozen=True)
class Region:
    """Statements that become a kernel.

    Attributes:
        function: the enclosing function.
        before: local declarations visible in the region, outermost block first; empty if the region
            is the whole function.
        items: the statements.
        is_function: whether the region is the whole function body.
        node: the start of the region, for messages.
    """

    function: c_ast.FuncDef
    before: tuple[c_ast.Node, ...]
    items: tuple[c_ast.Node, ...]
    is_function: bool
    node: c_ast.Node

    @property
    def name(self) -> str:
        """The kernel's name."""
        name: str = self.function.decl.name
        return name


def find_region(
    parsed: ParsedSource,
    function: str | None,
    only_called: Callable[[ParsedSource], Collection[str]] = lambda _: (),
) -> Region:
    """Find the scop region of a file or function; without one, the whole function.

    Args:
        parsed: the file.
        function: the function's name, or None.
        only_called: returns the helper functions, which are passed over if exactly one other
            function is left.

    Raises:
        FrontendError: the function does not exist, or there are several candidates.
    """
    functions: dict[str, c_ast.FuncDef] = {}
    for node in parsed.tree.ext:
        if isinstance(node, c_ast.FuncDef):
            if node.decl.name in functions:
                raise parsed.source_map.error(node.decl, f"'{node.decl.name}' is defined twice")
            if node.param_decls:
                raise parsed.source_map.error(
                    node.decl,
                    f"'{node.decl.name}' declares its parameters after the parentheses; expected "
                    "their types inside",
                )
            functions[node.decl.name] = node
    path = parsed.source.path
    if function is not None and function not in functions:
        raise FrontendError(
            f"{path} defines no function '{function}'{suggestion(function, functions)}"
        )
    if not functions:
        raise FrontendError(f"{path} defines no function; expected one with loops in it")
    chosen: Mapping[str, c_ast.FuncDef] = (
        functions if function is None else {function: functions[function]}
    )
    regions = [region for node in chosen.values() for region in _regions(parsed, node)]
    if len(regions) == 1:
        return regions[0]
    if regions:
        names = sorted({region.name for region in regions})
        if len(names) == 1:
            raise parsed.source_map.error(
                regions[1].node,
                f"function '{names[0]}' has {len(regions)} regions; expected one: make each a "
                "function of its own",
            )
        raise FrontendError(
            f"which region of {path}? Name its function: {', '.join(map(repr, names))}"
        )
    if len(chosen) > 1:
        called = only_called(parsed)
        others = {name: node for name, node in chosen.items() if name not in called}
        chosen = others if len(others) == 1 else chosen
    if len(chosen) > 1:
        raise FrontendError(
            f"which function of {path}? Name one of {', '.join(map(repr, chosen))}, or put one "
            "region between '#pragma scop' and '#pragma endscop'"
        )
    (node,) = chosen.values()
    return Region(node, (), tuple(node.body.block_items or ()), True, node.decl)


def _regions(parsed: ParsedSource, function: c_ast.FuncDef) -> Iterator[Region]:
    yield from _regions_in(parsed, function, function.body, ())


def _regions_in(
    parsed: ParsedSource,
    function: c_ast.FuncDef,
    node: c_ast.Node,
    before: tuple[c_ast.Node, ...],
) -> Iterator[Region]:
    """Find the regions in a node; `before` are the declarations in the enclosing blocks."""
    if not isinstance(node, c_ast.Compound):
        for _, child in node.children():
            yield from _regions_in(parsed, function, child, before)
        return
    opened: int | None = None
    items = list(node.block_items or ())
    for position, item in enumerate(items):
        kind = item.string.split()[:1] if isinstance(item, c_ast.Pragma) else []
        if kind == ["scop"]:
            opened = position
        elif kind == ["endscop"]:
            if opened is None:
                raise parsed.source_map.error(
                    item,
                    "this ends a region of another block; expected both pragmas in the same block",
                )
            inside = tuple(items[opened + 1 : position])
            yield Region(function, before, inside, False, items[opened])
            opened = None
        elif opened is None:
            if isinstance(item, c_ast.Decl | c_ast.Typedef):
                before = (*before, item)
            yield from _regions_in(parsed, function, item, before)
    if opened is not None:
        raise parsed.source_map.error(
            items[opened], "this region does not end in its block; expected '#pragma endscop' there"
        )
