"""Rewrite a C file so that its regions call generated functions.

::

    if (!(n >= 1 && polysched_f(A, x, (long)n) == 0)) {     inserted
    #pragma scop
    ...                                                     unchanged: the program as written
    #pragma endscop
    }                                                       inserted

The region stays in the file and runs wherever the generated function cannot replace it: where
arrays overlap, where an inferred condition on sizes fails, and where the function reports that it
has no memory or not the right processor.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.conditions import condition_text, size_text
from polysched.frontends.scop.declare.variables import Origin, Variable
from polysched.frontends.scop.program import CProgram
from polysched.frontends.scop.rewrites.live_out import leaves_value, uses_outside
from polysched.frontends.scop.rewrites.region import LiveOut
from polysched.frontends.scop.rewrites.size_values import RowStep
from polysched.frontends.scop.rewrites.usage import usage_of
from polysched.frontends.scop.statements.row_ranges import RowRange
from polysched.frontends.scop.types.c_types import c_name
from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.dtypes import boolean, i8, i64

_RESULT = "polysched_result"
_CONDITIONAL = re.compile(r"\s*#\s*(?:if|el|end)")
LARGEST_SIZE = 2**48
"""Largest size that a generated function is called with: all its bounds and subscripts then fit
signed 64-bit integers if none grows more than 2**13 times as fast as the sizes. No array is larger.
"""


@dataclass(frozen=True)
class Edit:
    """Text inserted into a file before a position: a line number and a column, both from 1."""

    line: int
    column: int
    text: str


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Insert the texts of `edits` into a file; all other bytes stay as they are."""
    lines = [*re.split(r"(?<=\n)", text)]
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.column), reverse=True):
        if edit.line > len(lines):  # the last line has no line break
            lines.append("\n")
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.column - 1] + edit.text + line[edit.column - 1 :]
    return "".join(lines)


def require_replaceable(program: CProgram) -> None:
    """Check that a call can replace the region of a program.

    Raises:
        FrontendError: a loop variable of the region is read after the region, a variable that it
            declares is used outside, or a variable has no address.
    """
    region, source_map = program.region, program.parsed.source_map
    if region.end is None:
        return
    ended = program.translation.usage.loop_variables & set(program.variables)
    for name in sorted(ended):
        variable = program.variables[name]
        is_static = variable.origin is Origin.FILE or "static" in (variable.node.storage or ())
        use = next(uses_outside(region.function.body, name, set(map(id, region.items))), None)
        if is_static or use is not None:
            raise source_map.error(
                variable.node if use is None else use,
                f"'{name}' is a loop variable of the region and is used outside it, where its last "
                "value may be read; declare it in the loops of the region, as in for (int "
                f"{name} = ...)",
            )
    declared = {item.name for item in region.items if isinstance(item, c_ast.Decl)}
    for name in sorted(declared):
        use = next(uses_outside(region.function.body, name, set(map(id, region.items))), None)
        if use is not None:
            raise source_map.error(
                use, f"'{name}' is declared in the region and used outside it; declare it before"
            )
    kept = {result.target for result in program.translation.form.results}
    for name, move in usage_of(region.items).changed.items():
        is_pointer = name in program.variables and program.variables[name].type.is_pointer
        if is_pointer and name not in kept and leaves_value(region, name):
            raise source_map.error(
                move,
                f"the region moves '{name}', which is declared and used outside it, or used again "
                "in the next iteration of a loop around the region; use a pointer of the region",
            )
    for variable in program.outside.arrays.values():
        is_passed = variable.place is not None or variable.type.is_pointer
        if not is_passed and "register" in (variable.node.storage or ()):
            raise source_map.error(
                variable.node, f"'{variable.name}' is a register variable; expected no 'register'"
            )


def edits_of(program: CProgram, symbol: str) -> tuple[Edit, ...]:
    """Return the edits that make a region, or a whole function, call the function `symbol`.

    Raises:
        FrontendError: the region comes from an included file or a macro, or its condition has no
            plain form in C.
    """
    region = program.region
    call = _Call(program, symbol)
    try:
        declaration, succeeds = call.declaration(), call.succeeds()
    except ValueError as error:
        raise program.parsed.source_map.error(region.node, str(error)) from None
    before = f"{{ {declaration}\nif (!({succeeds})) {{ /* the program as written */\n"
    if region.is_marked and region.end is not None:
        start, end = (_pragma_line(program, node) for node in (region.node, region.end))
        return Edit(start, 1, before), Edit(end + 1, 1, "} }\n")
    if region.end is not None:
        first, last = _statements(program, region.node, region.end)
        return Edit(*first, before), Edit(*last, " } }")
    span = program.parsed.source_map.span(region.function.body)
    if span.path != program.parsed.source.path or not span.source.startswith("{"):
        raise _elsewhere(program)
    result = program.result
    if result is None:
        done = f"if ({succeeds}) return;"
    else:
        returned = f"{_element(program.kernel.arrays[result])} {_RESULT};"
        done = f"{returned} if ({succeeds}) return {_RESULT};"
    return (Edit(span.line, span.column + 1, f" {{ {declaration} {done} }}"),)


def _statements(
    program: CProgram, first: c_ast.Node, last: c_ast.Node
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the positions of the first character of a statement and after the last of another.

    Both are in the text of the file itself, with no conditional text between them.
    """
    source, source_map = program.parsed.source, program.parsed.source_map
    found = source_map.statement(first), source_map.statement(last)
    if found[0] is None or found[1] is None:
        raise _elsewhere(program)
    start, end = found[0][0], found[1][1]
    if isinstance(first, c_ast.Pragma):
        start = replace(source_map.span(first), column=1)
    lines = source.originals[source.path]
    for span in (start, end):
        if span.path != source.path or lines[span.line - 1] != span.text:
            raise _elsewhere(program)
    if any(_CONDITIONAL.match(line) for line in lines[start.line - 1 : end.line]):
        raise _elsewhere(program)
    return (start.line, start.column), (end.line, end.column + 1)


def _pragma_line(program: CProgram, node: c_ast.Node) -> int:
    span = program.parsed.source_map.span(node)
    if span.path != program.parsed.source.path or not span.text.lstrip().startswith("#"):
        raise _elsewhere(program)
    return span.line


def _elsewhere(program: CProgram) -> FrontendError:
    return program.parsed.source_map.error(
        program.region.node,
        "this region is not in the text of the file itself; expected it outside included files and "
        "macros",
    )


@dataclass(frozen=True)
class _Call:
    """Text of the call of a generated function, with the conditions under which it is valid."""

    program: CProgram
    symbol: str

    def declaration(self) -> str:
        """The declaration of the function, for the block of the call."""
        types = [_pointer(array) for array in self._arrays()]
        types += ["long"] * len(self.program.kernel.parameters)
        members = "".join(f" {text};" for text in self.program.translation.form.hoisted)
        members += "".join(map(self._member, self._members()))
        members += "".join(map(self._rows, self.program.translation.rows))
        results = "".join(
            f" {c_name(dtype)} {result.name};"
            for result in self._results()
            if (dtype := self.program.variables[result.name].type.dtype) is not None
        )
        return f"extern int {self.symbol}({', '.join(types) or 'void'});{members}{results}"

    def _results(self) -> tuple[LiveOut, ...]:
        return self.program.translation.form.results

    def _members(self) -> list[Variable]:
        outside = self.program.outside
        used = (*outside.sizes, *outside.arrays.values())
        members = [variable for variable in used if variable.place is not None]
        derived = [size for size in outside.sizes if size.derived is not None]
        return [*members, *(size for size in derived if not isinstance(size.derived, RowStep))]

    def _member(self, variable: Variable) -> str:
        """The declaration of a variable that stands for a member of a struct, or for a size."""
        name, place, dtype = variable.name, variable.place, variable.type.dtype
        if variable.derived is not None:
            assert not isinstance(variable.derived, RowStep)
            return f" const long {name} = {variable.derived.text};"
        assert place is not None
        assert dtype is not None
        if variable in self.program.outside.sizes or place.member.is_pointer:
            # There may be no struct: the program as written need not read the member.
            value = f"{place.base} ? {place.text} : 0" if place.is_pointer else place.text
            if place.member.is_pointer:
                return f" {_element(self.program.kernel.arrays[name])} *{name} = (void *)({value});"
            return f" const {c_name(dtype)} {name} = {value};"
        array = self.program.kernel.arrays[name]
        return f" {_element(array)} *{name} = (void *)&{place.text};"

    def _rows(self, row: RowRange) -> str:
        """The statements that find the distance of rows, and whether all rows are as far apart.

        Rows are read only if the region reads them.
        """
        element = _element(self.program.kernel.arrays[row.rows])
        at, end = _row_names(row)
        size, first = f"sizeof **{row.table}", row.first
        start = f"(unsigned long){row.table}[{first}]"
        distance = f"(unsigned long){row.step} * {size}"
        return (
            f" {element} *{row.rows} = 0; long {row.step} = 0, {at} = 0;"
            f" const long {end} = ({row.condition}) ? {row.end} : 0L;"
            f" if ({end} > {first + 1}L) {{"
            f" {row.step} = (long)((unsigned long){row.table}[{first + 1}] - {start})"
            f" / (long){size};"
            f" for ({at} = {first + 1}; {at} < {end} && (unsigned long){row.table}[{at}] - {start}"
            f" == ({at} - {first}) * {distance}; {at}++) ;"
            f" {row.rows} = ({element} *)({start} - {first} * {distance}); }}"
        )

    def _has_equal_rows(self, row: RowRange) -> list[str]:
        """The conditions that rows are equally far apart, and that nothing changes the pointers."""
        at, end = _row_names(row)
        start, size = f"(unsigned long){row.table}", f"(unsigned long){end} * sizeof *{row.table}"
        arrays = [array for array in self._arrays() if array.role is not Role.INPUT]
        apart = [
            f"({start} + {size} <= (unsigned long){self._address(array.name)} || "
            f"(unsigned long){self._address(array.name)} + {self._bytes(array.name)} <= {start})"
            for array in arrays
        ]
        return [f"{at} && {at} == {end}", *apart]

    def succeeds(self) -> str:
        """The condition that holds if the function was called and has done the work."""
        conditions = [
            f"({condition_text(assumption.sizes, cast='(long)')})"
            for assumption in self.program.translation.assumptions
        ]
        for size in self.program.translation.limited:
            conditions.append(f"{size.name} <= {LARGEST_SIZE}L")
            if size.type.dtype == i64:
                conditions.append(f"{size.name} >= -{LARGEST_SIZE}L")
            elif size.derived is not None:  # computed as long
                conditions.append(f"{size.name} >= 0")
        if self.program.unlimited:
            conditions.insert(0, "0")
        for row in self.program.translation.rows:
            conditions += self._has_equal_rows(row)
        conditions += [self._apart(*pair) for pair in self.program.apart]
        arguments = [f"({_pointer(array)}){self._address(array.name)}" for array in self._arrays()]
        arguments += [f"(long){name}" for name in self.program.kernel.parameters]
        conditions.append(f"{self.symbol}({', '.join(arguments)}) == 0")
        updates = [f"{result.target} {result.operator} {result.name}" for result in self._results()]
        if updates:
            conditions.append(f"({', '.join(updates)}, 1)")
        return " && ".join(conditions)

    def _arrays(self) -> list[Array]:
        arrays = self.program.kernel.arrays.values()
        return [array for array in arrays if array.role is not Role.TEMPORARY]

    def _address(self, name: str) -> str:
        if name == self.program.result:
            return f"&{_RESULT}"
        read = self.program.read_at_entry.get(name)
        if read is not None:
            return f"&{read.text}"
        variable = self.program.variables[name]
        return name if variable.place is not None or variable.type.dims else f"&{name}"

    def _apart(self, first: str, second: str) -> str:
        starts = {name: f"(unsigned long){self._address(name)}" for name in (first, second)}
        ends = {name: f"{starts[name]} + {self._bytes(name)}" for name in (first, second)}
        return f"({ends[first]} <= {starts[second]} || {ends[second]} <= {starts[first]})"

    def _bytes(self, name: str) -> str:
        """The size of a variable; an extent below 0 counts as 0."""
        array = self.program.kernel.arrays.get(name)
        if array is None:
            return f"sizeof {self.program.read_at_entry[name].text}"
        if array.strides is not None:
            lasts = [
                f"({size_text(extent)} > 1 ? {size_text(extent)} - 1 : 0) * {size_text(stride)}"
                for extent, stride in zip(array.shape, array.strides, strict=True)
            ]
            return f"{array.dtype.bytes}UL * (1 + {' + '.join(lasts)})"
        factors = [f"{array.dtype.bytes}UL"]
        for extent in array.shape:
            text = size_text(extent)
            is_literal = text.removesuffix("L").isdigit()
            factors.append(text if is_literal else f"({text} > 0 ? {text} : 0)")
        return " * ".join(factors)


def _row_names(row: RowRange) -> tuple[str, str]:
    """Return the names of the row that was looked at last, plus 1, and of the end of the rows."""
    return f"polysched_{row.rows}_at", f"polysched_{row.rows}_end"


def _pointer(array: Array) -> str:
    return f"{'const ' if array.role is Role.INPUT else ''}{_element(array)} *"


def _element(array: Array) -> str:
    """Return the C type that ``int8_t`` and the like are names of."""
    return {boolean: "_Bool", i8: "signed char"}.get(array.dtype) or c_name(array.dtype)
