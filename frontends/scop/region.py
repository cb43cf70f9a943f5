"""Which statements of a file become the kernel: a region between pragmas, or a whole function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from pycparser import c_ast

from polysched.errors import FrontendError, suggestion
from polysched.frontends.scop.parse import ParsedSource


@dataclass(frozen=True)
class Region:
    """The statements of a kernel.

    Attributes:
        function: the function that they stand in.
        before: the declarations of the blocks around, the outermost first: empty for a function.
        items: the statements.
        is_function: whether they are all that the function does.
        node: where the region begins, for messages.
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
    """The region that a file holds, or that the named function holds or is.

    Args:
        parsed: the file.
        function: the name, if one is given.
        only_called: finds functions that are not meant where there is one other.

    Raises:
        FrontendError: there is no such function, or the choice is not clear.
    """
    functions: dict[str, c_ast.FuncDef] = {}
    for node in parsed.tree.ext:
        if isinstance(node, c_ast.FuncDef):
            if node.decl.name in functions:
                raise parsed.places.error(node.decl, f"'{node.decl.name}' is defined twice")
            if node.param_decls:
                raise parsed.places.error(
                    node.decl,
                    f"'{node.decl.name}' declares its parameters behind the parentheses; expected "
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
            raise parsed.places.error(
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
    """The regions in a node; `before` are the declarations in the blocks around it."""
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
                raise parsed.places.error(
                    item, "this ends a region of another block; expected both pragmas in one block"
                )
            inside = tuple(items[opened + 1 : position])
            yield Region(function, before, inside, False, items[opened])
            opened = None
        elif opened is None:
            if isinstance(item, c_ast.Decl | c_ast.Typedef):
                before = (*before, item)
            yield from _regions_in(parsed, function, item, before)
    if opened is not None:
        raise parsed.places.error(
            items[opened], "this region does not end in its block; expected '#pragma endscop' there"
        )
