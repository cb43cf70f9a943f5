"""Reduction domains (RDom) and extents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from polysched.errors import FrontendError
from polysched.integers import as_integer
from polysched.ir.declare.declarations import require_identifier
from polysched.ir.expr.expressions import Expression, Index, Parameter, as_expression

Extent: TypeAlias = int | str | Expression
"""A number, the name of a size that is known only at the call, or an expression of these."""

_LETTERS = "xyzw"


@dataclass(frozen=True)
class RVar(Index):
    """A variable of a reduction domain, such as ``r.x``."""

    domain: RDom | None = field(default=None, compare=False, repr=False)


class RDom:
    """Reduction domain, a box over which an update runs: ``RDom([(minimum, extent), ...])``.

    The loops of its variables ``x``, ``y``, ``z``, ``w`` are named ``<name>_x``, ``<name>_y``, ...;
    ``x`` is the innermost.

    Args:
        bounds: the minimum and the extent of each variable.
        name: the name of the domain.
    """

    def __init__(self, bounds: Sequence[tuple[Extent, Extent]], name: str = "r") -> None:
        require_identifier(name, "RDom")
        if not 1 <= len(bounds) <= len(_LETTERS):
            raise FrontendError(f"RDom '{name}' has {len(bounds)} bounds; expected 1 to 4")
        for bound in bounds:
            if not isinstance(bound, tuple) or len(bound) != 2:
                raise FrontendError(f"RDom '{name}': {bound!r}; expected (minimum, extent)")
        self.name = name
        self.bounds = tuple((as_extent(low), as_extent(count)) for low, count in bounds)
        self.conditions: list[Expression] = []

    def __getitem__(self, position: int) -> RVar:
        if not 0 <= position < len(self.bounds):
            raise FrontendError(
                f"RDom '{self.name}' has {len(self.bounds)} variables; there is no variable "
                f"{position}"
            )
        return RVar(f"{self.name}_{_LETTERS[position]}", self)

    def __iter__(self) -> Iterator[RVar]:
        return (self[position] for position in range(len(self.bounds)))

    @property
    def x(self) -> RVar:
        """The first variable, the innermost."""
        return self[0]

    @property
    def y(self) -> RVar:
        """The second variable."""
        return self[1]

    @property
    def z(self) -> RVar:
        """The third variable."""
        return self[2]

    @property
    def w(self) -> RVar:
        """The fourth variable, the outermost."""
        return self[3]

    def where(self, condition: Expression) -> None:
        """Restrict the domain to the points at which an affine condition holds."""
        if not isinstance(condition, Expression):
            raise FrontendError(f"RDom '{self.name}': where({condition!r}); expected a condition")
        self.conditions.append(condition)


def as_extent(extent: Extent) -> Expression:
    """Convert an extent to an expression; a name becomes a parameter.

    Raises:
        FrontendError: it is not an extent.
    """
    if isinstance(extent, str):
        require_identifier(extent, "size")
        return Parameter(extent)
    if isinstance(extent, Expression):
        return extent
    number = as_integer(extent)
    if number is not None:
        return as_expression(number)
    raise FrontendError(f"extent {extent!r}; expected a number, or the name of a size")
