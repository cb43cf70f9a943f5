"""Heading, color bar and legend of a figure, and their texts."""

from __future__ import annotations

import textwrap
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from polysched.dependence.relations import DependenceKind
from polysched.legality.verdicts.verdict import VERDICT_COLORS
from polysched.plot.frame import Frame
from polysched.plot.palette import INK, ORDER_MAP, PATH_COLOR, RED, legend_tiles, line_of, marker
from polysched.plot.picture import Picture
from polysched.plot.view import Color, fixed_text

# Subtitle: letters that fit in an inch, and the height of a line in inches.
_LETTERS_PER_INCH = 15
_LINE = 0.15

# Legend: the width of a letter, and of the symbol before the text, in inches.
_LEGEND_LETTER = 0.07
_LEGEND_SYMBOL = 0.55


def add_heading(figure: Figure, picture: Picture, placed: Frame) -> None:
    """Write title and subtitle above the axes, and enlarge the figure by their height."""
    width, height = placed.size
    lines = [
        part
        for line in subtitle(picture)
        for part in textwrap.wrap(line, int(width * _LETTERS_PER_INCH))
    ]
    heading = 0.4 + _LINE * len(lines)
    whole = height + heading
    figure.set_size_inches(width, whole)
    engine = figure.get_layout_engine()
    assert isinstance(engine, ConstrainedLayoutEngine), "draw() asks for this layout"
    engine.set(rect=(0, 0, 1, height / whole))
    style: dict[str, Any] = {"ha": "left", "va": "top", "parse_math": False}
    left, top = 0.1 / width, 1 - 0.08 / whole
    color = VERDICT_COLORS[picture.verdict.kind]
    figure.text(left, top, title(picture), color=color, size=12, weight="bold", **style)
    figure.text(left, top - 0.26 / whole, "\n".join(lines), color=INK, size=8, **style)


def add_order_bar(figure: Figure, axes: Axes, picture: Picture) -> None:
    """Add a color bar that maps colors to execution order."""
    last = max(dot.order for dot in picture.dots)
    bar = figure.colorbar(
        ScalarMappable(Normalize(0, max(last, 1)), ORDER_MAP), ax=axes, fraction=0.04, pad=0.02
    )
    bar.set_label("order of execution", fontsize=8)
    bar.ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    bar.ax.tick_params(labelsize=7)
    bar.outline.set_visible(False)


def add_legend(figure: Figure, picture: Picture, placed: Frame) -> None:
    """Add a legend below the axes for the shapes, colors and lines that occur in the picture."""
    entries: list[tuple[Artist, str]] = []
    if len(picture.statements) > 1 and not placed.rows:
        entries += [
            (_symbol(marker(position), "#ffffff", INK), f"statement {name}")
            for position, name in enumerate(picture.statements)
        ]
    entries += [
        (_symbol("o", color, INK), tile_label(picture, tile))
        for tile, color in legend_tiles(picture).items()
    ]
    for kind in DependenceKind:
        for reorderable in (False, True):
            key = (kind, reorderable)
            if any((arrow.dependence, arrow.reorderable) == key for arrow in picture.arrows):
                line = line_of(kind, reorderable=reorderable)
                symbol = Line2D([], [], linestyle=line.style, color=line.color, alpha=line.alpha)
                order = ", any order" if reorderable else ""
                entries.append((symbol, f"{kind.value} dependence{order}"))
    if picture.has_path:
        entries.append((Line2D([], [], color=PATH_COLOR, alpha=0.5), "order of execution"))
    if picture.marks:
        entries.append((_symbol("o", "none", RED), "witness"))
    if entries:
        handles, labels = zip(*entries, strict=True)
        column = max(map(len, labels)) * _LEGEND_LETTER + _LEGEND_SYMBOL
        figure.legend(
            handles,
            labels,
            loc="outside lower center",
            ncols=min(len(entries), max(int(placed.size[0] / column), 1)),
            fontsize=8,
            frameon=False,
        )


def _symbol(marker: str, face: str, edge: str) -> Line2D:
    return Line2D(
        [],
        [],
        marker=marker,
        linestyle="none",
        markersize=8,
        markerfacecolor=face,
        markeredgecolor=edge,
    )


def title(picture: Picture) -> str:
    """The title: the kernel and the verdict."""
    return f"{picture.kernel}: {picture.verdict.kind.value}"


def subtitle(picture: Picture) -> tuple[str, ...]:
    """The subtitle lines: statements and sizes, the meaning of colors, and omissions."""
    plural = "statements" if len(picture.statements) > 1 else "statement"
    sizes = [f"{name} = {value}" for name, value in picture.parameters.items()]
    first = f"{plural} {', '.join(picture.statements)}"
    lines = [f"{first} at {', '.join(sizes)}" if sizes else first]
    lines += _hidden(picture)
    if picture.color is Color.TILE:
        tiles = len({dot.tile for dot in picture.dots})
        lines.append(f"colored by tile ({', '.join(picture.tile)}); {tiles:,} in the picture")
    violation = picture.verdict.violation
    if violation is not None:
        lines.append(picture.verdict.reason.splitlines()[0].removeprefix("illegal: "))
    return (*lines, *picture.notes)


def _hidden(picture: Picture) -> list[str]:
    lines = []
    if picture.fixed:
        lines.append(f"only the instances at {fixed_text(picture.fixed)}")
    if picture.projected:
        most = max(dot.instances for dot in picture.dots)
        coloring = "" if picture.color is Color.NONE else ", colored by the first to run"
        lines.append(
            f"projected along {', '.join(picture.projected)}: a dot is up to {most:,} "
            f"instances{coloring}"
        )
    return lines


def tile_label(picture: Picture, tile: tuple[int, ...]) -> str:
    """The label of a tile: the values of its loops."""
    values = zip(picture.tile, tile, strict=True)
    return f"tile {', '.join(f'{name} = {value}' for name, value in values)}"
