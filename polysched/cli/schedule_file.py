"""The options of reading TARGET: ``--schedule``, ``--auto``, ``--fast-math``, and others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click

from polysched.autoscheduler.driver import optimize_schedule
from polysched.cli.options import machine_option
from polysched.cli.target import Target, load_target
from polysched.cli.terminal import errors
from polysched.errors import TargetError
from polysched.ir.isl.budget import DEFAULT_SECONDS
from polysched.machine.description import Machine
from polysched.machine.load import as_machine
from polysched.schedule.notation.file import apply_file
from polysched.schedule.schedule import Schedule

_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Reading:
    """The values of the options that control how TARGET is read.

    Attributes:
        schedule_file: a file of steps that are applied to TARGET's schedule.
        function: the function of a C file.
        fast_math: whether a C file's floating-point reductions may be reassociated, and products
            and sums contracted to FMAs.
        machine: the argument ``machine`` of TARGET's functions; None for this machine.
        auto: whether the autoscheduler continues the schedule.
        seconds: wall-time limit for reading one TARGET and for all of isl's work on it; 0 for no
            limit.
    """

    schedule_file: str | None = None
    function: str | None = None
    fast_math: bool = False
    machine: Machine | None = None
    seconds: float = DEFAULT_SECONDS
    auto: bool = False


def auto_option(command: _Command) -> _Command:
    """Add the option ``--auto`` to a command that has :func:`reading_options`."""
    return click.option(
        "--auto",
        is_flag=True,
        help="Let the autoscheduler continue TARGET's schedule, as 'polysched optimize' does.",
    )(command)


def reading_options(command: _Command) -> Callable[..., Any]:
    """Add the options of :class:`Reading` to a command, as argument `reading`."""

    @functools.wraps(command)
    def with_reading(
        *arguments: Any,
        schedule_file: str | None,
        function: str | None,
        fast_math: bool,
        machine: Machine | None,
        seconds: float,
        auto: bool = False,
        **options: Any,
    ) -> Any:
        reading = Reading(schedule_file, function, fast_math, machine, seconds, auto)
        return command(*arguments, reading=reading, **options)

    schedule_option = click.option(
        "--schedule",
        "schedule_file",
        metavar="FILE",
        help="Apply the steps in FILE to TARGET, one step on each line, as 'show --stage schedule' "
        "prints them.",
    )
    function_option = click.option(
        "--function",
        metavar="NAME",
        help="For C files: the function to read, either its region between '#pragma scop' and "
        "'#pragma endscop' or its whole body; the same as FILE.c:NAME.",
    )
    fast_math_option = click.option(
        "--fast-math",
        is_flag=True,
        help="For C files: like -ffast-math of C compilers, allow reassociating floating-point "
        "reductions (integer reductions always allow it), contracting a*b+c to an FMA, and "
        "vectorized functions such as log, sin and tanh. Without it, these functions are calls of "
        "the C library, one for each element.",
    )
    seconds_option = click.option(
        "--seconds",
        type=click.FloatRange(min=0),
        default=DEFAULT_SECONDS,
        show_default=True,
        help="Wall-time limit for reading TARGET and for isl's computations, without LLVM's time; "
        "0 sets no limit.",
    )
    with_limits = machine_option(seconds_option(with_reading))
    return schedule_option(function_option(fast_math_option(with_limits)))


def load_scheduled_target(text: str, reading: Reading) -> Target:
    """Load TARGET's schedule, with the steps of ``--schedule FILE`` and of ``--auto``, if given.

    Raises:
        TargetError, FrontendError: TARGET is not a schedule or a kernel, or ``--fast-math`` is
            used with a Python file.
        ScheduleError: the file cannot be read, or a step in it cannot be applied.
    """
    target = load_target(text, reading.function, reading.machine)
    if reading.fast_math:
        target = _with_fast_math(target)
    if reading.schedule_file is not None:
        schedule = apply_file(target.schedule, reading.schedule_file)
        label = f"{target.label} with {reading.schedule_file}"
        target = replace(target, label=label, schedule=schedule)
    if reading.auto:
        made = optimize_schedule(target.schedule, as_machine(reading.machine))
        target = replace(target, schedule=made.schedule)
    return target


def hint_at_auto(schedule: Schedule, reading: Reading) -> None:
    """Write a hint to the error output if the code runs as written, without a schedule."""
    if not schedule.steps and not reading.auto:
        errors().print("hint: there is no schedule; --auto finds and proves one")


def _with_fast_math(target: Target) -> Target:
    if target.program is None:
        raise TargetError(
            f"--fast-math is for C files; expected FILE.c, or order='any' in '{target.label}'"
        )
    program = target.program.with_fast_math()
    return replace(target, schedule=Schedule(program.kernel), program=program)
