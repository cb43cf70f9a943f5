"""Select the statements that become the kernel: a scop region, or a whole function body."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from pycparser import c_ast

from polysched.errors import FrontendError, suggestion
from polysched.frontends.scop.rewrites.size_values import SizeValue
from polysched.frontends.scop.rewrites.usage import usage_of
from polysched.frontends.scop.source.parse import ParsedSource
from polysched.frontends.scop.source.trees import walk
from polysched.frontends.scop.types.struct_places import MemberVariable


@dataclass(frozen=True)
class LiveOut:
    """Variable in which a region leaves a value for a variable of its function.

    Attributes:
        name: the new variable, which the code around the call declares.
        target: the variable of the function.
        operator: ``=`` or ``+=``: how the target is updated after the region.
    """

    name: str
    type: c_ast.Node
    target: str
    operator: str


@dataclass(frozen=True)
class Region:
    """Statements that become a kernel.

    Attributes:
        before: local declarations visible in the region, outermost block first; empty if the region
            is the whole function.
        is_function: whether the region is the whole function body.
        node: the start of the region, for messages.
        end: the pragma that ends the region, or the last statement of a region without pragmas;
            None for a whole function.
        members: the variables that stand for members of structs outside the region, by name.
        derived: the sizes that are computed from others at the entry, by name.
        results: the variables that hold the final values of counters and pointers.
        ended: the variables of the function whose values after the region nothing reads.
        hoisted: the declarations in C of the pointers that are read before the region.
        leaves_loops: whether a loop may be left before its condition fails.
        for_all_sizes: the statements in a form that is exact for sizes that `items` exclude; None
            if there is no other form.
    """

    function: c_ast.FuncDef
    before: tuple[c_ast.Node, ...]
    items: tuple[c_ast.Node, ...]
    is_function: bool
    node: c_ast.Node
    end: c_ast.Node | None = None
    members: Mapping[str, MemberVariable] = field(default_factory=dict)
    derived: Mapping[str, SizeValue] = field(default_factory=dict)
    results: tuple[LiveOut, ...] = ()
    ended: frozenset[str] = frozenset()
    hoisted: tuple[str, ...] = ()
    leaves_loops: bool = True
    for_all_sizes: tuple[c_ast.Node, ...] | None = None

    @property
    def is_marked(self) -> bool:
        """Whether the region stands between pragmas."""
        return isinstance(self.end, c_ast.Pragma)

    @property
    def name(self) -> str:
        """The kernel's name."""
        name: str = self.function.decl.name
        return name

    @property
    def parameters(self) -> list[c_ast.Decl]:
        """The declarations of the function's parameters."""
        arguments = self.function.decl.type.args
        nodes = [] if arguments is None else arguments.params
        return [node for node in nodes if isinstance(node, c_ast.Decl)]

    @property
    def around(self) -> list[c_ast.Decl]:
        """The declarations of the parameters and of the local variables around the region."""
        return [
            *self.parameters,
            *(statement for statement in self.before if isinstance(statement, c_ast.Decl)),
        ]

    @property
    def nodes(self) -> list[c_ast.Node]:
        """The nodes of all statements, in preorder."""
        return [node for item in self.items for node in walk(item)]

    @property
    def declared(self) -> list[c_ast.Decl]:
        """The declarations inside the statements."""
        return [node for node in self.nodes if isinstance(node, c_ast.Decl) and node.name]


def functions_of(parsed: ParsedSource) -> Mapping[str, c_ast.FuncDef]:
    """Return the functions that a file defines, by name.

    Raises:
        FrontendError: a function is defined twice, or in the style of before C90.
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
    return functions


def find_region(
    parsed: ParsedSource,
    function: str | None,
    only_called: Callable[[ParsedSource], Collection[str]] = lambda _: (),
) -> Region:
    """Find the scop region of a file or function; without one, the whole function.

    Args:
        only_called: returns the helper functions, which are passed over if exactly one other
            function is left.

    Raises:
        FrontendError: the function does not exist, or there are several candidates.
    """
    functions = functions_of(parsed)
    path = parsed.source.path
    if function is not None and function not in functions:
        known = {*functions, *parsed.skipped}
        raise FrontendError(f"{path} defines no function '{function}'{suggestion(function, known)}")
    if not functions:
        raise FrontendError(f"{path} defines no function; expected one with loops in it")
    chosen: Mapping[str, c_ast.FuncDef] = (
        functions if function is None else {function: functions[function]}
    )
    regions = [region for node in chosen.values() for region in regions_of(parsed, node)]
    if len(regions) == 1:
        return as_function(regions[0])
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
            f"which function of {path}? Name one of {', '.join(map(repr, chosen))}, as in "
            f"{path}:{next(iter(chosen))}, or put one region between '#pragma scop' and '#pragma "
            "endscop'; 'polysched rewrite' takes all functions of a file"
        )
    (node,) = chosen.values()
    return whole_function(node)


def whole_function(node: c_ast.FuncDef) -> Region:
    """Return the region of all statements of a function."""
    return Region(node, (), tuple(node.body.block_items or ()), True, node.decl)


def as_function(region: Region) -> Region:
    """Extend a region to its function if the function only declares variables beside it.

    A final ``return`` is included too. Any other region is returned unchanged.
    """
    before, inside, after = _split(region)
    if inside is None or not _is_complete(before, inside, after):
        return region
    after = tuple(item for item in after if not _is_empty_return(item))
    return Region(region.function, (), (*before, *inside, *after), True, region.node)


_Items = tuple[c_ast.Node, ...]


def _split(region: Region) -> tuple[_Items, _Items | None, _Items]:
    """Split a function body at its region; None if the region is nested in another block."""
    items = tuple(region.function.body.block_items or ())
    if region.node not in items:
        return items, None, ()
    start = items.index(region.node) + 1
    end = start + len(region.items)
    before = tuple(item for item in items[: start - 1] if not isinstance(item, c_ast.Pragma))
    return before, items[start:end], items[end + 1 :]


def _is_empty_return(item: c_ast.Node) -> bool:
    return isinstance(item, c_ast.Return) and item.expr is None


def _is_complete(before: _Items, inside: _Items, after: _Items) -> bool:
    """Whether a region with declarations around it does all the work of its function."""
    if not all(isinstance(item, c_ast.Decl) for item in before):
        return False
    returns = [item for item in after if isinstance(item, c_ast.Return)]
    if after and (len(after) > len(returns) or len(returns) > 1):
        return False
    local = {item.name for item in before if isinstance(item, c_ast.Decl)}
    writes_outside = bool(usage_of(inside).assigned - local)
    return writes_outside or any(item.expr is not None for item in returns)


def regions_of(parsed: ParsedSource, function: c_ast.FuncDef) -> Iterator[Region]:
    """Yield the regions between pragmas in a function."""
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
            yield Region(function, before, inside, False, items[opened], item)
            opened = None
        elif opened is None:
            if isinstance(item, c_ast.Decl | c_ast.Typedef):
                before = (*before, item)
            yield from _regions_in(parsed, function, item, before)
    if opened is not None:
        raise parsed.source_map.error(
            items[opened], "this region does not end in its block; expected '#pragma endscop' there"
        )
