"""What a picture is to show: the choices a person makes, all of them optional."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from polysched.dependence.relations import DependenceKind


class Color(Enum):
    """What the color of a dot tells."""

    ORDER = "order"
    TILE = "tile"
    NONE = "none"


@dataclass(frozen=True)
class View:
    """The choices.

    A dimension is named by an index of the statements, or, if no index has that name, by a loop of
    the schedule. ``"statement.loop"`` always means the loop, as in steps: after a skew, loop ``i``
    counts differently from index ``i``.

    Attributes:
        statements: whose instances to show; empty: all of the kernel's.
        dimensions: one or two dimensions, the horizontal axis first; empty: chosen.
        at: dimensions that are fixed, each at a value. All others are projected out: one dot
            stands for all instances that differ in them.
        sizes: values of parameters; those not given are chosen.
        color: what the color of a dot tells.
        tile: the loops whose values make a tile; empty: the schedule's loops over tiles.
        arrows: the kinds of dependences to show.
        has_path: whether to join the dots in the order of execution.
    """

    statements: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()
    at: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    sizes: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    color: Color = Color.ORDER
    tile: tuple[str, ...] = ()
    arrows: tuple[DependenceKind, ...] = tuple(DependenceKind)
    has_path: bool = False
