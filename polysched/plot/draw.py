"""Draw a picture with matplotlib.

Matplotlib is optional. Use :mod:`polysched.plot.figure`, which raises a helpful error if it is
missing. This module does not touch matplotlib's global state (pyplot), so it works in any program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.ticker import MaxNLocator

from polysched.plot.frame import Frame, frame
from polysched.plot.labels import add_heading, add_legend, add_order_bar
from polysched.plot.palette import (
    INK,
    PATH_COLOR,
    RED,
    WITNESS_LINE,
    Line,
    colors,
    is_dark,
    line_of,
    marker,
)
from polysched.plot.picture import Picture
from polysched.plot.symbols import Arrow, Dot
from polysched.plot.view import Color


def draw(picture: Picture) -> Figure:
    """Draw a picture as a matplotlib figure, which notebooks show and ``savefig`` writes."""
    placed = frame(picture)
    figure = Figure(figsize=placed.size, layout="compressed")
    axes = figure.add_subplot()
    _set_axes(axes, picture, placed)
    _draw_arrows(axes, picture, placed)
    if picture.has_path:
        _draw_path(axes, picture, placed)
    _draw_dots(axes, picture, placed)
    _draw_marks(axes, picture, placed)
    add_heading(figure, picture, placed)
    if picture.color is Color.ORDER:
        add_order_bar(figure, axes, picture)
    add_legend(figure, picture, placed)
    return figure


def _set_axes(axes: Axes, picture: Picture, placed: Frame) -> None:
    axes.set_xlim(*placed.limits[0])
    axes.set_ylim(*placed.limits[1])
    axes.set_xlabel(picture.dimensions[0], parse_math=False)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if placed.rows:
        positions = [placed.position(name, (0,))[1] for name in placed.rows]
        axes.set_yticks(positions, placed.rows, parse_math=False)
    else:
        axes.set_ylabel(picture.dimensions[1], parse_math=False)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_aspect("equal" if placed.is_even else "auto")
    axes.grid(color="#eeeeee", linewidth=0.6)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_color("#bbbbbb")


def _draw_arrows(axes: Axes, picture: Picture, placed: Frame) -> None:
    for arrow in picture.arrows:
        line = line_of(arrow.dependence, reorderable=arrow.reorderable)
        if not line.bend and _passes_a_dot(arrow):
            line = replace(line, bend=0.15)
        start = placed.position(arrow.source, arrow.start)
        axes.add_patch(_arrow(start, placed.position(arrow.sink, arrow.end), placed, line))


def _passes_a_dot(arrow: Arrow) -> bool:
    """Whether a straight arrow would pass over places between its ends."""
    steps = [end - start for start, end in zip(arrow.start, arrow.end, strict=True)]
    return math.gcd(*steps) > 1


def _arrow(
    start: tuple[float, float], end: tuple[float, float], placed: Frame, line: Line
) -> FancyArrowPatch:
    return FancyArrowPatch(
        start,
        end,
        arrowstyle="-|>",
        mutation_scale=min(placed.dot * 0.7, 9.0) * max(line.width, 0.9) ** 0.5,
        connectionstyle=f"arc3,rad={line.bend}",
        shrinkA=placed.dot / 2,
        shrinkB=placed.dot / 2,
        linestyle=line.style,
        color=line.color,
        alpha=line.alpha,
        linewidth=line.width,
        zorder=line.layer,
    )


def _draw_path(axes: Axes, picture: Picture, placed: Frame) -> None:
    xs, ys = _columns([placed.position(dot.statement, dot.place) for dot in picture.dots])
    axes.plot(xs, ys, color=PATH_COLOR, linewidth=0.8, alpha=0.5, zorder=1.5)


def _columns(positions: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in positions], [y for _, y in positions]


def _draw_dots(axes: Axes, picture: Picture, placed: Frame) -> None:
    colored = list(zip(picture.dots, colors(picture), strict=True))
    for name in picture.statements:
        own = [(dot, color) for dot, color in colored if dot.statement == name]
        if not own:
            continue
        xs, ys = _columns([placed.position(name, dot.place) for dot, _ in own])
        axes.scatter(
            xs,
            ys,
            s=placed.dot**2,
            c=[color for _, color in own],
            marker=marker(picture.statements.index(name)),
            edgecolors=INK,
            linewidths=min(0.5, placed.dot * 0.05),
            zorder=3,
        )
    if picture.color is Color.ORDER and _has_room_for_numbers(picture.dots, placed):
        for dot, color in colored:
            axes.text(
                *placed.position(dot.statement, dot.place),
                str(dot.order),
                color="white" if is_dark(color) else "black",
                fontsize=placed.dot * 0.42,
                ha="center",
                va="center_baseline",
                zorder=5,
            )


def _has_room_for_numbers(dots: tuple[Dot, ...], placed: Frame) -> bool:
    return placed.dot >= 10 and len(dots) <= 200 and dots[-1].order < 1000


def _draw_marks(axes: Axes, picture: Picture, placed: Frame) -> None:
    positions = [placed.position(mark.statement, mark.place) for mark in picture.marks]
    for mark, (x, y), side in zip(picture.marks, positions, _sides(positions), strict=True):
        axes.scatter(
            [x],
            [y],
            s=(placed.dot * 1.25) ** 2,
            marker=marker(picture.statements.index(mark.statement)),
            facecolors="none",
            edgecolors=RED,
            linewidths=2.0,
            zorder=4,
        )
        axes.annotate(
            mark.label,
            (x, y),
            xytext=(0, side * (placed.dot * 0.75 + 2)),
            textcoords="offset points",
            ha="center",
            va="bottom" if side > 0 else "top",
            color=RED,
            fontsize=9,
            fontweight="bold",
            zorder=6,
            parse_math=False,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.8, "linewidth": 0},
        )
    if len(positions) == 2 and positions[0] != positions[1]:
        axes.add_patch(_arrow(positions[0], positions[1], placed, WITNESS_LINE))


def _sides(positions: list[tuple[float, float]]) -> list[int]:
    """For each mark, whether its label goes above (1) or below (-1): away from the other mark."""
    if len(positions) < 2:
        return [1] * len(positions)
    return [1, -1] if positions[0][1] >= positions[1][1] else [-1, 1]
