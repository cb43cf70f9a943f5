"""How a command fails: one message on the error output and an exit code, never a traceback."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import click

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


VERDICT_CODES = {
    VerdictKind.LEGAL: ExitCode.SUCCESS,
    VerdictKind.ILLEGAL: ExitCode.WRONG,
    VerdictKind.UNKNOWN: ExitCode.UNKNOWN,
}


class ReportingGroup(click.Group):
    """A group of commands that turns the errors meant for the user into messages and exit codes."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the chosen command."""
        try:
            return super().invoke(ctx)
        except RefusedScheduleError as refusal:
            print_verdict(refusal.verdict, "the schedule", to_errors=True)
            ctx.exit(VERDICT_CODES[refusal.verdict.kind])
        except PolyschedError as error:
            print_error(str(error))
            ctx.exit(ExitCode.BAD_INPUT)
        except BrokenPipeError:
            raise  # click ends quietly: the reader has seen enough
        except OSError as error:
            # Mostly the output's disk is full. Without this the exit code would say 'illegal'.
            print_error(str(error))
            ctx.exit(ExitCode.BAD_INPUT)
        except KeyboardInterrupt:
            print_error("interrupted")
            ctx.exit(ExitCode.INTERRUPTED)
