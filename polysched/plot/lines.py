"""Styles of arrows and dots: colors, line styles and shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from polysched.dependence.relations import DependenceKind
from polysched.legality.verdicts.verdict import VERDICT_COLORS, VerdictKind

RED = VERDICT_COLORS[VerdictKind.ILLEGAL]
INK = "#333333"

_MARKERS = "osD^vphX"

LineStyle: TypeAlias = tuple[float, Sequence[float]]


@dataclass(frozen=True)
class Line:
    """Style of an arrow; ``bend`` is the height of its arc relative to its length."""

    style: LineStyle
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
