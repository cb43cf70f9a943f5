"""From a C file to a kernel, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pycparser import c_ast

from polysched.codegen.c_function import CArgument, CFunction
from polysched.errors import KernelError
from polysched.frontends.reductions import with_order
from polysched.frontends.scop.choices import choices_of
from polysched.frontends.scop.inlining import Inliner, formulas_of
from polysched.frontends.scop.names import Names
from polysched.frontends.scop.parse import ParsedSource, parse
from polysched.frontends.scop.pragmas import pragmas_of
from polysched.frontends.scop.region import Region, find_region
from polysched.frontends.scop.roles import with_outputs
from polysched.frontends.scop.scope import ArrayBinding, Scope
from polysched.frontends.scop.statements import Statements
from polysched.frontends.scop.text import SourceText, read_source, source_text
from polysched.frontends.scop.types import Typedefs, declared_type
from polysched.frontends.scop.usage import usage_of
from polysched.frontends.scop.variables import (
    Origin,
    Outside,
    Variable,
    bind_enumerators,
    declare_outside,
    is_table,
    own_functions,
    typedefs_of,
    variables_of,
)
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import i8, u8
from polysched.ir.kernel import Kernel, Order

_RETURN = "return"
"""How the statement that stores the result names it: as no variable can be called."""


@dataclass(frozen=True)
class CProgram:
    """A kernel that was read from C.

    Attributes:
        kernel: what the region computes; its name is the function's.
        parsed: the file.
        region: what became the kernel.
        outside: what the region uses of its surroundings.
        variables: all that it could use of them.
        result: the array that holds what the function returns.
    """

    kernel: Kernel
    parsed: ParsedSource = field(repr=False)
    region: Region = field(repr=False)
    outside: Outside = field(repr=False)
    variables: Mapping[str, Variable] = field(repr=False)
    result: str | None = None

    def c_function(self) -> CFunction:
        """How C calls the function that the kernel can take the place of.

        Raises:
            FrontendError: the kernel is not all that the function does, it uses variables of the
                file, or its arrays may overlap.
        """
        places = self.parsed.places
        if not self.region.is_function:
            raise places.error(
                self.region.node,
                f"the region is a part of '{self.region.name}' only, and cannot take its place; "
                "make the region a function of its own",
            )
        for name, variable in {one.name: one for one in self._used()}.items():
            if variable.origin is Origin.FILE:
                raise places.error(
                    variable.node,
                    f"'{self.region.name}' uses '{name}', a variable of the file, which its object "
                    "cannot reach; pass it as a parameter",
                )
        self._require_apart()
        sizes = {one.name for one in self.outside.sizes}
        arguments = []
        for variable in self.variables.values():
            if variable.origin is Origin.PARAMETER:
                name = variable.name
                is_used = name in sizes or name in self.outside.arrays
                arguments.append(
                    CArgument(
                        name,
                        variable.type.dtype,
                        is_pointer=bool(variable.type.dims),
                        meaning=name if is_used else None,
                        is_size=name in sizes,
                    )
                )
        return CFunction(self.region.name, tuple(arguments), self.result)

    def with_fast_math(self) -> CProgram:
        """The program with the freedom that ``-ffast-math`` gives C compilers over sums.

        Every reduction may combine its terms in any order, as under ``#pragma polysched
        reassociate``, and ``a * b + c`` may round once, as under ``#pragma STDC FP_CONTRACT ON``.
        NaN, infinities, signed zeros and divisions are as C has them.
        """
        return replace(self, kernel=replace(with_order(self.kernel, Order.ANY), fp_contract=True))

    def _used(self) -> list[Variable]:
        return [*self.outside.sizes, *self.outside.arrays.values()]

    def _require_apart(self) -> None:
        """Check that what is written through one parameter is not reached through another."""
        arrays = [one for one in self.outside.arrays.values() if one.type.dims]
        for one in arrays:
            for other in arrays:
                if one is other or not self.kernel.arrays[one.name].is_written:
                    continue
                if one.type.is_restrict or other.type.is_restrict or not _may_alias(one, other):
                    continue
                raise self.parsed.places.error(
                    one.node,
                    f"'{one.name}' is written and may overlap '{other.name}', as C has it; declare "
                    f"one of them restrict, as in 'double {one.name}[restrict n]' or "
                    f"'double *restrict {one.name}'",
                )


def _may_alias(one: Variable, other: Variable) -> bool:
    """Whether C lets pointers of two types lead to the same object (6.5)."""
    types = {one.type.dtype, other.type.dtype}
    same_size = len({(dtype.is_float, dtype.bits) for dtype in types if dtype is not None}) == 1
    return same_size or bool(types & {i8, u8})


def load_c(path: str | Path, function: str | None = None) -> CProgram:
    """The kernel that a C file holds.

    Args:
        path: C text, preprocessed or not.
        function: whose region, or body, becomes the kernel; by default that of the only region, or
            the only function.

    Raises:
        FrontendError: the text is no C, or says what no kernel can; the message shows the place.
    """
    return _program(read_source(Path(path)), function)


def parse_c(text: str, function: str | None = None, *, path: str = "<text>") -> CProgram:
    """The kernel that a C text holds, which needs no preprocessor; see `load_c`.

    Args:
        path: how messages name the text.
    """
    return _program(source_text(text, path), function)


def _program(source: SourceText, function: str | None) -> CProgram:
    parsed = parse(source)
    region = find_region(parsed, function, _returning_numbers)
    typedefs = typedefs_of(parsed.tree, region.before)
    try:
        return _declared(parsed, region, typedefs)
    except KernelError as error:
        raise parsed.places.error(region.node, str(error)) from None
    except RecursionError:
        raise parsed.places.error(
            region.node, "an expression or a nest is too deep; expected it simpler"
        ) from None


def _returning_numbers(parsed: ParsedSource) -> frozenset[str]:
    """The functions that only return an expression of numbers: regions may call them."""
    typedefs = typedefs_of(parsed.tree)
    formulas = formulas_of(parsed.tree, typedefs, parsed.places)
    return frozenset(formulas).union(choices_of(parsed.tree, typedefs, parsed.places))


def _declared(parsed: ParsedSource, region: Region, typedefs: Typedefs) -> CProgram:
    choices = choices_of(parsed.tree, typedefs, parsed.places)
    formulas = formulas_of(parsed.tree, typedefs, parsed.places)
    if typedefs != typedefs_of(parsed.tree):
        formulas = {}  # a name of a type may mean another one there
    inlined = Inliner(
        {name: one for name, one in formulas.items() if name not in choices}, parsed.places
    )
    region = replace(region, items=tuple(map(inlined, region.items)))
    items, returned = _without_return(region)
    usage = usage_of(items if returned is None else (*items, returned))
    pragmas = pragmas_of(parsed, region.function)
    around = variables_of(parsed, region, typedefs, usage.used)
    tables = [one.node for one in around.values() if is_table(one.node)]
    variables = {name: one for name, one in around.items() if one.node not in tables}
    functions = own_functions(parsed.tree) - set(choices)
    scope = Scope(parsed.places, typedefs, frozenset(variables), functions, choices)
    bind_enumerators(scope, (*parsed.tree.ext, *region.before), usage.used)
    build = KernelBuilder(region.name)
    names = Names()
    outside = declare_outside(scope, build, names, variables, usage, pragmas)
    result = None
    if returned is not None:
        result = names.fresh("result")
        items = (*items, _result(scope, build, region, returned, result))
    statements = Statements(scope, build, usage, names)
    statements.tables(tables)
    statements.all_of(items)
    with build.located(parsed.places.location(region.node)):
        kernel = build.kernel()
    kernel = replace(
        kernel, fp_contract=pragmas.fp_contract, location=parsed.places.location(region.node)
    )
    return CProgram(with_outputs(kernel), parsed, region, outside, variables, result)


def _without_return(region: Region) -> tuple[tuple[c_ast.Node, ...], c_ast.Node | None]:
    """The statements, and the expression that the last of them returns."""
    *before, last = region.items or (None,)
    if region.is_function and isinstance(last, c_ast.Return):
        return tuple(before), last.expr
    return region.items, None


def _result(
    scope: Scope, build: KernelBuilder, region: Region, returned: c_ast.Node, name: str
) -> c_ast.Node:
    """The statement that stores what the function returns in an array of the kernel's own."""
    declared = declared_type(
        region.function.decl.type.type, scope.typedefs, scope.places, region.function.decl
    )
    if declared.dtype is None or declared.dims:
        raise scope.error(returned, f"'{region.name}' returns no number, and this is one")
    target = c_ast.ID(_RETURN, returned.coord)
    handle = build.output(name, declared.dtype, ())
    scope.bind(_RETURN, ArrayBinding(handle))
    return c_ast.Assignment("=", target, returned, returned.coord)
