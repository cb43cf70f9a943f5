"""``polysched plot``: a picture of a schedule's instances and dependences in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from polysched.cli.inputs import parsed_sizes
from polysched.cli.options import output_option
from polysched.cli.schedule_file import Reading, load_scheduled_target, reading_options
from polysched.cli.terminal import output
from polysched.dependence.relations import DependenceKind
from polysched.errors import TargetError, suggestion
from polysched.ir.budget import time_budget
from polysched.plot.figure import drawn, picture_format, require_matplotlib, save
from polysched.plot.picture import picture
from polysched.plot.view import Color, View

_KINDS = [kind.value for kind in DependenceKind]


def _names(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """The names of a list such as ``i,j``."""
    return tuple(name for name in map(str.strip, value.split(",")) if name)


def _color(_context: click.Context, _parameter: click.Parameter, value: str) -> Color:
    return Color(value)


def _kinds(
    context: click.Context, parameter: click.Parameter, value: str
) -> tuple[DependenceKind, ...]:
    """The kinds of dependences in a list such as ``flow,anti``.

    Raises:
        click.BadParameter: one is unknown.
    """
    names = _names(context, parameter, value)
    for name in names:
        if name not in _KINDS and names != ("none",):
            message = f"no kind of dependence '{name}'{suggestion(name, [*_KINDS, 'none'])}"
            raise click.BadParameter(message, context, parameter)
    return tuple(kind for kind in DependenceKind if kind.value in names)


@click.command("plot")
@click.argument("target")
@reading_options
@output_option("Where to write the picture; ends in .png, .svg or .pdf.")
@click.option(
    "--statement",
    "statements",
    multiple=True,
    metavar="NAME",
    help="A statement to show; once for each. All by default.",
)
@click.option(
    "--dimensions",
    callback=_names,
    default="",
    metavar="X,Y",
    help="One or two indices or loops for the axes; 'statement.loop' means the loop.",
)
@click.option(
    "--at",
    multiple=True,
    callback=parsed_sizes,
    metavar="NAME=NUMBER",
    help="Show only the instances at this value of a dimension that is no axis.",
)
@click.option(
    "--size",
    "sizes",
    multiple=True,
    callback=parsed_sizes,
    metavar="NAME=NUMBER",
    help="A parameter's value; once for each. Small ones are chosen by default.",
)
@click.option(
    "--color",
    type=click.Choice([one.value for one in Color]),
    callback=_color,
    default=Color.ORDER.value,
    show_default=True,
    help="What the color of a dot tells.",
)
@click.option(
    "--tile",
    callback=_names,
    default="",
    metavar="LOOPS",
    help="With --color tile: the loops whose values make a tile, such as io,jo.",
)
@click.option(
    "--arrows",
    callback=_kinds,
    default=",".join(_KINDS),
    show_default=True,
    metavar="KINDS",
    help="The kinds of dependences to show, or none.",
)
@click.option("--path", "has_path", is_flag=True, help="Join the dots in the order of execution.")
def plot_command(
    target: str,
    reading: Reading,
    file: Path,
    **choices: Any,
) -> None:
    """Draw a schedule's instances, dependences and order. It need not be legal.

    A dot is an instance of a statement, or several that differ in dimensions not shown only. Arrows
    are direct dependences: from the last write to what reads or writes next, from a read to the
    next write. If the schedule is illegal, two instances that it runs in the wrong order are red.
    A function that makes schedules for machines is given the one that --machine names.

    \b
    polysched plot examples/seidel.py:tiled -o tiled.png
    polysched plot examples/seidel.py:skewed -o skewed.svg --dimensions t,i --at j=1 --color tile
    polysched plot my_kernel.py -o order.png --size n=8 --arrows none --path

    Needs matplotlib: pip install 'polysched[plot]'.
    """
    view = View(**choices)
    if view.tile and view.color is not Color.TILE:
        raise click.UsageError(
            f"--tile says what a tile is: it needs --color tile, not {view.color.value}"
        )
    picture_format(file)
    require_matplotlib()
    with time_budget(reading.seconds):
        loaded = load_scheduled_target(target, reading)
        if reading.machine is not None and not loaded.for_machine:
            raise TargetError(
                f"--machine {reading.machine.name} changes nothing in a picture of "
                f"'{loaded.label}'; expected a function with a parameter 'machine', which makes a "
                "schedule for it"
            )
        shown = picture(loaded.schedule, view)
    save(drawn(shown), file)
    sizes = "".join(f", {name} = {value}" for name, value in shown.parameters.items())
    output().print(f"{file}: {shown.kernel}{sizes}, {shown.verdict.kind.value}")
