"""Translate a region to a kernel; the stages are called in order."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType

from pycparser import c_ast

from polysched.errors import FrontendError, KernelError
from polysched.frontends.scop.affine.assumption import Assumption
from polysched.frontends.scop.affine.bindings import ArrayBinding
from polysched.frontends.scop.affine.enumerators import bind_enumerators
from polysched.frontends.scop.affine.expected import UnprovedError
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.declare.declarations import (
    declare_outside,
    no_extent,
    undeclared_extents,
)
from polysched.frontends.scop.declare.integer_uses import IntegerUses, integer_uses
from polysched.frontends.scop.declare.roles import with_outputs
from polysched.frontends.scop.declare.shapes import Shapes
from polysched.frontends.scop.declare.variables import (
    Outside,
    Variable,
    is_small_table,
    own_functions,
    typedefs_of,
    variables_of,
)
from polysched.frontends.scop.inline.choices import choices_of
from polysched.frontends.scop.preparing import (
    forms_of,
    numbers_before,
    parameters_of,
    with_equal_rows,
    with_values_around,
    with_values_inlined,
)
from polysched.frontends.scop.rewrites.counting import with_countdowns
from polysched.frontends.scop.rewrites.normalizing import normalized
from polysched.frontends.scop.rewrites.pointer_loops import with_counted_pointers
from polysched.frontends.scop.rewrites.region import Region
from polysched.frontends.scop.rewrites.size_values import DerivedSize, RowStep
from polysched.frontends.scop.rewrites.usage import Usage, usage_of
from polysched.frontends.scop.rewrites.walks import (
    local_pointers,
    moves_in,
    without_counters,
    without_walks,
)
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.parse import ParsedSource
from polysched.frontends.scop.source.pragmas import pragmas_of
from polysched.frontends.scop.statements.assumptions import inferred_assumptions
from polysched.frontends.scop.statements.extents import inferred_shapes
from polysched.frontends.scop.statements.row_ranges import RowRange, row_range
from polysched.frontends.scop.statements.translate import Statements
from polysched.frontends.scop.types.c_types import declared_type, may_alias
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i64, u64
from polysched.ir.expr.source import SourceLocation

_RETURN = "return"
"""Name that the storing statement gives the result: a keyword, so no variable can have it."""


@dataclass(frozen=True)
class Settings:
    """Conditions that a translation relies on.

    Attributes:
        infers_sizes: whether sizes are excluded for which an access lies outside its array.
        may_overlap: whether arrays without ``restrict`` may overlap each other.
        may_assume: whether sizes are excluded for which unsigned integers wrap around.
        reads_late: whether integers behind pointers are read where conditions and values use them,
            instead of once at the entry, because stores may change them.
    """

    infers_sizes: bool = True
    may_overlap: bool = False
    may_assume: bool = False
    reads_late: bool = False


@dataclass(frozen=True)
class Translation:
    """Kernel of a region, with the C variables that it uses.

    Attributes:
        outside: the variables declared outside the region that it uses.
        variables: all variables visible in the region, by name.
        assigned: the names that the region assigns to.
        result: the array that holds the return value; None if the function returns none.
        assumptions: the inferred conditions on the sizes.
        shapes: the inferred shapes of arrays.
        limited: the 64-bit sizes that are computed with, and not only stored.
        form: the region as it was translated, after all rewriting before pointers are.
        keeps_bounds: whether the assumptions keep every access inside its array.
        numbers: the pointers to single numbers that are accessed only if data say so.
        rows: the rows of arrays of pointers, which must lie at equal distances.
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
    numbers: tuple[str, ...]
    rows: tuple[RowRange, ...] = ()

    @property
    def has_unknown_extents(self) -> bool:
        """Whether data decide which elements of an array are accessed."""
        return any(shape.is_unknown for shape in self.shapes.values())

    @property
    def is_exact(self) -> bool:
        """Whether all accesses lie inside their arrays for all sizes."""
        return self.keeps_bounds and not self.assumptions


def translated(parsed: ParsedSource, region: Region, settings: Settings) -> Translation:
    """Translate a region."""
    found: list[Translation] = []
    region = with_values_around(parsed, region)
    plain, candidates = forms_of(parsed, region)
    for may_assume in (False, True):
        errors: list[FrontendError] = []
        for candidate in candidates:
            try:
                own = replace(settings, may_assume=may_assume)
                translation = _without_walks(parsed, candidate, own)
                if translation.is_exact and not translation.has_unknown_extents:
                    return translation
                found.append(translation)
            except FrontendError as error:
                errors.append(error)
        is_limited = any(not attempt.has_unknown_extents for attempt in found)
        may_help = found or any(isinstance(error, UnprovedError) for error in errors)
        if is_limited or not may_help:
            break
    if found:
        return min(
            found,
            key=lambda attempt: (
                not attempt.keeps_bounds, attempt.has_unknown_extents, len(attempt.assumptions)
            ),
        )  # fmt: skip
    # The messages of the unchanged region quote the text of the file.
    return _without_walks(parsed, plain, settings)


def translated_form(parsed: ParsedSource, form: Region, settings: Settings) -> Translation:
    """Translate the form of a region that another translation found, exactly for all sizes."""
    if form.for_all_sizes is not None:
        form = replace(form, items=form.for_all_sizes)
    if settings.may_overlap:
        with contextlib.suppress(FrontendError):
            return _without_walks(parsed, form, replace(settings, reads_late=True))
    return _without_walks(parsed, form, settings)


def _without_walks(parsed: ParsedSource, region: Region, settings: Settings) -> Translation:
    """Translate a region after rewriting the pointers that walk through arrays."""
    numbers, pointers = parameters_of(region)
    numbers |= numbers_before(region)
    ended = {name: type_ for name, type_ in numbers.items() if name in region.ended}
    items = normalized(with_countdowns(region.items, ended))
    pointers += [name for name in local_pointers(region.before) if name not in pointers]
    items = with_counted_pointers(items, pointers)
    walked = without_walks(items, pointers)
    counted = without_counters(walked)
    if counted != walked:
        with contextlib.suppress(FrontendError):
            found = _translated(parsed, replace(region, items=counted), settings)
            return replace(found, form=region)
    try:
        found = _translated(parsed, replace(region, items=walked), settings)
        return replace(found, form=region)
    except FrontendError as error:
        moves = moves_in(items, {*pointers, *local_pointers(items)})
        lines = {parsed.source_map.location(move).line for move in moves}
        if isinstance(error, UnprovedError) and not settings.may_assume:
            raise
        if not isinstance(error.location, SourceLocation) or error.location.line not in lines:
            raise
    found = _translated(parsed, replace(region, items=items), settings)  # messages quote the file
    return replace(found, form=region)


def _translated(parsed: ParsedSource, region: Region, settings: Settings) -> Translation:
    region = with_values_inlined(parsed, with_equal_rows(region))
    with _reported(parsed, region):
        draft = _Translator(parsed, region, settings)
        if not draft.undeclared:
            return draft.translation()
        shapes = inferred_shapes(draft.scope)
        for name in sorted(draft.undeclared - set(shapes)):
            raise no_extent(draft.scope, draft.variables[name].node, name)
        return _Translator(parsed, region, settings, shapes).translation()


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


class _Translator:
    """One pass over a region.

    Args:
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
        leaves = [name for size in region.derived.values() for name in size.sizes]
        uses = integer_uses(items if returned is None else (*items, returned))
        self.usage = replace(usage, used=tuple(dict.fromkeys((*usage.used, *leaves))))
        self.pragmas = pragmas_of(parsed, region.function)
        around = variables_of(parsed, region, typedefs, self.usage.used)
        tables = [variable.node for variable in around.values() if is_small_table(variable.node)]
        self.variables = {
            name: variable for name, variable in around.items() if variable.node not in tables
        }
        functions = own_functions(parsed.tree) - set(choices)
        self.scope = Scope(
            parsed.source_map,
            typedefs,
            frozenset(self.variables),
            functions,
            choices,
            leaves_loops=region.leaves_loops,
            may_assume=settings.may_assume,
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
            self._data(uses, leaves),
        )
        self.limited = tuple(
            variable
            for variable in self.outside.sizes
            if variable.name in uses.affine
            and not isinstance(variable.derived, DerivedSize)
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

    def _data(self, uses: IntegerUses, leaves: Collection[str]) -> set[str]:
        """Return the integers from outside that are data, not sizes.

        An unsigned integer is compared in its own type. With `settings.reads_late`, a number behind
        a pointer is data if a store may change it and no bound or subscript uses it.
        """
        types = {name: variable.type for name, variable in self.variables.items()}
        data = {name for name in uses.only_compared if name in types and types[name].dtype == u64}
        if not self.settings.reads_late:
            return data
        kept = {*leaves, *uses.in_sizes}
        stored = [types[name].dtype for name in self.usage.assigned if name in types]
        behind = {
            name
            for name, variable in self.variables.items()
            if variable.place is not None and variable.place.is_pointer
        }
        return data | {
            name
            for name in behind - kept
            if (own := types[name].dtype) is not None
            and any(dtype is not None and may_alias(own, dtype) for dtype in stored)
        }

    def translation(self) -> Translation:
        """Return the kernel."""
        assumptions: tuple[Assumption, ...] = ()
        keeps_bounds = True
        if self.settings.infers_sizes:
            inferred, keeps_bounds = inferred_assumptions(self.scope)
            assumptions = (*self.scope.assumptions, *inferred)
        for assumption in assumptions:
            self.build.assume(assumption.condition)
        location = self.parsed.source_map.location(self.region.node)
        with self.build.located(location):
            kernel = self.build.kernel()
        arrays = {
            name: replace(array, guarded=name in self.scope.guarded)
            for name, array in kernel.arrays.items()
        }
        kernel = replace(
            kernel,
            arrays=MappingProxyType(arrays),
            fp_contract=self.pragmas.fp_contract,
            location=location,
        )
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
            self._numbers(),
            tuple(
                row_range(self.scope, name, value)
                for name, value in self.region.derived.items()
                if isinstance(value, RowStep)
            ),
        )

    def _numbers(self) -> tuple[str, ...]:
        """Return the pointers to single numbers that are accessed only if data say so."""
        certain = {each.binding.array.name for each in self.scope.accesses if each.is_certain}
        return tuple(
            name
            for name, variable in self.outside.arrays.items()
            if name in self.usage.only_first
            and variable.type.dims == (None,)
            and isinstance(binding := self.scope.find(name), ArrayBinding)
            and binding.array.name not in certain
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
