"""How a command fails: one message on the error output and an exit code, never a traceback."""

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

from polysched.cli.terminal import print_error, print_verdict
from polysched.errors import PolyschedError
from polysched.legality.verdict import RefusedScheduleError, VerdictKind


class ExitCode(IntEnum):
    """What the process tells its caller."""

    SUCCESS = 0
    WRONG = 1
    BAD_INPUT = 2
    UNKNOWN = 3
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141
    """What a shell says of a program that SIGPIPE has ended."""


VERDICT_CODES = {
    VerdictKind.LEGAL: ExitCode.SUCCESS,
    VerdictKind.ILLEGAL: ExitCode.WRONG,
    VerdictKind.UNKNOWN: ExitCode.UNKNOWN,
}


class ReportingGroup(click.Group):
    """A group of commands that turns the errors meant for the user into messages and exit codes."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the options, of which some, as ``--help``, print and end the command."""
        with _failures_told():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        with _failures_told():
            return super().invoke(ctx)


@contextmanager
def _failures_told() -> Iterator[None]:
    """Turn what is raised inside into a message and click's `Exit`; defects pass.

    What cannot be written counts as a failure too. Else the exit code would say 'illegal', or
    Python, which writes what is left when it ends, would choose one.
    """
    try:
        try:
            yield
        finally:
            _flush_output()
    except RefusedScheduleError as refusal:
        with _written_if_possible():
            print_verdict(refusal.verdict, "the schedule", to_errors=True)
        raise Exit(VERDICT_CODES[refusal.verdict.kind]) from None
    except BrokenPipeError:  # the reader has seen enough
        _give_up(sys.stdout)
        raise Exit(ExitCode.OUTPUT_CLOSED) from None
    except OSError as error:  # mostly the output's disk is full
        _give_up(sys.stdout)
        raise _told(str(error), ExitCode.BAD_INPUT) from None
    except click.ClickException as misuse:
        with _written_if_possible():
            misuse.show()
        raise Exit(misuse.exit_code) from None
    except PolyschedError as error:
        raise _told(str(error), ExitCode.BAD_INPUT) from None
    except KeyboardInterrupt:
        raise _told("interrupted", ExitCode.INTERRUPTED) from None


def _told(message: str, code: ExitCode) -> Exit:
    """Write the message, where that is possible; the exception that ends the command."""
    with _written_if_possible():
        print_error(message)
    return Exit(code)


@contextmanager
def _written_if_possible() -> Iterator[None]:
    """Do without what the error output does not take."""
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
    """Have what cannot be written go nowhere: Python tries again when it ends."""
    if stream is None:
        return
    try:
        stream.flush()
    except OSError:
        with suppress(UnsupportedOperation):
            lost = stream.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, lost)
            os.close(nowhere)
