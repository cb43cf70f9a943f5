"""Options that several commands have in common."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from polysched.bench.race import Rules
from polysched.machine.description import Machine
from polysched.machine.detect import detect_host
from polysched.machine.load import load_machine
from polysched.runtime.jit import require_runnable

_Command = TypeVar("_Command", bound=Callable[..., Any])


class WrittenFile(click.Path):
    """A file that a command writes; ``-`` is the standard output where that is allowed.

    What begins like a long option is refused: ``--sarif --json`` would write a file of that name.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; a `click.BadParameter` if it is none."""
        if isinstance(value, str) and value.startswith("--"):
            self.fail(f"'{value}' is an option; expected the name of a file before it", param, ctx)
        return super().convert(value, param, ctx)


def output_option(text: str) -> Callable[[_Command], _Command]:
    """Give a command the option ``-o FILE``, which it needs, passed to it as `file`.

    Args:
        text: the option's help.
    """
    path = WrittenFile(path_type=Path)
    return click.option(
        "-o", "--output", "file", type=path, required=True, metavar="FILE", help=text
    )


def machine_option(command: _Command) -> _Command:
    """Give a command the option ``--machine MACHINE``, passed to it as `machine`.

    It is a :class:`Machine`, or None where the option is not given. What names no machine is a
    `MachineError`.
    """
    return _machine_option(_machine)(command)


def racing_machine_option(command: _Command) -> _Command:
    """Give a command that runs code the same option.

    A machine whose code this host cannot run is a `MachineError`, before anything is done.
    """
    return _machine_option(_runnable_machine)(command)


def _machine_option(
    meant: Callable[[click.Context, click.Parameter, str | None], Machine | None],
) -> Callable[[_Command], _Command]:
    return click.option(
        "--machine",
        metavar="MACHINE",
        callback=meant,
        help="The machine to schedule and generate code for: a name (see 'polysched machine "
        "--help'), a .toml file, or 'host', which is the default.",
    )


def _machine(_: click.Context, __: click.Parameter, text: str | None) -> Machine | None:
    return None if text is None else load_machine(text)


def _runnable_machine(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> Machine | None:
    machine = _machine(context, parameter, text)
    if machine is not None:
        require_runnable(machine, detect_host())
    return machine


@dataclass(frozen=True)
class Racing:
    """How a command races.

    Attributes:
        rounds: in each of them every contestant runs once.
        seconds: the budget of the timed part.
        machine: what polysched's own code is for; None: this one.
    """

    rounds: int
    seconds: float
    machine: Machine | None

    def rules(self, tolerance: float = 0.0) -> Rules:
        """The rules of one race.

        Args:
            tolerance: how far a result may be from the reference.
        """
        return Rules(rounds=self.rounds, seconds_budget=self.seconds, tolerance=tolerance)


def race_options(part: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command of races the options ``--rounds``, ``--seconds`` and ``--machine``, passed to
    it as `racing`, a :class:`Racing`.

    Args:
        part: what the seconds are for, ``"each shape"``.
    """
    rounds = click.option("--rounds", type=click.IntRange(min=1), default=15, show_default=True)
    seconds = click.option(
        "--seconds",
        type=click.FloatRange(min=0, min_open=True),
        default=5.0,
        show_default=True,
        help=f"Budget of the timed part of {part}.",
    )

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(command)
        def with_racing(
            *given: Any, rounds: int, seconds: float, machine: Machine | None, **options: Any
        ) -> Any:
            return command(*given, racing=Racing(rounds, seconds, machine), **options)

        return rounds(seconds(racing_machine_option(with_racing)))

    return with_options
