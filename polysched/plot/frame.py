"""Layout of a figure: its size in inches, the size of its dots in points, and their positions."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.plot.picture import Picture
from polysched.plot.symbols import Place

_CELL, _LARGEST_CELL = 0.5, 0.8
"""Preferred distance of neighboring places, in inches: for one statement, and at most for many."""

_WIDEST, _HIGHEST, _LEAST = 11.0, 8.0, 1.2
"""Maximum width, maximum height, and minimum of both for the axes, in inches."""

_MARGIN_WIDTH, _MARGIN_HEIGHT = 1.6, 1.3
"""Room for labels, the color bar and the legend, in inches."""

_LEAST_FIGURE = 6.0
"""Minimum width of a figure, so that the heading fits, in inches."""

_DOT, _DOT_ALONE = 0.5 * 72, 0.75 * 72
"""Diameter of a dot, in points for places an inch apart: with arrows, and without."""


@dataclass(frozen=True)
class Frame:
    """Layout of a figure.

    Attributes:
        size: width and height of the figure without its heading, in inches.
        dot: the diameter of a dot, in points.
        limits: the ends of both axes, in the units of the picture's dimensions.
        rows: for a picture of one dimension the statements, from the top; else empty.
        is_even: whether both axes have the same scale.
        offsets: the diagonal offset of each statement's dots from their place, in the units of
            the dimensions.
    """

    size: tuple[float, float]
    dot: float
    limits: tuple[tuple[float, float], tuple[float, float]]
    rows: tuple[str, ...]
    is_even: bool
    offsets: dict[str, float]

    def position(self, statement: str, place: Place) -> tuple[float, float]:
        """The position of a dot; statements at the same place are offset from each other."""
        if self.rows:
            return float(place[0]), float(-self.rows.index(statement))
        offset = self.offsets[statement]
        return place[0] + offset, place[1] - offset


def frame(picture: Picture) -> Frame:
    """Lay out a figure that shows all dots of a picture."""
    count = len(picture.statements)
    rows = picture.statements if len(picture.dimensions) == 1 else ()
    overlaid = 1 if rows else count  # statements that share places
    xs = [dot.place[0] for dot in picture.dots]
    ys = [-row for row in range(count)] if rows else [dot.place[1] for dot in picture.dots]
    across, up = max(xs) - min(xs) + 1, max(ys) - min(ys) + 1
    wanted = min(_CELL * (1 + 0.25 * (overlaid - 1)), _LARGEST_CELL)
    cell = min(wanted, _WIDEST / across, _HIGHEST / up)
    # If the picture is much longer than wide (or wider than long), stretch the shorter side.
    wide, high = max(cell, wanted / 2, _LEAST / across), max(cell, wanted / 2, _LEAST / up)
    is_even = not rows and max(across, up) <= 4 * min(across, up)
    if is_even:
        wide = high = max(cell, _LEAST / max(across, up))
    width, height = min(wide * across, _WIDEST), min(high * up, _HIGHEST)
    dot = _DOT if picture.arrows or overlaid > 1 else _DOT_ALONE
    spread = min(0.8 / count, 0.4)
    return Frame(
        size=(max(width + _MARGIN_WIDTH, _LEAST_FIGURE), height + _MARGIN_HEIGHT),
        dot=min(max(min(width / across, height / up) * dot / overlaid**0.7, 2.0), 18.0),
        limits=((min(xs) - 0.6, max(xs) + 0.6), (min(ys) - 0.6, max(ys) + 0.6)),
        rows=rows,
        is_even=is_even,
        offsets={
            name: (position - (count - 1) / 2) * spread
            for position, name in enumerate(picture.statements)
        },
    )
