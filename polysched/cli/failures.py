"""How a command fails: one message on the error output and an exit code, never a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from io import UnsupportedOperation
from typing import Any

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
        with suppress(OSError):
            print_verdict(refusal.verdict, "the schedule", to_errors=True)
        raise Exit(VERDICT_CODES[refusal.verdict.kind]) from None
    except BrokenPipeError:  # the reader has seen enough
        _give_output_up()
        raise Exit(ExitCode.OUTPUT_CLOSED) from None
    except OSError as error:  # mostly the output's disk is full
        _give_output_up()
        raise _told(str(error), ExitCode.BAD_INPUT) from None
    except click.ClickException as misuse:
        with suppress(OSError):
            misuse.show()
        raise Exit(misuse.exit_code) from None
    except PolyschedError as error:
        raise _told(str(error), ExitCode.BAD_INPUT) from None
    except KeyboardInterrupt:
        raise _told("interrupted", ExitCode.INTERRUPTED) from None


def _told(message: str, code: ExitCode) -> Exit:
    """Write the message, where that is possible; the exception that ends the command."""
    with suppress(OSError):
        print_error(message)
    return Exit(code)


def _flush_output() -> None:
    if sys.stdout is not None:  # the output may have been closed from the start
        sys.stdout.flush()


def _give_output_up() -> None:
    """Have what cannot be written go nowhere: Python tries again when it ends."""
    try:
        _flush_output()
    except OSError:
        with suppress(UnsupportedOperation):
            lost = sys.stdout.fileno()
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, lost)
            os.close(nowhere)
