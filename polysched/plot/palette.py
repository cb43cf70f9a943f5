"""The colors and shapes of dots, and the styles of arrows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from matplotlib import colormaps
from matplotlib.colors import to_hex

from polysched.dependence.relations import DependenceKind
from polysched.legality.verdicts.verdict import VERDICT_COLORS, VerdictKind
from polysched.plot.picture import Picture
from polysched.plot.symbols import Dot
from polysched.plot.view import Color

RED = VERDICT_COLORS[VerdictKind.ILLEGAL]
INK = "#333333"

_MARKERS = "osD^vphX"

_LineStyle: TypeAlias = tuple[float, Sequence[float]]

PLAIN = "#9ecae1"

_TILES = (
    "#8dd3c7",
    "#fdb462",
    "#80b1d3",
    "#fccde5",
    "#b3de69",
    "#bebada",
    "#ffed6f",
    "#d9b38c",
    "#bc80bd",
    "#c7c7c7",
)

# Step in the color list from a tile to the next along the first, second and third tile loop.
# Neighboring tiles have different colors even if there are more tiles than colors.
_STRIDES = (1, 3, 7)

ORDER_MAP = "viridis"


def colors(picture: Picture) -> list[str]:
    """The color of every dot of a picture."""
    match picture.color:
        case Color.ORDER:
            last = max((dot.order for dot in picture.dots), default=0)
            shades = colormaps[ORDER_MAP]
            return [to_hex(shades(dot.order / max(last, 1))) for dot in picture.dots]
        case Color.TILE:
            of_tile = _tile_colors(picture.dots)
            return [of_tile[dot.tile] for dot in picture.dots]
        case Color.NONE:
            return [PLAIN] * len(picture.dots)


def legend_tiles(picture: Picture) -> dict[tuple[int, ...], str]:
    """The colors of the tiles, in execution order; empty if there are too many for a legend."""
    tile_colors = _tile_colors(picture.dots) if picture.color is Color.TILE else {}
    return tile_colors if len(tile_colors) <= len(_TILES) else {}


def _tile_colors(dots: Sequence[Dot]) -> dict[tuple[int, ...], str]:
    tiles = list(dict.fromkeys(dot.tile for dot in dots))
    if len(tiles) <= len(_TILES):
        return dict(zip(tiles, _TILES, strict=False))
    return {
        tile: _TILES[
            sum(value * _STRIDES[i % len(_STRIDES)] for i, value in enumerate(tile)) % len(_TILES)
        ]
        for tile in tiles
    }


def is_dark(color: str) -> bool:
    """Whether white text is easier to read on a color than black text, by its luma."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140


@dataclass(frozen=True)
class Line:
    """Style of an arrow; ``bend`` is the height of its arc relative to its length."""

    style: _LineStyle
    color: str
    bend: float = 0.0
    alpha: float = 0.75
    width: float = 0.9
    layer: float = 2.0


# Different bends keep the arrows of several kinds between the same dots apart.
_LINES: Mapping[DependenceKind, Line] = MappingProxyType(
    {
        DependenceKind.FLOW: Line((0, ()), "#444444"),
        DependenceKind.ANTI: Line((0, (4, 2)), "#b35900", 0.22),
        DependenceKind.OUTPUT: Line((0, (1, 1.5)), "#7a3e9d", -0.22),
    }
)
WITNESS_LINE = Line((0, ()), RED, bend=0.12, alpha=1.0, width=2.0, layer=4.0)
PATH_COLOR = "#2171b5"


def line_of(kind: DependenceKind, *, reorderable: bool) -> Line:
    """The style of a dependence's arrow; paler if the pair may run in either order."""
    line = _LINES[kind]
    return replace(line, alpha=0.4) if reorderable else line


def marker(position: int) -> str:
    """The dot shape of a statement, by its position among the statements shown."""
    return _MARKERS[position % len(_MARKERS)]
