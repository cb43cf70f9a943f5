"""The options of reading TARGET: ``--schedule``, ``--auto``, ``--fast-math``, and others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click

from polysched.autoscheduler.driver import Optimized, optimize_schedule
from polysched.autoscheduler.gaining_sizes import gaining_sizes
from polysched.cli.completion import files
from polysched.cli.options import machine_option
from polysched.cli.targets.c_target import is_c_target, parted_c_target
from polysched.cli.targets.target import Target, load_target
from polysched.cli.terminal import errors
from polysched.errors import FrontendError, TargetError
from polysched.frontends.scop import NO_PROMISES, CProgram, Promises
from polysched.frontends.scop.regions import replacements_of
from polysched.ir.isl.budget import DEFAULT_SECONDS, SAFETY_SECONDS
from polysched.legality.reports.loop_properties import explain_loops
from polysched.legality.reports.loop_reports import keeps_order
from polysched.machine.description import Machine
from polysched.machine.load import as_machine
from polysched.schedule.notation.file import apply_file, read_schedule_file
from polysched.schedule.notation.text import parse_steps
from polysched.schedule.schedule import Schedule

_OWN = (
    *("schedule_file", "function", "fast_math", "machine", "seconds", "fp_contract", "auto"),
    *("no_alias", "conditions", "strict_bounds", "folders", "macros", "threads"),
)
"""Arguments of a command that become a :class:`Reading`."""
_PARTS = (
    "hint: loops of this function have a translation, which 'check', 'compile' and 'rewrite' take; "
    "put '#pragma scop' and '#pragma endscop' around one of them for other commands"
)
_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Reading:
    """The values of the options that control how TARGET is read.

    Attributes:
        schedule_file: a file of steps that are applied to TARGET's schedule.
        fast_math: whether a C file's floating-point reductions may be reassociated, and products
            and sums contracted to FMAs.
        machine: the argument ``machine`` of TARGET's functions; None for this machine.
        auto: whether the autoscheduler continues the schedule.
        threads: the number of threads for which it does, and on which 'run' runs; None for the
            default.
        seconds: processor time for reading one TARGET and for all of isl's work on it; 0 for no
            limit, None for the default.
        fp_contract: ``"fast"`` or ``"off"`` for a C file; None for the setting in the file.
        promises: the promises of the callers of a C function.
    """

    schedule_file: str | None = None
    function: str | None = None
    fast_math: bool = False
    machine: Machine | None = None
    seconds: float | None = None
    auto: bool = False
    threads: int | None = None
    fp_contract: str | None = None
    promises: Promises = NO_PROMISES

    def time_limit(self, *, searches: bool = False) -> float:
        """The time limit; by default longer for a command that searches for a schedule."""
        if self.seconds is not None:
            return self.seconds
        return SAFETY_SECONDS if self.auto or searches else DEFAULT_SECONDS

    def optimized(self, schedule: Schedule, **options: Any) -> Optimized:
        """Continue a schedule by :func:`optimize_schedule`, for this machine and these threads."""
        machine = as_machine(self.machine)
        return optimize_schedule(schedule, machine, threads=self.threads or 1, **options)


def auto_option(command: _Command) -> _Command:
    """Add ``--auto`` and ``--threads`` to a command that has :func:`reading_options`."""
    return click.option(
        "--auto",
        is_flag=True,
        help="Find a fast schedule, as 'polysched optimize' does; it continues TARGET's steps.",
    )(
        threads_option(
            "With --auto: the number of threads that the schedule may use. For 'run': the number "
            "of threads of parallel loops; by default all usable cores."
        )(command)
    )


def threads_option(text: str) -> Callable[[_Command], _Command]:
    """Return the option ``--threads`` of :class:`Reading`, with its help."""
    return click.option("--threads", type=click.IntRange(min=1), metavar="NUMBER", help=text)


_OPTIONS: tuple[Callable[..., Any], ...] = (
    click.option(
        "--schedule",
        "schedule_file",
        metavar="FILE",
        shell_complete=files,
        help="Apply the steps in FILE to TARGET, one step on each line, as 'show --stage schedule' "
        "prints them.",
    ),
    click.option(
        "--function",
        metavar="NAME",
        help="For C files: the function to read, either its region between '#pragma scop' and "
        "'#pragma endscop' or its whole body; the same as FILE.c:NAME.",
    ),
    click.option(
        "--fast-math",
        is_flag=True,
        help="For C files: like -ffast-math of C compilers, allow reassociating floating-point "
        "reductions (integer reductions always allow it), contracting a*b+c to an FMA, and "
        "vectorized functions such as log, sin and tanh. Without it, these functions are calls of "
        "the C library, one for each element.",
    ),
    machine_option,
    click.option(
        "--seconds",
        type=click.FloatRange(min=0),
        default=None,
        help="Limit of the processor time for reading TARGET and for isl's computations, without "
        f"LLVM's time; 0 sets no limit.  [default: {DEFAULT_SECONDS:g}; {SAFETY_SECONDS:g} for "
        "'optimize' and --auto, whose results it must not decide]",
    ),
    click.option(
        "-D", "macros", multiple=True, metavar="NAME[=TEXT]", help="For C files: define a macro."
    ),
    click.option(
        "-I",
        "folders",
        multiple=True,
        metavar="FOLDER",
        shell_complete=files,
        help="For C files: search FOLDER for included files.",
    ),
    click.option(
        "--strict-bounds",
        is_flag=True,
        help="For C files: refuse sizes for which an access lies outside its array. Without it, "
        "they are excluded, and the condition is printed.",
    ),
    click.option(
        "--assume",
        "conditions",
        multiple=True,
        metavar="CONDITION",
        help="For C files: promise a condition on the sizes, such as 'n >= 1 && m < n'.",
    ),
    click.option(
        "--assume-no-alias",
        "no_alias",
        is_flag=True,
        help="For C files: promise that the function's pointers lead to different arrays. Without "
        "it, and without 'restrict', the compiled function checks this at each call.",
    ),
    click.option(
        "--fp-contract",
        type=click.Choice(["fast", "off"]),
        default=None,
        help="For C files: whether a*b+c may round once, as an FMA. gcc's default is 'fast'; the "
        "default here is 'off' unless the file has '#pragma STDC FP_CONTRACT ON'.",
    ),
)
"""The options of :class:`Reading`, in the order of the help."""


def reading_options(command: _Command) -> Callable[..., Any]:
    """Add the options of :class:`Reading` to a command, as argument `reading`."""

    @functools.wraps(command)
    def with_reading(*arguments: Any, **options: Any) -> Any:
        own = {name: options.pop(name) for name in _OWN if name in options}
        flags = [
            *(f"-I{folder}" for folder in own.pop("folders")),
            *(f"-D{macro}" for macro in own.pop("macros")),
        ]
        promises = Promises(
            own.pop("no_alias"), own.pop("conditions"), own.pop("strict_bounds"), tuple(flags)
        )
        reading = Reading(**own, promises=promises)
        return command(*arguments, reading=reading, **options)

    return functools.reduce(lambda made, option: option(made), reversed(_OPTIONS), with_reading)


def load_scheduled_target(
    text: str,
    reading: Reading,
    *,
    uses_threads: bool = False,
    takes_parts: bool = False,
    prefers_parts: bool = False,
) -> Target:
    """Load TARGET's schedule, with the steps of ``--schedule FILE`` and of ``--auto``, if given.

    Args:
        uses_threads: whether the command uses ``--threads`` without ``--auto``.
        takes_parts: whether the command takes the loops of a C function that has no translation as
            a whole. For others, the error says how to choose such a loop.
        prefers_parts: whether the command takes these loops also where the whole function would
            always run as written, or has no proof.

    Raises:
        TargetError, FrontendError: TARGET is not a schedule or a kernel, or an option does not
            apply to it.
        ScheduleError: the file cannot be read, or a step in it cannot be applied.
    """
    if reading.threads is not None and not reading.auto and not uses_threads:
        raise TargetError(
            "--threads is the number of threads that --auto may use; expected --auto, or "
            "parallel(...) in the schedule, whose callers choose the number"
        )
    try:
        target = load_target(text, reading.function, reading.machine, reading.promises)
    except FrontendError as error:
        if takes_parts or not _has_parts(text, reading):
            raise
        raise FrontendError(f"{error}\n{_PARTS}", error.reason, error.location) from None
    without_use = None if target.program is None else target.program.without_use
    if (
        prefers_parts
        and without_use is not None
        and not reading.schedule_file
        and _has_parts(text, reading)
    ):
        raise without_use
    used = _options_of_c(reading)
    if used and target.program is None:
        other = ", or order='any'" if used == ["--fast-math"] else ""
        raise TargetError(f"{used[0]} is for C files; expected FILE.c{other} in '{target.label}'")
    if target.program is not None:
        program = with_floating_point(target.program, reading)
        target = replace(target, schedule=Schedule(program.kernel), program=program)
    if reading.schedule_file is not None:
        schedule = apply_file(_start(target.schedule, reading.schedule_file), reading.schedule_file)
        label = f"{target.label} with {reading.schedule_file}"
        target = replace(target, label=label, schedule=schedule)
    if reading.auto:
        made = reading.optimized(target.schedule)
        if not made.decisions and reading.schedule_file is None:
            errors().print(f"hint: {no_gain(target.schedule, reading)}", highlight=False)
        target = replace(target, schedule=made.schedule, gains=gaining_sizes(made))
    return target


def no_gain(schedule: Schedule, reading: Reading) -> str:
    """Say that ``--auto`` finds nothing faster, and whether ``--fast-math`` may change that."""
    kept = keeps_order(explain_loops(schedule)) and not reading.fast_math
    hint = "; a sum keeps its order, which --fast-math frees" if kept else ""
    return f"no schedule is predicted to make this faster{hint}"


def _start(schedule: Schedule, path: str) -> Schedule:
    """The schedule that a file continues: the bare kernel if the file repeats the steps so far.

    ``optimize -o FILE`` writes all steps, those of TARGET too.
    """
    steps = tuple(step for step, _ in parse_steps(read_schedule_file(path), path))
    repeats = steps[: len(schedule.steps)] == schedule.steps
    return Schedule(schedule.kernel) if repeats else schedule


def _has_parts(text: str, reading: Reading) -> bool:
    """Whether a part of a function of a C file has a translation."""
    path, name = parted_c_target(text)
    if not is_c_target(text) or (name or reading.function) is None:
        return False
    try:
        found, _ = replacements_of(Path(path), name or reading.function, reading.promises)
    except FrontendError:
        return False
    return any(not replacement.program.region.is_function for replacement in found)


def hint_at_auto(is_scheduled: bool, reading: Reading) -> None:
    """Write a hint to the error output if the code runs as written, without a schedule."""
    if not is_scheduled and not reading.auto:
        errors().print("hint: there is no schedule; --auto finds and proves one")


def _options_of_c(reading: Reading) -> list[str]:
    """The options used that apply to C files only."""
    options = {
        "--fast-math": reading.fast_math,
        "--fp-contract": reading.fp_contract is not None,
        "--assume-no-alias": reading.promises.no_alias,
        "--assume": bool(reading.promises.conditions),
        "--strict-bounds": reading.promises.strict_bounds,
        "-I or -D": bool(reading.promises.preprocessor),
    }
    return [name for name, is_used in options.items() if is_used]


def with_floating_point(program: CProgram, reading: Reading) -> CProgram:
    """Apply ``--fast-math`` and ``--fp-contract`` to a C program; the latter counts more."""
    if reading.fast_math:
        program = program.with_fast_math()
    if reading.fp_contract is not None:
        program = program.with_contraction(reading.fp_contract == "fast")
    return program
