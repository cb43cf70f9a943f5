"""The options that say how TARGET is read, ``--schedule FILE`` among them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click

from polysched.cli.options import machine_option
from polysched.cli.target import Target, load_target
from polysched.errors import TargetError
from polysched.ir.budget import DEFAULT_SECONDS
from polysched.machine.description import Machine
from polysched.schedule.file import apply_file
from polysched.schedule.schedule import Schedule

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Reading:
    """How TARGET is read, as the options say.

    Attributes:
        schedule_file: whose steps are applied on top of what TARGET means.
        function: of a C file, which one is meant.
        fast_math: let a C file's reductions be combined in any order, and products be added
            without rounding.
        machine: what TARGET's functions are given as ``machine``; None: this one.
        seconds: the wall time for reading one TARGET and all questions to isl about it; 0: no
            limit.
    """

    schedule_file: str | None = None
    function: str | None = None
    fast_math: bool = False
    machine: Machine | None = None
    seconds: float = DEFAULT_SECONDS


def reading_options(command: _Command) -> Callable[..., Any]:
    """Give a command the options ``--schedule``, ``--function``, ``--fast-math``, ``--machine`` and
    ``--seconds``, passed to it as `reading`, a :class:`Reading`.
    """

    @functools.wraps(command)
    def with_reading(
        *given: Any,
        schedule_file: str | None,
        function: str | None,
        fast_math: bool,
        machine: Machine | None,
        seconds: float,
        **options: Any,
    ) -> Any:
        reading = Reading(schedule_file, function, fast_math, machine, seconds)
        return command(*given, reading=reading, **options)

    schedule = click.option(
        "--schedule",
        "schedule_file",
        metavar="FILE",
        help="Steps to apply to TARGET, one a line, as 'show --stage schedule' prints them.",
    )
    chosen = click.option(
        "--function",
        metavar="NAME",
        help="Of a C file: the function whose region between '#pragma scop' and '#pragma endscop', "
        "or whose body, is meant; FILE.c:NAME says the same.",
    )
    relaxed = click.option(
        "--fast-math",
        is_flag=True,
        help="Of a C file: reductions of floating-point numbers may be combined in any order, as "
        "those of integers may, a*b+c may round once, and functions such as log, sin and tanh are "
        "computed by whole vectors, as -ffast-math lets C compilers do. Without it they are calls "
        "of the C library, one for each element.",
    )
    limited = click.option(
        "--seconds",
        type=click.FloatRange(min=0),
        default=DEFAULT_SECONDS,
        show_default=True,
        help="Wall time for reading TARGET and for all that isl computes for it, LLVM's time not "
        "counted; 0 sets no limit.",
    )
    return schedule(chosen(relaxed(machine_option(limited(with_reading)))))


def load_scheduled_target(text: str, reading: Reading) -> Target:
    """The schedule that TARGET means, with the steps of the file if there is one.

    Raises:
        TargetError, FrontendError: TARGET means no schedule and no kernel, or is no C file that
            ``--fast-math`` could speak of.
        ScheduleError: the file cannot be read, or a line of it is no step that fits.
    """
    target = load_target(text, reading.function, reading.machine)
    if reading.fast_math:
        target = _with_fast_math(target)
    if reading.schedule_file is None:
        return target
    schedule = apply_file(target.schedule, reading.schedule_file)
    return replace(target, label=f"{target.label} with {reading.schedule_file}", schedule=schedule)


def _with_fast_math(target: Target) -> Target:
    if target.program is None:
        raise TargetError(
            f"--fast-math is for C files; expected FILE.c, or order='any' in '{target.label}'"
        )
    program = target.program.with_fast_math()
    return replace(target, schedule=Schedule(program.kernel), program=program)
