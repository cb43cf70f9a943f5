"""Terminal output: colored only if it goes to a terminal and NO_COLOR is not set."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from typing import Any, NoReturn

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from polysched.legality.reports.answer import CONDITION, HINT, REPAIR, Answer, advice
from polysched.legality.verdicts.verdict import Verdict, VerdictKind

_VERDICT_STYLES = {
    VerdictKind.LEGAL: "bold green",
    VerdictKind.ILLEGAL: "bold red",
    VerdictKind.UNKNOWN: "bold yellow",
}


class _Terminal(Console):
    """A console that raises BrokenPipeError if the reader has closed the pipe."""

    def on_broken_pipe(self) -> NoReturn:
        """Raise the error; rich's default would end the process with an exit code of its own."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def output() -> Console:
    """The standard output; text is printed verbatim, without markup or highlighting."""
    return _Terminal(markup=False, highlight=False, emoji=False, soft_wrap=True)


def errors() -> Console:
    """The error output."""
    return _Terminal(stderr=True, markup=False, highlight=False, emoji=False, soft_wrap=True)


def print_error(message: str) -> None:
    """Write ``error: message`` to the error output."""
    errors().print(Text.assemble(("error: ", "bold red"), message))


def print_json(
    record: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, indent: int | None = None
) -> None:
    """Print a JSON object or array; on a single line without ``indent``."""
    click.echo(json.dumps(record, indent=indent, allow_nan=False))


def print_record(record: Any) -> None:
    """Print a mapping, or the fields of a dataclass, as a JSON object on one line."""
    print_json(asdict(record) if is_dataclass(record) else record)  # type: ignore[arg-type]


def print_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None
) -> None:
    """Print a table whose first column is text, and the others numbers."""
    table = Table(box=SIMPLE_HEAD, title=title)
    for position, heading in enumerate(headings):
        table.add_column(heading, justify="right" if position else "left")
    for row in rows:
        table.add_row(*row)
    output().print(table, soft_wrap=False)


def print_verdict(verdict: Verdict, subject: str, *, to_errors: bool = False) -> None:
    """Print a verdict; `subject` names the checked schedule."""
    style = _VERDICT_STYLES[verdict.kind]
    # The reason of an illegal schedule already begins with "illegal: ".
    reason = verdict.reason.removeprefix(f"{verdict.kind.value}: ")
    text = f"{subject}; proved: {verdict.checked}" if verdict.is_legal else reason
    console = errors() if to_errors else output()
    console.print(Text.assemble((f"{verdict.kind.value}: ", style), text))


def print_answer(answer: Answer, *, with_label: bool = False) -> None:
    """Print the answer of ``check``: verdict, picture, condition on the parameters, and repairs.

    Args:
        with_label: first print a line that names the schedule, unless the verdict line names it,
            as "legal" does.
    """
    if with_label and not answer.verdict.is_legal:
        output().print(Text(f"{answer.label}:", "bold"))
    print_verdict(answer.verdict, answer.label)
    print_advice(advice(answer))


def print_advice(lines: Sequence[str], *, to_errors: bool = False) -> None:
    """Print the lines of :func:`polysched.legality.reports.answer.advice`."""
    console = errors() if to_errors else output()
    for line in lines:
        console.print(_colored(line))


def _colored(line: str) -> Text:
    """Color the lead of an advice, or the two instances of the witness in a line of the picture."""
    text = Text(line)
    for lead in (CONDITION, REPAIR, HINT):
        if line.startswith(lead):
            text.stylize("bold cyan", 0, len(lead))
            return text
    text.highlight_regex(r"(?<=[ \d])A(?= |$)", "bold green")
    text.highlight_regex(r"(?<=[ \d])B(?= |$)", "bold red")
    return text


def print_code(text: str, lexer: str | None) -> None:
    """Print program text, highlighted on a terminal by `lexer`, the name of a Pygments lexer."""
    console = output()
    if lexer is None or not console.is_terminal or console.no_color:
        click.echo(text.rstrip("\n"))
        return
    syntax = Syntax("", lexer, theme="ansi_dark", background_color="default")
    highlighted = syntax.highlight(text)
    highlighted.rstrip()
    console.print(highlighted)


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a progress message on a terminal; elsewhere it does nothing.

    The terminal is drawn only by calls of that function: a drawing thread would disturb timings.
    """
    console = errors()
    if not console.is_terminal:
        yield _nothing
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda message: live.update(Text(message, style="dim"), refresh=True)


def _nothing(_: str) -> None:
    """Show nothing."""
