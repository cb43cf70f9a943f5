"""Options of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from polysched.dependence.relations import DependenceKind


class Color(Enum):
    """The property that the color of a dot shows."""

    ORDER = "order"
    TILE = "tile"
    NONE = "none"


@dataclass(frozen=True)
class View:
    """Options of a picture; all have defaults.

    The name of a dimension is an index of the statements, or, if no index has that name, a loop of
    the schedule. ``"statement.loop"`` always means the loop, as in steps. The two may differ: after
    a skew, loop ``i`` has other values than index ``i``.

    Attributes:
        statements: the statements to show; empty for all of the kernel.
        dimensions: one or two dimensions as axes, the horizontal axis first; empty to choose them
            automatically.
        at: fixed dimensions and their values. Dimensions that are neither fixed nor axes are
            projected out: all instances that differ only in them share one dot.
        sizes: values of parameters; the others are chosen automatically.
        color: the property that the color of a dot shows.
        tile: the tile loops; empty for all tile loops of the schedule.
        arrows: the kinds of dependences to draw as arrows.
        has_path: whether to connect the dots in execution order.
    """

    statements: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()
    at: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    sizes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    color: Color = Color.ORDER
    tile: tuple[str, ...] = ()
    arrows: tuple[DependenceKind, ...] = tuple(DependenceKind)
    has_path: bool = False
