"""Writing to the terminal: colors only where a person sees them, unless NO_COLOR is set."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.live import Live
from rich.syntax import Syntax
from rich.text import Text

from polysched.legality.answer import Answer
from polysched.legality.verdict import Verdict, VerdictKind

_VERDICT_STYLES = {
    VerdictKind.LEGAL: "bold green",
    VerdictKind.ILLEGAL: "bold red",
    VerdictKind.UNKNOWN: "bold yellow",
}


class _Terminal(Console):
    """A console that leaves it to the command how a reader is taken who has gone."""

    def on_broken_pipe(self) -> NoReturn:
        """Say so; rich itself would end the process, with an exit code of its own."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def output() -> Console:
    """The standard output; text passes as it is, without markup or highlighting."""
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
    """Write a JSON object, or an array, to the standard output, on one line unless indented."""
    click.echo(json.dumps(record, indent=indent, allow_nan=False))


def print_verdict(verdict: Verdict, subject: str, *, to_errors: bool = False) -> None:
    """Write a verdict for a person; `subject` names what was checked."""
    style = _VERDICT_STYLES[verdict.kind]
    # The reason of an illegal schedule is the explanation, which begins with the word itself.
    reason = verdict.reason.removeprefix(f"{verdict.kind.value}: ")
    text = f"{subject}; proved: {verdict.checked}" if verdict.is_legal else reason
    console = errors() if to_errors else output()
    console.print(Text.assemble((f"{verdict.kind.value}: ", style), text))


def print_answer(answer: Answer, *, with_label: bool = False) -> None:
    """Write all that is said of a schedule: the verdict; of an illegal one the picture, for which
    parameters it is legal after all, and what would mend it, one repair a line.

    Args:
        with_label: first a line that names the schedule, which only the verdict "legal" does.
    """
    if with_label and not answer.verdict.is_legal:
        output().print(Text(f"{answer.label}:", "bold"))
    print_verdict(answer.verdict, answer.label)
    for line in answer.picture:
        output().print(_coloured(f"    {line}"))
    if answer.condition is not None:
        output().print(Text.assemble(("legal if and only if ", "bold cyan"), str(answer.condition)))
    for repair in answer.repairs:
        output().print(Text.assemble(("try: ", "bold cyan"), repair.description))


def _coloured(line: str) -> Text:
    """A line of a picture, the two instances of the witness in color."""
    text = Text(line)
    text.highlight_regex(r"(?<=[ \d])A(?= |$)", "bold green")
    text.highlight_regex(r"(?<=[ \d])B(?= |$)", "bold red")
    return text


def print_code(text: str, lexer: str | None) -> None:
    """Write program text, highlighted on a terminal if `lexer` (Pygments's name) is given."""
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
    """Give a function that shows, on a terminal, what happens now; elsewhere it shows nothing.

    Nothing is drawn but by that function: a thread that draws would disturb what is being timed.
    """
    console = errors()
    if not console.is_terminal:
        yield _nothing
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield lambda message: live.update(Text(message, style="dim"), refresh=True)


def _nothing(_: str) -> None:
    """Show nothing."""
