"""Translate a C file to a kernel; the stages are called in order."""

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
from polysched.ir.core.kernel import Kernel, Order
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i8, u8

_RETURN = "return"
"""Name that the storing statement gives the result: a keyword, so no variable can have it."""


@dataclass(frozen=True)
class CProgram:
    """Kernel that was read from C.

    Attributes:
        kernel: the computation of the region, named after the function.
        parsed: the syntax tree of the file.
        region: the translated statements.
        outside: the variables declared outside the region that it uses.
        variables: all variables visible in the region, by name.
        result: the array that holds the return value; None if the function returns none.
    """

    kernel: Kernel
    parsed: ParsedSource = field(repr=False)
    region: Region = field(repr=False)
    outside: Outside = field(repr=False)
    variables: Mapping[str, Variable] = field(repr=False)
    result: str | None = None

    def c_function(self) -> CFunction:
        """Return the C signature of the function, which the compiled kernel can replace.

        Raises:
            FrontendError: the region is only a part of the function, it uses variables of the file,
                or its arrays may overlap.
        """
        source_map = self.parsed.source_map
        if not self.region.is_function:
            raise source_map.error(
                self.region.node,
                f"the region is only a part of '{self.region.name}' and cannot replace it; make "
                "the region a function of its own",
            )
        for name, variable in {variable.name: variable for variable in self._used()}.items():
            if variable.origin is Origin.FILE:
                raise source_map.error(
                    variable.node,
                    f"'{self.region.name}' uses '{name}', a variable of the file, which its object "
                    "cannot reach; pass it as a parameter",
                )
        self._require_apart()
        sizes = {size.name for size in self.outside.sizes}
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
        """Allow reassociation of all reductions and contraction of ``a * b + c``.

        This is the part of ``-ffast-math`` that concerns sums. Every reduction may combine its
        terms in any order, as under ``#pragma polysched reassociate``, and ``a * b + c`` may round
        once, as under ``#pragma STDC FP_CONTRACT ON``. NaN, infinities, signed zeros and divisions
        keep the semantics of C.
        """
        return replace(self, kernel=replace(with_order(self.kernel, Order.ANY), fp_contract=True))

    def _used(self) -> list[Variable]:
        return [*self.outside.sizes, *self.outside.arrays.values()]

    def _require_apart(self) -> None:
        """Check that no written array may alias another array."""
        arrays = [variable for variable in self.outside.arrays.values() if variable.type.dims]
        for written in arrays:
            for other in arrays:
                if written is other or not self.kernel.arrays[written.name].is_written:
                    continue
                is_restrict = written.type.is_restrict or other.type.is_restrict
                if is_restrict or not _may_alias(written, other):
                    continue
                name = written.name
                raise self.parsed.source_map.error(
                    written.node,
                    f"'{name}' is written and may overlap '{other.name}', as C allows; declare one "
                    f"of them restrict, as in 'double {name}[restrict n]' or 'double *restrict "
                    f"{name}'",
                )


def _may_alias(first: Variable, second: Variable) -> bool:
    """Whether C's aliasing rules let two pointers lead to the same object (6.5)."""
    types = {first.type.dtype, second.type.dtype}
    same_size = len({(dtype.is_float, dtype.bits) for dtype in types if dtype is not None}) == 1
    return same_size or bool(types & {i8, u8})


def load_c(path: str | Path, function: str | None = None) -> CProgram:
    """Read a kernel from a C file.

    Args:
        path: the C file, preprocessed or not.
        function: the function whose scop region, or else whole body, becomes the kernel. By
            default the function with the only region, or the only function.

    Raises:
        FrontendError: the text is not C, or has no translation to a kernel; the message shows the
            position.
    """
    return _program(read_source(Path(path)), function)


def parse_c(text: str, function: str | None = None, *, path: str = "<text>") -> CProgram:
    """Read a kernel from C text that needs no preprocessor; see `load_c`.

    Args:
        text: the C text.
        function: as for `load_c`.
        path: the file name that messages show.
    """
    return _program(source_text(text, path), function)


def _program(source: SourceText, function: str | None) -> CProgram:
    parsed = parse(source)
    region = find_region(parsed, function, _returning_numbers)
    typedefs = typedefs_of(parsed.tree, region.before)
    try:
        return _declared(parsed, region, typedefs)
    except KernelError as error:
        raise parsed.source_map.error(region.node, str(error)) from None
    except RecursionError:
        raise parsed.source_map.error(
            region.node, "expressions or loops are nested too deeply; expected less nesting"
        ) from None


def _returning_numbers(parsed: ParsedSource) -> frozenset[str]:
    """Find the functions that regions may call: inlinable ones, and min and max functions."""
    typedefs = typedefs_of(parsed.tree)
    formulas = formulas_of(parsed.tree, typedefs, parsed.source_map)
    return frozenset(formulas).union(choices_of(parsed.tree, typedefs, parsed.source_map))


def _declared(parsed: ParsedSource, region: Region, typedefs: Typedefs) -> CProgram:
    choices = choices_of(parsed.tree, typedefs, parsed.source_map)
    formulas = formulas_of(parsed.tree, typedefs, parsed.source_map)
    if typedefs != typedefs_of(parsed.tree):
        formulas = {}  # a local typedef may change the types that the functions name
    inlined = Inliner(
        {name: formula for name, formula in formulas.items() if name not in choices},
        parsed.source_map,
    )
    region = replace(region, items=tuple(map(inlined, region.items)))
    items, returned = _without_return(region)
    usage = usage_of(items if returned is None else (*items, returned))
    pragmas = pragmas_of(parsed, region.function)
    around = variables_of(parsed, region, typedefs, usage.used)
    tables = [variable.node for variable in around.values() if is_table(variable.node)]
    variables = {name: variable for name, variable in around.items() if variable.node not in tables}
    functions = own_functions(parsed.tree) - set(choices)
    scope = Scope(parsed.source_map, typedefs, frozenset(variables), functions, choices)
    bind_enumerators(scope, (*parsed.tree.ext, *region.before), usage.used)
    build = KernelBuilder(region.name)
    names = Names()
    outside = declare_outside(scope, build, names, variables, usage, pragmas)
    result = None
    if returned is not None:
        result = names.fresh("result")
        items = (*items, _result(scope, build, region, returned, result))
    statements = Statements(scope, build, usage, names)
    statements.declare_tables(tables)
    statements.declare_all(items)
    with build.located(parsed.source_map.location(region.node)):
        kernel = build.kernel()
    kernel = replace(
        kernel, fp_contract=pragmas.fp_contract, location=parsed.source_map.location(region.node)
    )
    return CProgram(with_outputs(kernel), parsed, region, outside, variables, result)


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
