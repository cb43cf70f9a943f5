"""Options that several commands have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., Any])


def output_option(text: str) -> Callable[[_Command], _Command]:
    """Give a command the option ``-o FILE``, which it needs, passed to it as `file`.

    Args:
        text: the option's help.
    """
    path = click.Path(path_type=Path)
    return click.option(
        "-o", "--output", "file", type=path, required=True, metavar="FILE", help=text
    )


def machine_option(command: _Command) -> _Command:
    """Give a command the option ``--machine MACHINE``, passed to it as `machine`."""
    return click.option(
        "--machine",
        metavar="MACHINE",
        help="What to generate code for: a name (see 'polysched machine'), a .toml file, or "
        "'host'.",
    )(command)


def race_options(part: str) -> Callable[[_Command], _Command]:
    """Give a command of races the options ``--rounds`` and ``--seconds``.

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
    return lambda command: rounds(seconds(command))
