"""``--schedule FILE``: the steps of a file, applied on top of what TARGET means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click

from polysched.cli.target import Target, load_target
from polysched.schedule.file import apply_file

_Command = TypeVar("_Command", bound=Callable[..., Any])


def schedule_option(command: _Command) -> _Command:
    """Give a command the option ``--schedule FILE``, passed to it as `schedule_file`."""
    return click.option(
        "--schedule",
        "schedule_file",
        metavar="FILE",
        help="Steps to apply to TARGET, one a line, as 'show --stage schedule' prints them.",
    )(command)


def function_option(command: _Command) -> _Command:
    """Give a command the option ``--function NAME``, passed to it as `function`."""
    return click.option(
        "--function",
        metavar="NAME",
        help="Of a C file: the function whose region between '#pragma scop' and '#pragma endscop', "
        "or whose body, is meant; FILE.c:NAME says the same.",
    )(command)


def load_scheduled_target(
    text: str, schedule_file: str | None, function: str | None = None
) -> Target:
    """The schedule that TARGET means, with the steps of the file if there is one.

    Raises:
        TargetError, FrontendError: TARGET means no schedule and no kernel.
        ScheduleError: the file cannot be read, or a line of it is no step that fits.
    """
    target = load_target(text, function)
    if schedule_file is None:
        return target
    schedule = apply_file(target.schedule, schedule_file)
    return replace(target, label=f"{target.label} with {schedule_file}", schedule=schedule)
