"""Options of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from polysched.dependence.relations import DependenceKind
from polysched.errors import PlotError

Fixed: TypeAlias = Mapping[str, int | range]
"""Dimensions and the values at which instances are shown: one value, or a range of them."""


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
        at: dimensions and the value, or the range of values, at which instances are shown. If it
            is empty and the domain is too large, a part of the domain is chosen. Dimensions that
            are neither axes nor have one value are projected out: all instances that differ only
            in them share one dot.
        sizes: values of parameters; the others are chosen automatically.
        color: the property that the color of a dot shows.
        tile: the tile loops; empty for all tile loops of the schedule.
        arrows: the kinds of dependences to draw as arrows.
        has_path: whether to connect the dots in execution order.
    """

    statements: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()
    at: Fixed = field(default_factory=lambda: MappingProxyType({}))
    sizes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    color: Color = Color.ORDER
    tile: tuple[str, ...] = ()
    arrows: tuple[DependenceKind, ...] = tuple(DependenceKind)
    has_path: bool = False

    def __post_init__(self) -> None:
        for name, value in self.at.items():
            if isinstance(value, range) and value.step != 1:
                raise PlotError(f"the values of '{name}' are {value}; expected a range of step 1")

    @property
    def fixed(self) -> tuple[str, ...]:
        """The dimensions that have one value."""
        return tuple(name for name, value in self.at.items() if isinstance(value, int))


def fixed_text(at: Fixed) -> str:
    """Fixed dimensions in words, such as ``i = 0, j in 0..8``, where 8 is excluded."""
    return ", ".join(
        f"{name} = {value}" if isinstance(value, int) else f"{name} in {value.start}..{value.stop}"
        for name, value in at.items()
    )
