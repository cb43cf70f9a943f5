"""Translate a region to a kernel; the stages are called in order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType

from pycparser import c_ast

from polysched.errors import FrontendError, KernelError
from polysched.frontends.scop.assumptions import Assumption, inferred_assumptions
from polysched.frontends.scop.choices import choices_of
from polysched.frontends.scop.counting import with_countdowns
from polysched.frontends.scop.declarations import declare_outside, no_extent, undeclared_extents
from polysched.frontends.scop.derived import DerivedSizes, sizes_of
from polysched.frontends.scop.enumerators import bind_enumerators
from polysched.frontends.scop.exits import without_exits
from polysched.frontends.scop.expansion import Expansion, inlinable
from polysched.frontends.scop.extents import Shapes, inferred_shapes
from polysched.frontends.scop.inlining import Inliner, formulas_of
from polysched.frontends.scop.integer_uses import integer_uses
from polysched.frontends.scop.names import Names
from polysched.frontends.scop.normalizing import normalized
from polysched.frontends.scop.parse import ParsedSource
from polysched.frontends.scop.pointer_loops import with_counted_pointers
from polysched.frontends.scop.pragmas import pragmas_of
from polysched.frontends.scop.region import Region
from polysched.frontends.scop.roles import with_outputs
from polysched.frontends.scop.scope import ArrayBinding, Scope
from polysched.frontends.scop.statements import Statements
from polysched.frontends.scop.structs import without_structs
from polysched.frontends.scop.trees import SafeSubscript, names_in, walk
from polysched.frontends.scop.types import declared_type
from polysched.frontends.scop.usage import Usage, usage_of
from polysched.frontends.scop.variables import (
    Outside,
    Variable,
    is_table,
    own_functions,
    typedefs_of,
    variables_of,
)
from polysched.frontends.scop.walks import local_pointers, moves_in, without_walks
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, i64, u64
from polysched.ir.expr.source import SourceLocation

_RETURN = "return"
"""Name that the storing statement gives the result: a keyword, so no variable can have it."""


@dataclass(frozen=True)
class Settings:
    """What a translation relies on.

    Attributes:
        infers_sizes: whether sizes are excluded for which an access lies outside its array.
        may_overlap: whether arrays without ``restrict`` may overlap each other.
    """

    infers_sizes: bool = True
    may_overlap: bool = False


@dataclass(frozen=True)
class Translation:
    """Kernel of a region, with the C variables that it uses.

    Attributes:
        kernel: the computation.
        outside: the variables declared outside the region that it uses.
        variables: all variables visible in the region, by name.
        assigned: the names that the region assigns to.
        result: the array that holds the return value; None if the function returns none.
        assumptions: the inferred conditions on the sizes.
        shapes: the inferred shapes of arrays.
        limited: the 64-bit sizes that are computed with, and not only stored.
        form: the region as it was translated, after all rewriting before pointers are.
        keeps_bounds: whether the assumptions keep every access inside its array.
    """

    kernel: Kernel
    outside: Outside
    variables: Mapping[str, Variable]
    usage: Usage
    result: str | None
    assumptions: tuple[Assumption, ...]
    shapes: Shapes
    limited: tuple[Variable, ...]
    form: Region
    keeps_bounds: bool

    @property
    def is_exact(self) -> bool:
        """Whether all accesses lie inside their arrays for all sizes."""
        return self.keeps_bounds and not self.assumptions


def translated(parsed: ParsedSource, region: Region, settings: Settings) -> Translation:
    """Translate a region.

    Raises:
        FrontendError: the region has no translation to a kernel.
    """
    found: list[Translation] = []
    # If loops that are left early read arrays of unknown extent, a second attempt makes the reads
    # safe. It is second because it replaces loads of neighbors by gathers.
    for reads_again in (False, True):
        plain = _without_structs(parsed, region, reads_again=reads_again)
        nodes = (node for item in plain.items for node in walk(item))
        if reads_again and not any(isinstance(node, SafeSubscript) for node in nodes):
            break
        for candidate in _with_names_for_sizes(parsed, plain):
            with contextlib.suppress(FrontendError):
                translation = _without_walks(parsed, candidate, settings)
                if translation.is_exact:
                    return translation
                found.append(translation)
        if found:
            return min(found, key=lambda one: (not one.keeps_bounds, len(one.assumptions)))
    # The messages of the region as it stands say what the file has.
    return _without_walks(parsed, _without_structs(parsed, region, reads_again=False), settings)


def _without_structs(parsed: ParsedSource, region: Region, *, reads_again: bool) -> Region:
    """Inline calls, rewrite early exits and remove structs."""
    plain = _without_calls(parsed, region, reads_again=reads_again)
    return without_structs(parsed, plain, typedefs_of(parsed.tree, region.before))


def _with_names_for_sizes(parsed: ParsedSource, region: Region) -> list[Region]:
    """Return the region as it stands, and with names for functions of sizes."""
    named = _with_derived_sizes(parsed, region)
    return [region, named] if named.derived else [region]


def translated_form(parsed: ParsedSource, form: Region, settings: Settings) -> Translation:
    """Translate the form of a region that another translation found."""
    return _without_walks(parsed, form, settings)


def _without_walks(parsed: ParsedSource, region: Region, settings: Settings) -> Translation:
    """Translate a region after rewriting the pointers that walk through arrays."""
    numbers, pointers = _parameters(region)
    items = normalized(with_countdowns(region.items, numbers if region.is_function else {}))
    items = with_counted_pointers(items, pointers)
    walked = without_walks(items, pointers)
    try:
        found = _translated(parsed, replace(region, items=walked), settings)
        return replace(found, form=region)
    except FrontendError as error:
        moves = moves_in(items, {*pointers, *local_pointers(items)})
        lines = {parsed.source_map.location(move).line for move in moves}
        if not isinstance(error.location, SourceLocation) or error.location.line not in lines:
            raise
    found = _translated(parsed, replace(region, items=items), settings)  # says what the file has
    return replace(found, form=region)


def _translated(parsed: ParsedSource, region: Region, settings: Settings) -> Translation:
    region = _inlined(parsed, region)
    with _reported(parsed, region):
        draft = _Translator(parsed, region, settings)
        if not draft.undeclared:
            return draft.translation()
        shapes = inferred_shapes(draft.scope)
        for name in sorted(draft.undeclared - set(shapes)):
            raise no_extent(draft.scope, draft.variables[name].node, name)
        return _Translator(parsed, region, settings, shapes).translation()


def _with_derived_sizes(parsed: ParsedSource, region: Region) -> Region:
    """Name the functions of sizes that are not affine, or that are row lengths."""
    typedefs = typedefs_of(parsed.tree, region.before)
    numbers: dict[str, DType] = {}
    for name, type_ in _parameters(region)[0].items():
        with contextlib.suppress(FrontendError):
            dtype = declared_type(type_, typedefs, parsed.source_map, region.function.decl).dtype
            if dtype is not None:
                numbers[name] = dtype
    taken = {name for item in region.items for name in names_in(item)}
    taken |= set(_local_names(region)) | set(region.members)
    derived = DerivedSizes(
        sizes_of(numbers, region.items), Names(frozenset(taken)), _may_leave_loops(region)
    )
    items = derived.items(region.items)
    return replace(region, items=items, derived=derived.found)


def _may_leave_loops(region: Region) -> bool:
    """Whether a loop of the function may be left before its end."""
    loops = c_ast.For | c_ast.While | c_ast.DoWhile
    leaving = c_ast.Break | c_ast.Return | c_ast.Goto
    return any(
        isinstance(inner, leaving)
        for node in walk(region.function.body)
        if isinstance(node, loops)
        for inner in walk(node.stmt)
    )


def _without_calls(parsed: ParsedSource, region: Region, *, reads_again: bool) -> Region:
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
    items = expansion.items(region.items)
    if not region.is_function:
        return replace(region, items=items)
    result = region.function.decl.type.type
    is_void = isinstance(result, c_ast.TypeDecl) and getattr(result.type, "names", 0) == ["void"]
    items, value = without_exits(
        normalized(items), None if is_void else result, names, reads_again=reads_again
    )
    if value is not None:
        items = (*items, c_ast.Return(c_ast.ID(value, items[-1].coord), items[-1].coord))
    return replace(region, items=items)


def _local_names(region: Region) -> Iterator[str]:
    """Yield the names that a function declares in a region, around it, or as parameters."""
    arguments = region.function.decl.type.args
    parameters = () if arguments is None else arguments.params
    for item in (*parameters, *region.before, *region.items):
        for node in walk(item):
            if isinstance(node, c_ast.Decl) and node.name:
                yield node.name


def _parameters(region: Region) -> tuple[dict[str, c_ast.Node], list[str]]:
    """Return the types of the parameters that are numbers, and the names of the pointers."""
    arguments = region.function.decl.type.args
    types = {
        node.name: node.type
        for node in ([] if arguments is None else arguments.params)
        if isinstance(node, c_ast.Decl)
    }
    types |= {name: one.declaration.type for name, one in region.members.items()}
    pointers = c_ast.PtrDecl | c_ast.ArrayDecl
    return (
        {name: type_ for name, type_ in types.items() if isinstance(type_, c_ast.TypeDecl)},
        [name for name, type_ in types.items() if isinstance(type_, pointers)],
    )


@contextmanager
def _reported(parsed: ParsedSource, region: Region) -> Iterator[None]:
    try:
        yield
    except KernelError as error:
        raise parsed.source_map.error(region.node, str(error)) from None
    except RecursionError:
        raise parsed.source_map.error(
            region.node, "expressions or loops are nested too deeply; expected less nesting"
        ) from None


def _inlined(parsed: ParsedSource, region: Region) -> Region:
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


class _Translator:
    """One pass over a region.

    Args:
        parsed: the file.
        region: the region, its calls inlined.
        settings: what the translation relies on.
        shapes: the shapes of arrays without declared extents; empty for a draft.
    """

    def __init__(
        self,
        parsed: ParsedSource,
        region: Region,
        settings: Settings,
        shapes: Shapes = MappingProxyType({}),
    ) -> None:
        self.parsed, self.region, self.settings = parsed, region, settings
        self.shapes = shapes
        typedefs = typedefs_of(parsed.tree, region.before)
        choices = choices_of(parsed.tree, typedefs, parsed.source_map)
        items, returned = _without_return(region)
        usage = usage_of(items if returned is None else (*items, returned))
        leaves = [name for size in region.derived.values() for name in names_in(size.node)]
        uses = integer_uses(items if returned is None else (*items, returned))
        self.usage = replace(usage, used=tuple(dict.fromkeys((*usage.used, *leaves))))
        self.pragmas = pragmas_of(parsed, region.function)
        around = variables_of(parsed, region, typedefs, self.usage.used)
        tables = [variable.node for variable in around.values() if is_table(variable.node)]
        self.variables = {
            name: variable for name, variable in around.items() if variable.node not in tables
        }
        functions = own_functions(parsed.tree) - set(choices)
        self.scope = Scope(
            parsed.source_map, typedefs, frozenset(self.variables), functions, choices
        )
        bind_enumerators(self.scope, (*parsed.tree.ext, *region.before), self.usage.used)
        self.undeclared = undeclared_extents(self.variables, self.usage, self.pragmas) - set(shapes)
        self.build = KernelBuilder(region.name)
        names = Names()
        self.outside = declare_outside(
            self.scope,
            self.build,
            names,
            self.variables,
            self.usage,
            self.pragmas,
            {**dict.fromkeys(self.undeclared), **shapes},
            uses.only_compared,
        )
        self.limited = tuple(
            variable
            for variable in self.outside.sizes
            if variable.name in uses.affine
            and variable.derived is None
            and variable.type.dtype in (i64, u64)
        )
        self.result = None
        if returned is not None:
            self.result = names.fresh("result")
            items = (*items, _result(self.scope, self.build, region, returned, self.result))
        statements = Statements(
            self.scope, self.build, self.usage, names, may_overlap=settings.may_overlap
        )
        statements.declare_tables(tables)
        statements.declare_all(items)

    def translation(self) -> Translation:
        """Return the kernel."""
        assumptions: tuple[Assumption, ...] = ()
        keeps_bounds = True
        if self.settings.infers_sizes:
            assumptions, keeps_bounds = inferred_assumptions(self.scope)
        for assumption in assumptions:
            self.build.assume(assumption.condition)
        location = self.parsed.source_map.location(self.region.node)
        with self.build.located(location):
            kernel = self.build.kernel()
        kernel = replace(kernel, fp_contract=self.pragmas.fp_contract, location=location)
        return Translation(
            kernel if self.settings.may_overlap else with_outputs(kernel),
            self.outside,
            self.variables,
            self.usage,
            self.result,
            assumptions,
            self.shapes,
            self.limited,
            self.region,
            keeps_bounds,
        )


def _without_return(region: Region) -> tuple[tuple[c_ast.Node, ...], c_ast.Node | None]:
    """Split the final return statement off: the other statements and the returned expression."""
    *before, last = region.items or (None,)
    if region.is_function and isinstance(last, c_ast.Return):
        return tuple(before), last.expr
    return region.items, None


def _result(
    scope: Scope, build: KernelBuilder, region: Region, returned: c_ast.Node, name: str
) -> c_ast.Node:
    """Declare an output scalar for the return value; return the assignment that stores it."""
    declared = declared_type(
        region.function.decl.type.type, scope.typedefs, scope.source_map, region.function.decl
    )
    if declared.dtype is None or declared.dims:
        raise scope.error(
            returned, f"'{region.name}' returns a value, but is not declared to return a number"
        )
    target = c_ast.ID(_RETURN, returned.coord)
    handle = build.output(name, declared.dtype, ())
    scope.bind(_RETURN, ArrayBinding(handle))
    return c_ast.Assignment("=", target, returned, returned.coord)
