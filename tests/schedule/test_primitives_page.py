"""`notes/primitives.md`, all primitives on one page, says what their docstrings say."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from polysched.schedule.schedule import Schedule
from polysched.schedule.table import PRIMITIVES
from tests.golden import compare_with_golden

NOTES = Path(__file__).parents[2] / "notes"
HEAD = """# Scheduling primitives

Each primitive is a method of `ps.Schedule` and a line of a schedule file. An entry has four parts:
a sentence, the arguments with their types, the rewrite of a loop nest (before -> after), and the
checks: what must hold, else which error. `0..n` ends before `n`. Rules for all primitives:

- A loop is named by its name, or as `"statement.loop"` if several loops have that name. A name
  that means no loop or several is a `StepError`.
- An argument of another type, or a number above 2^40, is a `StepError`.
- A step is refused with a `StepError` if it nests too many loops, unrolls a statement more than
  1024 times, or needs numbers that may not fit 64 bits.
- `StepError` is raised by the step. *Legality* is proved for the schedule as a whole, not for each
  step. If it is refuted, compilation raises `IllegalScheduleError` with a witness; if it is
  undecided, `UnknownLegalityError`. Updates of a reduction with `order="any"` may change order.

The docstrings make this page: `pytest tests/schedule/test_primitives_page.py --update-golden`.
"""
FAMILIES = {
    "Loops": "split tile divide reorder collapse fuse distribute skew shift reverse",
    "Execution of loops": (
        "unroll vectorize vectorize_reduction parallel tensorize prefetch transpose stream"
    ),
    "Placement and storage of values": (
        "compute_at inline simplify pack promote privatize rfactor fold_storage"
    ),
}


def page() -> str:
    functions = {function.__name__: function for function in PRIMITIVES.values()}
    parts = [HEAD]
    for family, names in FAMILIES.items():
        parts.append(f"## {family}\n")
        for name in names.split():
            parts += [f"### `{_call(name)}`\n", _markdown(functions[name])]
    return "\n".join(parts)


def _call(name: str) -> str:
    """The call as users write it: without ``self`` and types."""
    _, *parameters = inspect.signature(getattr(Schedule, name)).parameters.values()
    written = (parameter.replace(annotation=parameter.empty) for parameter in parameters)
    return f"{name}({', '.join(map(str, written))})"


def _markdown(documented: Callable[..., object]) -> str:
    lines: list[str] = []
    for paragraph in inspect.cleandoc(documented.__doc__ or "").split("\n\n"):
        if paragraph.startswith("Args:\n"):
            lines += [_arguments(paragraph), ""]
        elif paragraph.startswith("Checks:\n"):
            lines += ["*Checks*:", "", _prose(dedent(paragraph.removeprefix("Checks:\n"))), ""]
        elif paragraph == "before::":
            lines.append("```")
        elif paragraph.startswith("after "):
            lines += ["", f"# {_prose(paragraph).replace('`', '').removesuffix('::')}"]
        elif paragraph.startswith(" "):
            lines.append(dedent(paragraph))
            if any(line.startswith("# after") for line in lines[-2:]):
                lines += ["```", ""]
        else:
            lines += [_prose(paragraph), ""]
    return "\n".join(lines)


def _arguments(paragraph: str) -> str:
    """``Args:`` as a list; continuation lines are indented."""
    entries = dedent(paragraph.removeprefix("Args:\n")).split("\n")
    items = [re.sub(r"^(\w+) \((.*?)\): ", r"- `\1` (`\2`): ", line) for line in entries]
    return "\n".join(_prose(re.sub(r"^ +", "  ", line)) for line in items)


def _prose(text: str) -> str:
    return re.sub(r":\w+:`([^`]*)`", r"`\1`", text.replace("``", "`"))


def test_the_page_says_what_the_docstrings_say(request: pytest.FixtureRequest) -> None:
    update = request.config.getoption("--update-golden")
    compare_with_golden("primitives.md", page(), update=update, folder=NOTES)


def test_every_primitive_is_on_the_page() -> None:
    listed = " ".join(FAMILIES.values()).split()
    assert sorted(listed) == sorted(function.__name__ for function in PRIMITIVES.values())
