"""Error handling of commands: a message on the error output and an exit code, no traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from io import UnsupportedOperation
from typing import Any, TextIO

import click
from click.exceptions import Exit

from polysched.cli.terminal import print_advice, print_error, print_verdict
from polysched.errors import PolyschedError
from polysched.legality.verdicts.verdict import RefusedScheduleError, VerdictKind


class ExitCode(IntEnum):
    """Exit codes of the process."""

    SUCCESS = 0
    WRONG = 1
    BAD_INPUT = 2
    UNKNOWN = 3
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141
    """The exit code that shells report for a program that SIGPIPE ended: 128 + 13."""


VERDICT_CODES = {
    VerdictKind.LEGAL: ExitCode.SUCCESS,
    VerdictKind.ILLEGAL: ExitCode.WRONG,
    VerdictKind.UNKNOWN: ExitCode.UNKNOWN,
}


class ReportingGroup(click.Group):
    """A command group that turns errors meant for the user into messages and exit codes."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Parse the options; some of them, such as ``--help``, print and end the command."""
        with _reported_failures():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        with _reported_failures():
            return super().invoke(ctx)

    def _main_shell_completion(self, *arguments: Any, **options: Any) -> None:
        """Complete words for a shell, which stops reading when its user goes on typing."""
        try:
            with _reported_failures():
                super()._main_shell_completion(*arguments, **options)
        except Exit as ended:  # outside of any command, where click knows no `Exit`
            sys.exit(ended.exit_code)


@contextmanager
def _reported_failures() -> Iterator[None]:
    """Turn errors raised inside into a message and click's `Exit`; unexpected exceptions pass.

    Output that cannot be written is an error too. It is flushed here, because otherwise Python
    would flush it at exit and choose an exit code of its own, such as 1, which means 'illegal'.
    """
    try:
        try:
            yield
        finally:
            _flush_output()
    except RefusedScheduleError as refusal:
        with _written_if_possible():
            print_verdict(refusal.verdict, "the schedule", to_errors=True)
            print_advice(refusal.advice, to_errors=True)
        raise Exit(VERDICT_CODES[refusal.verdict.kind]) from None
    except BrokenPipeError:  # the reader has closed the pipe
        _give_up(sys.stdout)
        raise Exit(ExitCode.OUTPUT_CLOSED) from None
    except OSError as error:  # most often the output's disk is full
        _give_up(sys.stdout)
        raise _reported(str(error), ExitCode.BAD_INPUT) from None
    except click.ClickException as misuse:
        with _written_if_possible():
            misuse.show()
        raise Exit(misuse.exit_code) from None
    except PolyschedError as error:
        raise _reported(str(error), ExitCode.BAD_INPUT) from None
    except KeyboardInterrupt:
        raise _reported("interrupted", ExitCode.INTERRUPTED) from None


def _reported(message: str, code: ExitCode) -> Exit:
    """Write a message if possible; return the exception that ends the command."""
    with _written_if_possible():
        print_error(message)
    return Exit(code)


@contextmanager
def _written_if_possible() -> Iterator[None]:
    """Ignore errors when writing to the error output."""
    try:
        yield
        if sys.stderr is not None:  # it may have been closed from the start
            sys.stderr.flush()
    except OSError:
        _give_up(sys.stderr)


def _flush_output() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _give_up(stream: TextIO | None) -> None:
    """If a stream cannot be flushed, redirect it to the null device.

    Otherwise Python would try to flush it again at exit, and fail.
    """
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        with suppress(UnsupportedOperation):
            descriptor = stream.fileno()
            null_device = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null_device, descriptor)
            os.close(null_device)
