"""Command-line options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click

from polysched.bench.measure.race import Rules
from polysched.cli.completion import machines
from polysched.errors import BenchError
from polysched.machine.description import Machine
from polysched.machine.detect import detect_host
from polysched.machine.load import load_machine
from polysched.runtime.jit import require_runnable

_Command = TypeVar("_Command", bound=Callable[..., Any])


class WrittenFile(click.Path):
    """A file that a command writes; ``-`` is the standard output if dashes are allowed.

    Names that begin with ``--`` are refused: ``--sarif --json`` would write a file ``--json``.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check and convert the path; a `click.BadParameter` if it begins with ``--``."""
        if isinstance(value, str) and value.startswith("--"):
            self.fail(f"'{value}' is an option; expected the name of a file before it", param, ctx)
        return super().convert(value, param, ctx)


class NumbersType(click.ParamType):  # type: ignore[type-arg]  # click 8.2 is not generic
    """Parameter type: integers joined by ``x``, such as ``512x512``, and the value made of them.

    Args:
        metavar: their names, joined as the numbers are: ``ROWSxCOLUMNS``.
        example: numbers of a message.
        make: called with the numbers; a `BenchError` that it raises is an error of the option.
        separator: between the numbers.
    """

    _COUNTS: ClassVar = {2: "two", 3: "three", 5: "five"}

    def __init__(
        self, metavar: str, example: str, make: Callable[..., Any], separator: str = "x"
    ) -> None:
        self.name, self._example, self._make, self._separator = metavar, example, make, separator

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the numbers; a `click.BadParameter` if they do not fit."""
        if not isinstance(value, str):
            return value
        count = len(self.name.split(self._separator))
        try:
            numbers = list(map(int, value.split(self._separator)))
        except ValueError:
            numbers = []
        if len(numbers) != count:
            expected = f"{self._COUNTS[count]} numbers {self.name}, such as {self._example}"
            self.fail(f"'{value}' is not {expected}", param, ctx)
        try:
            return self._make(*numbers)
        except BenchError as error:
            self.fail(str(error), param, ctx)


records_option = click.option(
    "--json", "as_records", is_flag=True, help="Print a JSON line for each contestant."
)
threads_option = click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of threads of every contestant.",
)


def output_option(text: str) -> Callable[[_Command], _Command]:
    """Add the required option ``-o FILE`` to a command, as argument `file`."""
    path = WrittenFile(path_type=Path)
    return click.option(
        "-o", "--output", "file", type=path, required=True, metavar="FILE", help=text
    )


def machine_option(command: _Command) -> _Command:
    """Add the option ``--machine MACHINE`` to a command, as argument `machine`.

    The argument is a :class:`Machine`, or None without the option. An unknown machine is a
    `MachineError`.
    """
    return _machine_option(read_machine)(command)


def racing_machine_option(command: _Command) -> _Command:
    """Add the option ``--machine MACHINE`` to a command that runs the code.

    A machine whose code this host cannot run is a `MachineError`, raised before the command runs.
    """
    return _machine_option(_runnable_machine)(command)


def _machine_option(
    callback: Callable[[click.Context, click.Parameter, str | None], Machine | None],
) -> Callable[[_Command], _Command]:
    return click.option(
        "--machine",
        metavar="MACHINE",
        callback=callback,
        shell_complete=machines,
        help="The machine to schedule and generate code for: a name (see 'polysched machine "
        "--help'), a .toml file, or 'host' for this machine, the default.",
    )


def read_machine(_: click.Context, __: click.Parameter, text: str | None) -> Machine | None:
    """Load the machine that an option or argument names; None without one."""
    return None if text is None else load_machine(text)


def _runnable_machine(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> Machine | None:
    machine = read_machine(context, parameter, text)
    if machine is not None:
        require_runnable(machine, detect_host())
    return machine


@dataclass(frozen=True)
class Racing:
    """Settings of a benchmark race.

    Attributes:
        rounds: number of rounds; every contestant runs once in each.
        seconds: time limit of the measurements.
        machine: the machine for which polysched's code is compiled; None for this machine.
    """

    rounds: int
    seconds: float
    machine: Machine | None

    @property
    def rules(self) -> Rules:
        """The rules of a race."""
        return Rules(rounds=self.rounds, seconds_budget=self.seconds)


def race_options(
    part: str, limit: float = 5.0, *, other_machines: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--rounds``, ``--seconds`` and ``--machine`` to a command, as argument `racing`.

    Args:
        part: the part of the benchmark that ``--seconds`` limits, such as ``"each shape"``.
        limit: the default of ``--seconds``.
        other_machines: whether polysched's code can be compiled for another machine; without it,
            the command has no ``--machine``.
    """
    rounds = click.option(
        "--rounds",
        type=click.IntRange(min=1),
        default=15,
        show_default=True,
        help="Number of rounds; every contestant runs once in each.",
    )
    seconds = click.option(
        "--seconds",
        type=click.FloatRange(min=0, min_open=True),
        default=limit,
        show_default=True,
        help=f"Time limit of the measurements of {part}; if it is short, slow contestants run less "
        "often.",
    )

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_racing(
            *arguments: Any,
            rounds: int,
            seconds: float,
            machine: Machine | None = None,
            **options: Any,
        ) -> Any:
            return command(*arguments, racing=Racing(rounds, seconds, machine), **options)

        inner = racing_machine_option(with_racing) if other_machines else with_racing
        return rounds(seconds(inner))

    return with_options
