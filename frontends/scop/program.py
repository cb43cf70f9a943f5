"""Read a kernel, with its C signature, from a C file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

from polysched.errors import FrontendError
from polysched.frontends.reciprocals import with_reciprocals
from polysched.frontends.reductions import with_free_extrema, with_order
from polysched.frontends.scop.declare.overlap import (
    addressed_names,
    may_overlap,
    names_after_a_store,
)
from polysched.frontends.scop.declare.shapes import UNKNOWN
from polysched.frontends.scop.declare.variables import Origin, Outside, Variable, typedefs_of
from polysched.frontends.scop.inline.choices import choices_of
from polysched.frontends.scop.inline.value_calls import formulas_of
from polysched.frontends.scop.rewrites.region import Region, find_region
from polysched.frontends.scop.rewrites.size_values import DerivedSize, PointerTest
from polysched.frontends.scop.source.parse import ParsedSource, parse
from polysched.frontends.scop.source.promises import NO_PROMISES, Promises
from polysched.frontends.scop.source.text import (
    SourceText,
    read_source,
    source_text,
    with_assumptions,
)
from polysched.frontends.scop.translation import Settings, Translation, translated, translated_form
from polysched.ir.core.kernel import Kernel, Order
from polysched.ir.core.printing import format_expression
from polysched.ir.expr.affine import from_set
from polysched.ir.expr.dtypes import boolean, i64, u64
from polysched.ir.expr.expressions import Constant, Expression, Parameter
from polysched.ir.expr.traversal import transform
from polysched.llvm.export.c_function import CArgument, CFunction, CMember
from polysched.llvm.export.fallback import Fallback, address_of

LONGEST_EXTENT = 40
"""Largest number of characters of an inferred extent that notes show."""


@dataclass(frozen=True)
class CProgram:
    """Kernel that was read from C.

    Attributes:
        kernel: the computation of the region, named after the function.
        translation: the variables of the region, and the conditions of the kernel.
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
        for row in self.translation.rows:
            raise source_map.error(
                self.variables[row.table].node if row.table in self.variables else self.region.node,
                f"the rows of '{row.table}' are only known at each call, which the code around the "
                "generated function reads; expected an array such as 'double A[n][m]', or use "
                "'polysched rewrite'",
            )
        sizes = {size.name for size in self.outside.sizes}
        arguments = []
        for variable in self.variables.values():
            if variable.origin is Origin.PARAMETER and variable.place is None:
                name = variable.name
                if variable.type.dtype is None and not variable.type.dims:
                    raise source_map.error(
                        variable.node,
                        f"'{name}' is a struct that is passed by value, which its object cannot "
                        "receive; pass a pointer to it, or use 'polysched rewrite'",
                    )
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
        fallback = self.fallback
        self._require_checkable(fallback)
        outside = [self.outside, *([] if fallback is None else [self.as_written.outside])]
        all_sizes = dict.fromkeys(size for part in outside for size in part.sizes)
        return CFunction(
            self.region.name,
            tuple(arguments),
            self.result,
            fallback,
            _members(outside),
            _derived(all_sizes),
            {
                size.name: size.derived.pointer
                for size in self.outside.sizes
                if isinstance(size.derived, PointerTest)
            },
        )

    @property
    def fallback(self) -> Fallback | None:
        """The program as written, for the calls that the kernel is not valid for; None if none."""
        has_long = any(size.type.dtype == i64 for size in self.translation.limited)
        if self.entry_condition is None and not self.apart:
            return Fallback(self.kernel, None, ()) if has_long else None
        written = self.as_written
        kernel = replace(written.kernel, fp_contract=self.kernel.fp_contract)
        pairs = () if self.promises.no_alias else self._pairs(written)
        read_once = tuple(pair for pair in pairs if pair[1] not in kernel.arrays)
        return Fallback(kernel, self.entry_condition, self.apart, read_once)

    @cached_property
    def as_written(self) -> Translation:
        """The translation that is valid for all sizes and for overlapping arrays."""
        settings = Settings(infers_sizes=False, may_overlap=True)
        return translated_form(self.parsed, self.translation.form, settings)

    @cached_property
    def apart(self) -> tuple[tuple[str, str], ...]:
        """The pairs of arrays that must not overlap, which the compiled function checks."""
        return () if self.promises.no_alias else self._pairs(self.translation)

    def _pairs(self, translation: Translation) -> tuple[tuple[str, str], ...]:
        return may_overlap(
            translation.kernel,
            translation.outside,
            names_after_a_store(translation.form.items),
            addressed_names(self.region.function),
        )

    @cached_property
    def entry_condition(self) -> Expression | None:
        """The condition on the sizes that the compiled function checks; None for no condition."""
        if self.unlimited:
            return Constant(False, boolean)
        if not self.translation.assumptions:
            return None
        condition = self.kernel.context.gist(self.as_written.kernel.context)
        return None if condition.plain_is_universe() else from_set(condition)

    @cached_property
    def unlimited(self) -> tuple[str, ...]:
        """The arrays of unknown extent that other arrays may overlap, which cannot be checked."""
        names = dict.fromkeys(name for pair in self.apart for name in pair)
        arrays = self.kernel.arrays
        return tuple(
            name for name in names if name in arrays and arrays[name].shape[:1] == (UNKNOWN,)
        )

    def notes(self) -> list[str]:
        """Return the conditions that the kernel adds to the text of the file, one line each."""
        text = partial(_extent_text, _derived(self.outside.sizes))
        lines = [
            f"inferred: {name}{''.join(map(text, shape.extents))}, from its subscripts"
            + ("; only elements that the data selects are accessed" if shape.guarded else "")
            for name, shape in self.translation.shapes.items()
            if not shape.is_unknown
        ]
        lines += map(str, self.translation.assumptions)
        loaded = {
            variable.place.base: "struct" if variable.place.member.path else "number"
            for variable in self._used()
            if variable.place is not None
            and variable.place.is_pointer
            and (variable.place.member.is_pointer or variable in self.outside.sizes)
        }
        lines += [
            f"assumed: '{name}' is NULL or points to a {pointed} at each call, also if no "
            "iteration uses it, because the call reads its sizes and pointers first"
            for name, pointed in loaded.items()
        ]
        lines += [
            f"assumed: '{name}' points to a number at each call, also if the call never uses it"
            for name in self.translation.numbers
        ]
        lines += [
            f"checked at each call: the rows of '{row.table}' are equally far apart, and nothing "
            "writes to their addresses, else the program runs as written"
            for row in self.translation.rows
        ]
        unsigned = [size for size in self.translation.limited if size.type.dtype == u64]
        if unsigned:
            names = ", ".join(f"'{size.name}'" for size in unsigned)
            lines.append(
                f"checked at each call: {names} can be computed with as signed 64-bit integers, "
                "else the compiled function aborts, and the rewritten program runs as written"
            )
        if self.unlimited:
            lines.append(f"runs as written at each call: {self._why_as_written}")
        elif self.apart:
            named = (tuple(sorted(map(self._pointer, pair))) for pair in self.apart)
            pairs = [f"'{first}' and '{second}'" for first, second in dict.fromkeys(named)]
            lines.append(
                f"checked at each call: {', '.join(pairs)} do not overlap, else the program "
                "runs as written; 'restrict' or --assume-no-alias promises it"
            )
        return lines

    @property
    def _why_as_written(self) -> str:
        names = ", ".join(f"'{name}'" for name in self.unlimited)
        return (
            f"the extent of {names} depends on data, so overlap cannot be checked; 'restrict' or "
            "--assume-no-alias promises that there is none"
        )

    @property
    def without_use(self) -> FrontendError | None:
        """The error of a function that would always run as written, or that has no proof."""
        if self.unlimited:
            reason = f"would run as written at each call: {self._why_as_written}"
        elif not self.translation.keeps_bounds:
            reason = "may access an element outside its array, such as one before a pointer"
        else:
            return None
        return self.parsed.source_map.error(self.region.node, f"'{self.region.name}' {reason}")

    def _pointer(self, name: str) -> str:
        """Return the pointer in C that an array or address comes of: of members, their struct's."""
        variable = self.variables.get(name)
        if variable is None and name in self.read_at_entry:
            variable = self.read_at_entry[name]
            return variable.name if variable.place is None else variable.place.base
        place = None if variable is None else variable.place
        return name if place is None or place.member.is_pointer else place.base

    @cached_property
    def read_at_entry(self) -> Mapping[str, Variable]:
        """The variables by `address_of`, as which sizes and pointers count that are read once."""
        return {address_of(name): variable for name, variable in self.variables.items()}

    def _require_checkable(self, fallback: Fallback | None) -> None:
        """Check that the fallback can compare the addresses of what it reads at the entry."""
        for stored, read in () if fallback is None else fallback.read_once:
            if fallback is not None and fallback.kernel.arrays[stored].shape[:1] == (UNKNOWN,):
                variable = self.variables[stored]
                raise self.parsed.source_map.error(
                    variable.node,
                    f"the extent of '{stored}' depends on data, and its stores may change "
                    f"'{self.read_at_entry[read].text}', which the object reads once; 'restrict' "
                    "or --assume-no-alias promises that they do not, or use 'polysched rewrite'",
                )

    def with_fast_math(self) -> CProgram:
        """Allow reassociation of all reductions and contraction of ``a * b + c``.

        This is the part of ``-ffast-math`` that concerns sums. Every reduction may combine its
        terms in any order, as under ``#pragma polysched reassociate``, and ``a * b + c`` may round
        once, as under ``#pragma STDC FP_CONTRACT ON``. ``m = x > m ? x : m``, also written as an
        ``if`` or with ``fmax``, is a maximum in any order: each comparison keeps the semantics of
        C, but which zero of two signs remains, and what a NaN replaces, depends on the order.
        A divisor that the innermost loop does not change becomes a factor: ``x * (1 / r)``. For
        other divisors of single precision vectors use estimates: the reciprocal is within 2 units
        in the last place, and infinite for divisors below 2**-128. Apart from that, infinities,
        signed zeros and divisions keep the semantics of C.
        """
        free = with_reciprocals(with_free_extrema(with_order(self.kernel, Order.ANY)))
        return replace(self, kernel=replace(free, fp_contract=True))

    def with_contraction(self, is_allowed: bool) -> CProgram:
        """Set whether ``a * b + c`` may round once, whatever the pragmas of the file say."""
        return replace(self, kernel=replace(self.kernel, fp_contract=is_allowed))

    def _used(self) -> list[Variable]:
        return [*self.outside.sizes, *self.outside.arrays.values()]


def _members(outside: Sequence[Outside]) -> tuple[CMember, ...]:
    """Return the arrays and sizes of kernels that are members of structs."""
    sizes = {variable.name for part in outside for variable in part.sizes}
    used = {each.name: each for part in outside for each in (*part.sizes, *part.arrays.values())}
    return tuple(
        CMember(
            variable.name,
            variable.place.base,
            variable.place.member.offset,
            variable.type.dtype,
            is_size=variable.name in sizes,
            is_pointer=variable.place.member.is_pointer,
        )
        for variable in used.values()
        if variable.place is not None and variable.type.dtype is not None
    )


def _derived(sizes: Iterable[Variable]) -> dict[str, Expression]:
    return {
        size.name: size.derived.value for size in sizes if isinstance(size.derived, DerivedSize)
    }


def _extent_text(derived: Mapping[str, Expression], extent: Expression) -> str:
    text = format_expression(
        transform(
            extent, lambda node: derived.get(node.name) if isinstance(node, Parameter) else None
        )
    )
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
