"""``polysched plot``: draw a schedule's instances, dependences and order to a file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import click

from polysched.cli.completion import files
from polysched.cli.inputs import sizes_option
from polysched.cli.options import WrittenFile
from polysched.cli.targets.schedule_file import (
    Reading,
    auto_option,
    load_scheduled_target,
    reading_options,
)
from polysched.cli.terminal import output
from polysched.dependence.relations import DependenceKind
from polysched.errors import TargetError, suggestion
from polysched.ir.isl.budget import time_budget
from polysched.plot.figure import drawn, picture_format, require_matplotlib, save
from polysched.plot.picture import picture
from polysched.plot.view import Color, View

DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
"""Environment variables that name a display."""

_KINDS = [kind.value for kind in DependenceKind]


def _names(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, ...]:
    return tuple(name for name in map(str.strip, value.split(",")) if name)


def _kinds(
    context: click.Context, parameter: click.Parameter, value: str
) -> tuple[DependenceKind, ...]:
    """Parse a list of dependence kinds such as ``flow,anti``."""
    names = _names(context, parameter, value)
    for name in names:
        if name not in _KINDS and names != ("none",):
            message = f"no kind of dependence '{name}'{suggestion(name, [*_KINDS, 'none'])}"
            raise click.BadParameter(message, context, parameter)
    return tuple(kind for kind in DependenceKind if kind.value in names)


def _parsed_values(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int | range]:
    """Parse the repeated option ``--at NAME=NUMBER`` or ``--at NAME=NUMBER:NUMBER``."""
    at: dict[str, int | range] = {}
    for value in values:
        name, _, text = map(str.strip, value.partition("="))
        try:
            first, *last = map(int, text.split(":", 1))
        except ValueError:
            message = f"'{value}' is not NAME=NUMBER or NAME=NUMBER:NUMBER, such as i=0 or i=0:16"
            raise click.BadParameter(message, context, parameter) from None
        if name in at:
            raise click.BadParameter(f"'{name}' is given twice", context, parameter)
        at[name] = range(first, *last) if last else first
    return at


@click.command("plot")
@click.argument("target", shell_complete=files)
@reading_options
@auto_option
@click.option(
    "-o",
    "--output",
    "file",
    type=WrittenFile(path_type=Path),
    metavar="FILE",
    help="The picture to write, which ends in .png, .svg or .pdf. By default it is shown on the "
    "display, if there is one.",
)
@click.option(
    "--statement",
    "statements",
    multiple=True,
    metavar="NAME",
    help="A statement to show; may be repeated. By default all.",
)
@click.option(
    "--dimensions",
    callback=_names,
    default="",
    metavar="X,Y",
    help="One or two indices or loops as axes. If a loop has the name of an index, write "
    "'statement.loop'.",
)
@click.option(
    "--at",
    multiple=True,
    callback=_parsed_values,
    metavar="NAME=NUMBER[:NUMBER]",
    help="Show only the instances at this value of a dimension that is not an axis, or at the "
    "values of a dimension from one number to before another; may be repeated. By default a part "
    "of a domain that is too large.",
)
@sizes_option("The value of a parameter; may be repeated. By default a small value is chosen.")
@click.option(
    "--color",
    type=click.Choice([color.value for color in Color]),
    callback=lambda _, __, value: Color(value),
    default=Color.ORDER.value,
    show_default=True,
    help="The property that the color of a dot shows.",
)
@click.option(
    "--tile",
    callback=_names,
    default="",
    metavar="LOOPS",
    help="With --color tile: the loops whose iterations are the tiles, such as io,jo.",
)
@click.option(
    "--arrows",
    callback=_kinds,
    default=",".join(_KINDS),
    show_default=True,
    metavar="KINDS",
    help="The kinds of dependences to draw as arrows, or 'none'.",
)
@click.option("--path", "has_path", is_flag=True, help="Connect the dots in execution order.")
def plot_command(target: str, reading: Reading, file: Path | None, **choices: Any) -> None:
    """Draw a schedule's instances, dependences and execution order. It need not be legal.

    A dot is a statement instance, or several instances that differ only in dimensions that are not
    shown. Arrows are direct dependences: from a write to the next reads and the next write of the
    element, from a read to the next write. If the schedule is illegal, two instances that it runs
    in the wrong order are red. --machine is passed to a TARGET function with a parameter
    'machine'.

    \b
    polysched plot examples/seidel.py:tiled -o tiled.png
    polysched plot examples/seidel.py:skewed -o skewed.svg --dimensions t,i --at j=1 --color tile
    polysched plot my_kernel.py -o order.png --size n=8 --arrows none --path

    Needs matplotlib: pip install matplotlib.
    """
    view = View(**choices)
    if view.tile and view.color is not Color.TILE:
        raise click.UsageError(
            f"--tile chooses the tiles of --color tile; it has no effect with --color "
            f"{view.color.value}"
        )
    if file is not None:
        picture_format(file)
    elif not any(os.environ.get(name) for name in DISPLAYS):
        raise click.UsageError("there is no display to show the picture on; expected -o FILE")
    require_matplotlib()
    with time_budget(reading.time_limit()):
        loaded = load_scheduled_target(target, reading)
        if reading.machine is not None and not loaded.for_machine:
            raise TargetError(
                f"--machine {reading.machine.name} has no effect on a picture of "
                f"'{loaded.label}'; expected a function with a parameter 'machine', which makes a "
                "schedule for it"
            )
        shown = picture(loaded.schedule, view)
    written = file or Path(tempfile.mkdtemp(prefix="polysched-")) / f"{shown.kernel}.svg"
    save(drawn(shown), written)
    if file is None:
        click.launch(str(written))
    sizes = "".join(f", {name} = {value}" for name, value in shown.parameters.items())
    output().print(f"{written}: {shown.kernel}{sizes}, {shown.verdict.kind.value}")
