"""Schedules as text: what a trace prints is read back, and what is wrong is shown at its place."""

import inspect
import sys
import types
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.instructions.declaration import Instruction
from polysched.ir.expr.source import SourceLocation
from polysched.legality.repairs.repair import format_steps
from polysched.schedule.notation.text import ScheduleTextError, apply_text, parse_steps
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import PRIMITIVES, format_step, primitive_name
from tests.support import kernels
from tests.support.effort import cases
from tests.support.strategies import random_kernels, random_schedules


def arguments_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of the type of a step's field."""
    if isinstance(hint, types.UnionType):
        return st.one_of(*map(arguments_of, get_args(hint)))
    if get_origin(hint) is tuple:
        first, *rest = get_args(hint)
        if rest == [Ellipsis]:
            return st.lists(arguments_of(first), max_size=4).map(tuple)
        return st.tuples(*map(arguments_of, get_args(hint)))
    simple = {
        str: st.text(max_size=20),
        int: st.integers(-(2**70), 2**70),
        bool: st.booleans(),
        types.NoneType: st.none(),
        Instruction: st.nothing(),
    }
    return simple[hint]


def steps_of(record: type[Any]) -> st.SearchStrategy[Any]:
    hints = get_type_hints(record)
    return st.builds(record, **{name: arguments_of(hint) for name, hint in hints.items()})


@pytest.mark.parametrize("record", PRIMITIVES)
@settings(max_examples=cases(10))
@given(data=st.data())
def test_a_printed_step_is_read_back(record: type[Any], data: st.DataObject) -> None:
    step = data.draw(steps_of(record))
    place = SourceLocation("a", 1, 1)
    assert parse_steps(format_step(step), "a") == ((step, place),)


@pytest.mark.parametrize("record", PRIMITIVES)
@settings(max_examples=cases(5))
@given(data=st.data())
def test_a_method_call_is_read(record: type[Any], data: st.DataObject) -> None:
    """The same literals in a file and in a call of the method make the same steps."""
    name = PRIMITIVES[record].__name__
    method = inspect.signature(getattr(Schedule, name)).parameters
    is_variadic = any(one.kind is one.VAR_POSITIONAL for one in method.values())
    step = data.draw(steps_of(record))
    values = [getattr(step, field) for field in record.__dataclass_fields__]
    if not is_variadic:
        assert list(method)[1:] == list(record.__dataclass_fields__)
        written = f"{name}({', '.join(map(repr, values))})"
        assert [one for one, _ in parse_steps(written, "a")] == [step]


def test_calls_of_several_names() -> None:
    text = "reorder('j', 'i')\nunroll('a', 'b', factor=2)\nunroll(loop='c')\n"
    assert [step for step, _ in parse_steps(text, "a")] == [
        Reorder(("j", "i")),
        Unroll("a", 2),
        Unroll("b", 2),
        Unroll("c"),
    ]


@settings(max_examples=cases(8))
@given(schedule=random_schedules(random_kernels()))
def test_a_trace_is_read_back(schedule: Schedule) -> None:
    again = apply_text(schedule.first(0), schedule.trace(), "a")
    assert again.steps == schedule.steps


def test_blank_lines_comments_tabs_and_other_line_ends() -> None:
    text = "\ufeff# first\r\n\r\n\tsplit('i', 4)\t# why\r  # last\nsplit(\t'ii',2)"
    found = parse_steps(text, "f")
    assert found == (
        (Split("i", 4), SourceLocation("f", 3, 2)),
        (Split("ii", 2), SourceLocation("f", 5, 1)),
    )


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing", "\ufeff"])
def test_no_steps(text: str) -> None:
    assert parse_steps(text, "f") == ()


def test_lists_are_tuples_when_applied() -> None:
    schedule = apply_text(Schedule(kernels.grid()), "split('i', 4, ['a', 'b'])", "f")
    assert schedule.steps == (Split("i", 4, ("a", "b")),)


def test_steps_know_their_lines() -> None:
    schedule = apply_text(Schedule(kernels.grid()), "\nsplit('i', 4)\n\n unroll('ii')", "f.txt")
    assert [str(location) for location in schedule.locations] == ["f.txt:2:1", "f.txt:4:2"]


def test_a_chain_as_a_repair_prints_it() -> None:
    """A repair can be pasted into a schedule file."""
    steps = parse_steps(" split('i', 4).split('ii', 2).unroll('iii')", "f")
    assert [str(location) for _, location in steps] == ["f:1:2", "f:1:16", "f:1:31"]
    assert [step for step, _ in steps[:2]] == [Split("i", 4), Split("ii", 2)]
    schedule = Schedule(kernels.grid()).split("i", 4).split("ii", 2).unroll("iii")
    assert parse_steps(format_steps(schedule.steps), "f")[-1][0] == schedule.steps[-1]


def failure(text: str, filename: str = "f") -> ScheduleTextError:
    with pytest.raises(ScheduleTextError) as raised:
        apply_text(Schedule(kernels.grid()), text, filename)
    return raised.value


def test_the_place_is_shown() -> None:
    error = failure("# here\n\tsplit('i', 4, ('io', 'i'), 5 5)  # oh", "a.sched")
    assert error.location == SourceLocation("a.sched", 2, 29)
    first, line, caret = str(error).splitlines()
    assert first.startswith("a.sched:2:29: invalid syntax")
    assert line == "  \tsplit('i', 4, ('io', 'i'), 5 5)  # oh"
    assert caret == "  \t" + " " * 27 + "^"


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("splt('i', 4)", 1, "no step is called 'splt'; did you mean 'split'?"),
        ("split(i, 4)", 7, "i is a name without quotes; expected 'i'"),
        ("split('i', 4, facto=3)", 15, "split has no argument 'facto'; did you mean 'factor'?"),
        (
            "split('i')",
            1,
            "split: missing a required argument: 'factor'; expected split(loop, fact",
        ),
        ("split('i', 4, 'a', 'b')", 1, "too many positional arguments; expected split(loop, facto"),
        ("split('i', loop='i')", 1, "split: multiple values for argument 'loop'"),
        ("reorder('i', order=('j',))", 1, "unexpected keyword argument 'order'; expected reorder"),
        ("reorder()", 1, "reorder: missing a required argument: 'order'"),
        ("s.split('i', 4)", 1, "expected a step's name first, as in split('i', 4)"),
        ("split('i', 4).splt('j', 4)", 15, "no step is called 'splt'"),
        ("split('i', 4).split('q', 4)", 21, "no loop 'q'"),
        ("s.split('i', 4).split('j', 4)", 1, "expected a step's name first, as in split('i', 4)"),
        ("split('i', 4).loop", 1, "expected one step such as split('i', 4)"),
        ("split", 1, "expected one step such as split('i', 4)"),
        ("split 'i', 4", 7, "invalid syntax; expected one step such as split('i', 4) on a line"),
        ("split('i', 4", 6, "'(' was never closed; expected one step such as"),
        ("split('i', 4);", 14, "invalid syntax; expected one step"),
        ("split('i, 4)", 7, "unterminated string literal"),
        ("split('i', 2 * 2)", 12, "expected a name in quotes, an integer, None, or a tuple of"),
        ("split(f'i', 4)", 7, "expected a name in quotes, an integer"),
        ("split(b'i', 4)", 7, "expected a name in quotes, an integer"),
        ("split(*('i', 4))", 7, "expected a name in quotes, an integer"),
        ("split(**{})", 7, "split: '**' cannot stand in a step"),
        # Python 3.14 points at the backslash, earlier ones at the string.
        (
            "split('\\d', 4)",
            8 if sys.version_info >= (3, 14) else 7,
            "invalid escape sequence",
        ),
        ("split('ä', ö)", 12, "ö is a name without quotes"),
        ("split('i', '\0')", 13, "a null character"),
        ("(" * 300, 201, "too many nested parentheses"),
        ("-" * 1990 + "1", 1, "expected one step such as"),
        ("x" * 2001, 1, "the line has 2,001 characters; expected at most 2,000"),
        ("split('i', 4)", None, None),
    ],
)
def test_lines_that_are_no_step(line: str, column: int | None, message: str | None) -> None:
    if message is None:
        assert parse_steps(line, "f")
        return
    error = failure(line)
    assert (error.location.line, error.location.column) == (1, column)
    assert message in error.reason


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("split('j', 4)\nreverse('ii')", "f:2:9", "no loop 'ii'; did you mean 'i'"),
        (
            "split('j', 4)\nreorder('jo', 'j')",
            "f:2:15",
            "no loop 'j': step 1, split(loop='j', factor=4), at f:1:1, replaced it by 'jo', 'ji'",
        ),
        ("tile(('i', 'k'), (4, 4))", "f:1:12", "no loop 'k'"),
        ("split('i', 4, into=('j', 'k'))", "f:1:1", "loop name 'j' is taken around statement 'S'"),
        ("split('i', '4')", "f:1:1", "factor='4'; expected an integer"),
        ("split('T.i', 4)", "f:1:7", "no statement 'T' (in loop 'T.i'); known are 'S'"),
        ("split('i', 0)", "f:1:1", "the factor of split('i') is 0; expected a positive integer"),
    ],
)
def test_steps_that_do_not_fit(text: str, place: str, message: str) -> None:
    error = failure(text)
    assert str(error.location) == place
    assert error.reason.startswith(message)


def test_more_steps_than_anyone_writes() -> None:
    with pytest.raises(ScheduleTextError, match="f:1001:1: the text lists more than 1000 steps"):
        parse_steps("reverse('i')\n" * 1001, "f")


def test_every_primitive_has_a_method() -> None:
    for record, function in PRIMITIVES.items():
        assert callable(getattr(Schedule, function.__name__)), record
    assert primitive_name(Split("i", 4)) == "split"
