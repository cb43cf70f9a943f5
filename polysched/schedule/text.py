"""Schedules as text: the steps one a line, as :meth:`Schedule.trace` prints them.

::

    # a comment, or nothing
    split(loop='c', factor=64, into=('co', 'ci'))
    split('x', 5)
    reorder('xo', 'co', 'k', 'xi', 'ci')

A line is a call as a method of :class:`Schedule` takes it, or with the names of the step's record.
Only literals may stand in it, and nothing of it is run.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from polysched.errors import ScheduleError, StepError, suggestion
from polysched.ir.source import SourceLocation
from polysched.schedule.excerpt import excerpt
from polysched.schedule.other_words import what_to_write
from polysched.schedule.primitives import PRIMITIVES, Step
from polysched.schedule.schedule import Schedule

_Schedule = TypeVar("_Schedule", bound=Schedule)

LONGEST_LINE = 2000
"""Characters: a line beyond this is no step that anyone wrote."""
LARGEST_STEP_COUNT = 1000
_CALL = "split('i', 4)"
_EXAMPLE = f"one step such as {_CALL}"

_RECORDS: Mapping[str, type[Any]] = MappingProxyType(
    {function.__name__: record for record, function in PRIMITIVES.items()}
)


class ScheduleTextError(ScheduleError):
    """A line of a schedule's text that is no step, or a step that does not fit the program.

    Attributes:
        location: the file, line and column.
        reason: the message without the place and the line.
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
        """Where a node begins; Python counts bytes from the first character that is no blank."""
        indent = len(self.text) - len(self.text.lstrip())
        before = self.text.lstrip().encode()[: node.col_offset].decode()
        return indent + len(before) + 1


@dataclass(frozen=True)
class _Call:
    """The steps of one line, and where it names what."""

    line: _Line
    steps: tuple[Step, ...]
    column: int
    columns: Mapping[str, int]


@dataclass
class _Recorder:
    """What a method of `Schedule` sees as its schedule when only its steps are wanted."""

    steps: list[Step] = field(default_factory=list)

    def then(self, step: Step) -> _Recorder:
        self.steps.append(step)
        return self


def parse_steps(text: str, filename: str) -> tuple[tuple[Step, SourceLocation], ...]:
    """The steps that a text lists, each with the place where it stands.

    Args:
        text: one step a line; ``#`` begins a comment. A call that stands for several steps, such as
            ``unroll('i', 'j')``, gives them all.
        filename: for messages.

    Raises:
        ScheduleTextError: a line is no step.
    """
    return tuple(
        (step, call.line.location(call.column))
        for call in _calls(text, filename)
        for step in call.steps
    )


def apply_text(schedule: _Schedule, text: str, filename: str) -> _Schedule:
    """The schedule with the steps that a text lists applied to it.

    Raises:
        ScheduleTextError: a line is no step, or its step does not fit the program.
    """
    for call in _calls(text, filename):
        for step in call.steps:
            try:
                schedule = schedule.then(step, call.line.location(call.column))
            except StepError as error:
                column = call.columns.get(error.reference or "", call.column)
                raise call.line.error(column, error.reason) from None
    return schedule


def _calls(text: str, filename: str) -> Iterator[_Call]:
    count = 0
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, content in enumerate(lines, start=1):
        line = _Line(filename, number, content)
        if content.strip() and not content.lstrip().startswith("#"):
            call = _parse(line)
            count += len(call.steps)
            if count > LARGEST_STEP_COUNT:
                raise line.error(
                    call.column, f"the text lists more than {LARGEST_STEP_COUNT} steps"
                )
            yield call


def _parse(line: _Line) -> _Call:
    node = _call_node(line)
    column = line.column(node)
    if not isinstance(node.func, ast.Name):
        raise line.error(column, f"expected a step's name first, as in {_CALL}")
    name = node.func.id
    if name not in _RECORDS:
        raise line.error(column, f"no step is called '{name}'{what_to_write(name, _RECORDS)}")
    values = [_literal(line, argument) for argument in node.args]
    named = _keywords(line, name, node)
    steps = _steps(line, column, name, values, named)
    return _Call(line, steps, column, _columns(line, node))


def _call_node(line: _Line) -> ast.Call:
    if len(line.text) > LONGEST_LINE:
        raise line.error(
            1, f"the line has {len(line.text):,} characters; expected at most {LONGEST_LINE:,}"
        )
    if "\0" in line.text:  # versions of Python differ in what they say of it
        raise line.error(
            line.text.index("\0") + 1, f"a null character; expected {_EXAMPLE} on a line"
        )
    try:
        with warnings.catch_warnings():
            # What Python only warns of, such as '\d' in a text, is no step either.
            warnings.simplefilter("error")
            node = ast.parse(line.text.strip(), line.filename, mode="eval").body
    except SyntaxError as error:
        indent = len(line.text) - len(line.text.lstrip())
        column = min(max(error.offset or 1, 1) + indent, len(line.text) + 1)
        raise line.error(column, f"{error.msg}; expected {_EXAMPLE} on a line") from None
    except (ValueError, RecursionError, MemoryError):
        # Brackets and signs nested deeper than Python's parser goes.
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
    """The value of a text, a number, a truth value, None, or a tuple or list of these."""
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
    """The steps that a call means: as the method takes it, or with the record's own names."""
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
    """The parameters without their types: ``loop, factor, into=None``."""
    return ", ".join(
        str(parameter.replace(annotation=parameter.empty)).replace(" ", "")
        for parameter in form.parameters.values()
        if parameter.name != "self"
    )


def _columns(line: _Line, node: ast.Call) -> dict[str, int]:
    """Where each text stands among the arguments, the first place of each."""
    found: dict[str, int] = {}
    arguments = (*node.args, *(keyword.value for keyword in node.keywords))
    for argument in arguments:
        elements = argument.elts if isinstance(argument, ast.Tuple | ast.List) else [argument]
        for element in elements:
            if isinstance(element, ast.Constant) and isinstance(element.value, str):
                found.setdefault(element.value, line.column(element))
    return found
