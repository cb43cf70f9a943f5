"""The shapes of pointers, which C does not declare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polysched.ir.expr.expressions import Constant, Expression

UNKNOWN_EXTENT = 2**31 - 1
"""Extent of an array whose size is unknown."""

UNKNOWN = Constant(UNKNOWN_EXTENT)


@dataclass(frozen=True)
class InferredShape:
    """The shape of a pointer.

    Attributes:
        extents: the extents; of one dimension for a linearized array.
        guarded: whether the outermost extent is only an upper bound.
    """

    extents: tuple[Expression, ...]
    guarded: bool = False

    @property
    def is_unknown(self) -> bool:
        """Whether nothing bounds the outermost extent."""
        return self.extents[:1] == (UNKNOWN,)


Shapes = Mapping[str, InferredShape]
"""Inferred shapes by array name."""
