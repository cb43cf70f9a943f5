"""Read a kernel, with its C signature, from a C file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from polysched.frontends.reductions import with_order
from polysched.frontends.scop.choices import choices_of
from polysched.frontends.scop.inlining import formulas_of
from polysched.frontends.scop.overlap import addressed_names, may_overlap
from polysched.frontends.scop.parse import ParsedSource, parse
from polysched.frontends.scop.promises import NO_PROMISES, Promises
from polysched.frontends.scop.region import Region, find_region
from polysched.frontends.scop.text import (
    SourceText,
    read_source,
    source_text,
    with_assumptions,
)
from polysched.frontends.scop.translation import Settings, Translation, translated
from polysched.frontends.scop.variables import Origin, Outside, Variable, typedefs_of
from polysched.ir.core.kernel import Kernel, Order
from polysched.ir.core.printing import format_expression
from polysched.ir.expr.affine import from_set
from polysched.ir.expr.expressions import Expression
from polysched.llvm.export.c_function import CArgument, CFunction
from polysched.llvm.export.fallback import Fallback

LONGEST_EXTENT = 40
"""Largest number of characters of an inferred extent that notes show."""


@dataclass(frozen=True)
class CProgram:
    """Kernel that was read from C.

    Attributes:
        kernel: the computation of the region, named after the function.
        parsed: the syntax tree of the file.
        region: the translated statements.
        translation: the variables of the region, and what the kernel relies on.
        promises: what the caller promises beyond the text of the file.
    """

    kernel: Kernel
    parsed: ParsedSource = field(repr=False)
    region: Region = field(repr=False)
    translation: Translation = field(repr=False)
    promises: Promises = NO_PROMISES

    @property
    def outside(self) -> Outside:
        """The variables declared outside the region that it uses."""
        return self.translation.outside

    @property
    def variables(self) -> Mapping[str, Variable]:
        """All variables visible in the region, by name."""
        return self.translation.variables

    @property
    def result(self) -> str | None:
        """The array that holds the return value; None if the function returns none."""
        return self.translation.result

    def c_function(self) -> CFunction:
        """Return the C signature of the function, which the compiled kernel can replace.

        Raises:
            FrontendError: the region is only a part of the function, or it uses variables of the
                file.
        """
        source_map = self.parsed.source_map
        if not self.region.is_function:
            raise source_map.error(
                self.region.node,
                f"the region is only a part of '{self.region.name}' and cannot replace it; make "
                "the region a function of its own, or use 'polysched rewrite'",
            )
        for name, variable in {variable.name: variable for variable in self._used()}.items():
            if variable.origin is Origin.FILE:
                raise source_map.error(
                    variable.node,
                    f"'{self.region.name}' uses '{name}', a variable of the file, which its object "
                    "cannot reach; pass it as a parameter, or use 'polysched rewrite'",
                )
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
        return CFunction(self.region.name, tuple(arguments), self.result, self.fallback)

    @property
    def fallback(self) -> Fallback | None:
        """The program as written, for the calls that the kernel is not valid for; None if none."""
        if self.entry_condition is None and not self.apart:
            return None
        kernel = replace(self.as_written.kernel, fp_contract=self.kernel.fp_contract)
        return Fallback(kernel, self.entry_condition, self.apart)

    @cached_property
    def as_written(self) -> Translation:
        """The translation that is valid for all sizes and for overlapping arrays."""
        settings = Settings(infers_sizes=False, may_overlap=True)
        return translated(self.parsed, self.region, settings)

    @cached_property
    def apart(self) -> tuple[tuple[str, str], ...]:
        """The pairs of arrays that must not overlap, which the compiled function checks."""
        if self.promises.no_alias:
            return ()
        return may_overlap(self.kernel, self.outside, addressed_names(self.region.function))

    @cached_property
    def entry_condition(self) -> Expression | None:
        """The condition on the sizes that the compiled function checks; None for no condition."""
        if not self.translation.assumptions:
            return None
        condition = self.kernel.context.gist(self.as_written.kernel.context)
        return None if condition.plain_is_universe() else from_set(condition)

    def notes(self) -> list[str]:
        """Return what the kernel relies on beyond the text of the file, one line each."""
        lines = [
            f"inferred: {name}{''.join(map(_extent_text, shape))}, from its subscripts"
            for name, shape in self.translation.shapes.items()
        ]
        lines += map(str, self.translation.assumptions)
        if self.apart:
            pairs = ", ".join(f"'{first}' and '{second}'" for first, second in self.apart)
            lines.append(
                f"checked at each call: {pairs} do not overlap, else the program runs as written; "
                "'restrict' or --assume-no-alias promises it"
            )
        return lines

    def with_fast_math(self) -> CProgram:
        """Allow reassociation of all reductions and contraction of ``a * b + c``.

        This is the part of ``-ffast-math`` that concerns sums. Every reduction may combine its
        terms in any order, as under ``#pragma polysched reassociate``, and ``a * b + c`` may round
        once, as under ``#pragma STDC FP_CONTRACT ON``. NaN, infinities, signed zeros and divisions
        keep the semantics of C.
        """
        return replace(self, kernel=replace(with_order(self.kernel, Order.ANY), fp_contract=True))

    def with_contraction(self, is_allowed: bool) -> CProgram:
        """Set whether ``a * b + c`` may round once, whatever the pragmas of the file say."""
        return replace(self, kernel=replace(self.kernel, fp_contract=is_allowed))

    def _used(self) -> list[Variable]:
        return [*self.outside.sizes, *self.outside.arrays.values()]


def _extent_text(extent: Expression) -> str:
    text = format_expression(extent)
    return f"[{text}]" if len(text) <= LONGEST_EXTENT else "[...]"


def load_c(
    path: str | Path, function: str | None = None, promises: Promises = NO_PROMISES
) -> CProgram:
    """Read a kernel from a C file.

    Args:
        path: the C file, preprocessed or not.
        function: the function whose scop region, or else whole body, becomes the kernel. By
            default the function with the only region, or the only function.
        promises: what the caller promises beyond the text of the file.

    Raises:
        FrontendError: the text is not C, or has no translation to a kernel; the message shows the
            position.
    """
    return _program(read_source(Path(path), promises.preprocessor), function, promises)


def parse_c(
    text: str,
    function: str | None = None,
    *,
    path: str = "<text>",
    promises: Promises = NO_PROMISES,
) -> CProgram:
    """Read a kernel from C text that needs no preprocessor; see `load_c`.

    Args:
        text: the C text.
        function: as for `load_c`.
        path: the file name that messages show.
        promises: as for `load_c`.
    """
    return _program(source_text(text, path), function, promises)


def _program(source: SourceText, function: str | None, promises: Promises) -> CProgram:
    parsed = parse(with_assumptions(source, promises.conditions), function)
    region = find_region(parsed, function, _returning_numbers)
    return program_of(parsed, region, promises)


def program_of(parsed: ParsedSource, region: Region, promises: Promises = NO_PROMISES) -> CProgram:
    """Translate one region of a file.

    Raises:
        FrontendError: the region has no translation to a kernel, or relies on an inferred condition
            although the promises ask for strict bounds.
    """
    translation = translated(parsed, region, Settings())
    if promises.strict_bounds and translation.assumptions:
        raise translation.assumptions[0].as_error()
    return CProgram(translation.kernel, parsed, region, translation, promises)


def _returning_numbers(parsed: ParsedSource) -> frozenset[str]:
    """Find the functions that regions may call: inlinable ones, and min and max functions."""
    typedefs = typedefs_of(parsed.tree)
    formulas = formulas_of(parsed.tree, typedefs, parsed.source_map)
    return frozenset(formulas).union(choices_of(parsed.tree, typedefs, parsed.source_map))
