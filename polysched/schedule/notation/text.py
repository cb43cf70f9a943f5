"""Schedules as text: one step per line, as :meth:`Schedule.trace` prints them.

::

    # a comment, or nothing
    split(loop='c', factor=64, into=('co', 'ci'))
    split('x', 5)
    reorder('xo', 'co', 'k', 'xi', 'ci')
    skew('i', by='t').skew('j', by='t')

A line is a call or, as repairs are printed, a chain of calls. A call has either the parameters of
the method of :class:`Schedule` or the fields of the step's record. Its arguments are literals; the
text is parsed, never executed.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeVar

from polysched.errors import ScheduleError, StepError, suggestion
from polysched.instructions.declaration import Instruction
from polysched.ir.expr.source import SourceLocation
from polysched.schedule.core.foreign_names import replacement
from polysched.schedule.notation.excerpt import excerpt
from polysched.schedule.primitives.tensorize import Tensorize
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import PRIMITIVES, Step

_Schedule = TypeVar("_Schedule", bound=Schedule)

LONGEST_LINE = 2000
"""Largest number of characters of a line."""
LARGEST_STEP_COUNT = 1000
_CALL = "split('i', 4)"
_EXAMPLE = f"one step such as {_CALL}"

_RECORDS: Mapping[str, type[Any]] = MappingProxyType(
    {function.__name__: record for record, function in PRIMITIVES.items()}
)


class ScheduleTextError(ScheduleError):
    """A line of a schedule's text that is not a step, or whose step does not fit the program.

    Attributes:
        location: the file, line and column.
        reason: the message without the location and the line.
    """

    def __init__(self, location: SourceLocation, reason: str, line: str) -> None:
        assert location.column is not None
        super().__init__(f"{location}: {reason}\n{excerpt(line, location.column)}")
        self.location = location
        self.reason = reason


@dataclass(frozen=True)
class _Line:
    """One line of the text."""

    filename: str
    number: int
    text: str

    def location(self, column: int) -> SourceLocation:
        return SourceLocation(self.filename, self.number, column)

    def error(self, column: int, reason: str) -> ScheduleTextError:
        return ScheduleTextError(self.location(column), reason, self.text)

    def column(self, node: ast.expr | ast.keyword) -> int:
        """Return the 1-based column of a node; Python counts bytes from the first non-blank."""
        return self._column(node.col_offset)

    def end(self, node: ast.expr) -> int:
        """Return the 1-based column behind a node."""
        assert node.end_col_offset is not None
        return self._column(node.end_col_offset)

    def _column(self, offset: int) -> int:
        indent = len(self.text) - len(self.text.lstrip())
        return indent + len(self.text.lstrip().encode()[:offset].decode()) + 1


@dataclass(frozen=True)
class _Call:
    """The steps of one call, its column, and the column of each name in it."""

    line: _Line
    steps: tuple[Step, ...]
    column: int
    columns: Mapping[str, int]


@dataclass
class _Recorder:
    """A stand-in for ``self`` in the methods of :class:`Schedule` that records their steps."""

    steps: list[Step] = field(default_factory=list)

    def then(self, step: Step) -> _Recorder:
        self.steps.append(step)
        return self


def parse_steps(text: str, filename: str) -> tuple[tuple[Step, SourceLocation], ...]:
    """Parse the steps of a text, each with its location.

    Args:
        text: one step per line, or several as ``split('i', 4).unroll('ii')``; ``#`` begins a
            comment. A call that stands for several steps, such as ``unroll('i', 'j')``, gives them
            all.
        filename: for messages.
    """
    return tuple(
        (step, call.line.location(call.column))
        for call in _calls(text, filename)
        for step in call.steps
    )


def apply_text(
    schedule: _Schedule, text: str, filename: str, instructions: Iterable[Instruction] = ()
) -> _Schedule:
    """Apply the steps of a text to a schedule.

    Args:
        text: one step per line, as for :func:`parse_steps`.
        instructions: the declared instructions that ``tensorize`` steps may name.

    Raises:
        ScheduleTextError: a line is not a step, or its step does not fit the program.
    """
    declared = {instruction.name: instruction for instruction in instructions}
    for call in _calls(text, filename):
        for step in call.steps:
            try:
                schedule = schedule.then(
                    _with_instruction(step, declared), call.line.location(call.column)
                )
            except StepError as error:
                column = call.columns.get(error.reference or "", call.column)
                raise call.line.error(column, error.reason) from None
    return schedule


def _with_instruction(step: Step, declared: Mapping[str, Instruction]) -> Step:
    if isinstance(step, Tensorize) and isinstance(step.instruction, str):
        return replace(step, instruction=declared.get(step.instruction, step.instruction))
    return step


def _calls(text: str, filename: str) -> Iterator[_Call]:
    count = 0
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, content in enumerate(lines, start=1):
        line = _Line(filename, number, content)
        if content.strip() and not content.lstrip().startswith("#"):
            for call in _parse(line):
                count += len(call.steps)
                if count > LARGEST_STEP_COUNT:
                    raise line.error(
                        call.column, f"the text lists more than {LARGEST_STEP_COUNT} steps"
                    )
                yield call


def _parse(line: _Line) -> list[_Call]:
    """Parse the calls of a line: one step, or a chain of steps such as a repair prints."""
    return list(reversed([_call(line, node) for node in _chain(line, _call_node(line))]))


def _chain(line: _Line, node: ast.Call) -> Iterator[ast.Call]:
    """Yield the calls of ``first().second().last()``, the last first."""
    while isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
        yield node
        node = node.func.value
    if not isinstance(node.func, ast.Name):
        raise line.error(line.column(node), f"expected a step's name first, as in {_CALL}")
    yield node


def _call(line: _Line, node: ast.Call) -> _Call:
    column = line.column(node)
    if isinstance(node.func, ast.Attribute):
        name = node.func.attr
        column = line.end(node.func) - len(name)
    else:
        assert isinstance(node.func, ast.Name)
        name = node.func.id
    if name not in _RECORDS:
        raise line.error(column, f"no step is called '{name}'{replacement(name, _RECORDS)}")
    values = [_literal(line, argument) for argument in node.args]
    named = _keywords(line, name, node)
    steps = _steps(line, column, name, values, named)
    return _Call(line, steps, column, _columns(line, node))


def _call_node(line: _Line) -> ast.Call:
    if len(line.text) > LONGEST_LINE:
        raise line.error(
            1, f"the line has {len(line.text):,} characters; expected at most {LONGEST_LINE:,}"
        )
    if "\0" in line.text:  # Python's own message differs between versions
        raise line.error(
            line.text.index("\0") + 1, f"a null character; expected {_EXAMPLE} on a line"
        )
    try:
        with warnings.catch_warnings():
            # Python only warns of some errors, such as '\d' in a string; refuse them too.
            warnings.simplefilter("error")
            node = ast.parse(line.text.strip(), line.filename, mode="eval").body
    except SyntaxError as error:
        indent = len(line.text) - len(line.text.lstrip())
        column = min(max(error.offset or 1, 1) + indent, len(line.text) + 1)
        raise line.error(column, f"{error.msg}; expected {_EXAMPLE} on a line") from None
    except (ValueError, RecursionError, MemoryError):
        # Brackets or signs are nested deeper than Python's parser allows.
        raise line.error(1, f"the line cannot be read; expected {_EXAMPLE}") from None
    if not isinstance(node, ast.Call):
        raise line.error(line.column(node), f"expected {_EXAMPLE}")
    return node


def _keywords(line: _Line, name: str, node: ast.Call) -> dict[str, Any]:
    known = {*_RECORDS[name].__dataclass_fields__, *_method(name).parameters} - {"self"}
    named = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise line.error(line.column(keyword), f"{name}: '**' cannot stand in a step")
        if keyword.arg not in known:
            raise line.error(
                line.column(keyword),
                f"{name} has no argument '{keyword.arg}'{suggestion(keyword.arg, known)}",
            )
        named[keyword.arg] = _literal(line, keyword.value)
    return named


def _literal(line: _Line, node: ast.expr) -> Any:
    """Return the value of a string, a number, a truth value, None, or a tuple or list of these."""
    match node:
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Tuple(elts=elements):
            return tuple(_literal(line, element) for element in elements)
        case ast.List(elts=elements):
            return [_literal(line, element) for element in elements]
        case ast.Name(id=name):
            raise line.error(
                line.column(node), f"{name} is a name without quotes; expected '{name}'"
            )
    raise line.error(
        line.column(node),
        "expected a name in quotes, an integer, None, or a tuple of these such as ('io', 'ii')",
    )


def _steps(
    line: _Line, column: int, name: str, values: list[Any], named: Mapping[str, Any]
) -> tuple[Step, ...]:
    """Return the steps of a call, with the parameters of the method or the fields of the record."""
    method, record = _method(name), _RECORDS[name]
    kinds = {parameter.kind for parameter in method.parameters.values()}
    is_variadic = inspect.Parameter.VAR_POSITIONAL in kinds and values
    form = method if is_variadic else inspect.signature(record)
    try:
        form.bind(*([None] if is_variadic else []), *values, **named)
    except TypeError as error:
        raise line.error(column, f"{name}: {error}; expected {name}({_shown(form)})") from None
    if not is_variadic:
        return (record(*values, **named),)
    recorder = _Recorder()
    getattr(Schedule, name)(recorder, *values, **named)
    return tuple(recorder.steps)


def _method(name: str) -> inspect.Signature:
    return inspect.signature(getattr(Schedule, name))


def _shown(form: inspect.Signature) -> str:
    """Return the parameters without their types: ``loop, factor, into=None``."""
    return ", ".join(
        str(parameter.replace(annotation=parameter.empty)).replace(" ", "")
        for parameter in form.parameters.values()
        if parameter.name != "self"
    )


def _columns(line: _Line, node: ast.Call) -> dict[str, int]:
    """Return the column of the first occurrence of each string among the arguments."""
    columns: dict[str, int] = {}
    arguments = (*node.args, *(keyword.value for keyword in node.keywords))
    for argument in arguments:
        elements = argument.elts if isinstance(argument, ast.Tuple | ast.List) else [argument]
        for element in elements:
            if isinstance(element, ast.Constant) and isinstance(element.value, str):
                columns.setdefault(element.value, line.column(element))
    return columns
