"""The directives of a stage, as they are given: records, applied when the pipeline is scheduled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from polysched.errors import FrontendError
from polysched.frontends.halide.place import user_location
from polysched.ir.expressions import Index
from polysched.ir.integers import as_integer
from polysched.ir.source import SourceLocation


@dataclass(frozen=True)
class Split:
    """``old`` becomes ``outer`` around ``inner``, of ``factor`` iterations."""

    old: str
    outer: str
    inner: str
    factor: int


@dataclass(frozen=True)
class Reorder:
    """The loops in this order, the innermost first."""

    variables: tuple[str, ...]


@dataclass(frozen=True)
class Fuse:
    """Two loops become one."""

    inner: str
    outer: str
    fused: str


@dataclass(frozen=True)
class Vectorize:
    """A loop becomes vectors; without a width the whole loop is one."""

    variable: str
    width: int | None


@dataclass(frozen=True)
class Unroll:
    """A loop is written out, ``factor`` iterations at a time."""

    variable: str
    factor: int | None


@dataclass(frozen=True)
class Parallel:
    """A loop runs on several threads."""

    variable: str


Directive = Split | Reorder | Fuse | Vectorize | Unroll | Parallel
SHAPING = (Split, Reorder, Fuse)
"""The directives that make loops; the others say how loops run."""


@dataclass(frozen=True)
class Given:
    """A directive, and where the user's text has it."""

    directive: Directive
    location: SourceLocation | None


class Stage:
    """A definition of a Func, whose loops can be scheduled. Every directive returns the stage.

    Args:
        label: what messages call it.
    """

    def __init__(self, label: str) -> None:
        self.label = label
        self.directives: list[Given] = []

    def split(self, old: Index, outer: Index, inner: Index, factor: int) -> Self:
        """Cut a loop into chunks of ``factor`` iterations; the last may be shorter."""
        first, second, third = self._names("split", old, outer, inner)
        return self._given(Split(first, second, third, self._count("split", factor)))

    def tile(
        self,
        x: Index,
        y: Index,
        x_outer: Index,
        y_outer: Index,
        x_inner: Index,
        y_inner: Index,
        x_factor: int,
        y_factor: int,
    ) -> Self:
        """Split two loops, and put the inner ones innermost."""
        self.split(x, x_outer, x_inner, x_factor)
        self.split(y, y_outer, y_inner, y_factor)
        return self.reorder(x_inner, y_inner, x_outer, y_outer)

    def reorder(self, *variables: Index) -> Self:
        """Put loops into an order, the innermost first."""
        return self._given(Reorder(self._names("reorder", *variables)))

    def fuse(self, inner: Index, outer: Index, fused: Index) -> Self:
        """Run two loops, one directly inside the other, as one."""
        return self._given(Fuse(*self._names("fuse", inner, outer, fused)))

    def vectorize(self, variable: Index, width: int | None = None) -> Self:
        """Run a loop in vectors of ``width`` elements; without it the whole loop is a vector."""
        (name,) = self._names("vectorize", variable)
        lanes = None if width is None else self._count("vectorize", width)
        return self._given(Vectorize(name, lanes))

    def unroll(self, variable: Index, factor: int | None = None) -> Self:
        """Write a loop out, ``factor`` iterations at a time if it is given."""
        (name,) = self._names("unroll", variable)
        times = None if factor is None else self._count("unroll", factor)
        return self._given(Unroll(name, times))

    def parallel(self, variable: Index) -> Self:
        """Run a loop on several threads."""
        (name,) = self._names("parallel", variable)
        return self._given(Parallel(name))

    def _given(self, directive: Directive) -> Self:
        self.directives.append(Given(directive, user_location()))
        return self

    def _names(self, directive: str, *variables: Index) -> tuple[str, ...]:
        for one in variables:
            if not isinstance(one, Index):
                raise FrontendError(
                    f"{self.label}.{directive}({one!r}): of type {type(one).__name__}; expected a "
                    "Var, or a variable of a reduction domain"
                )
        return tuple(one.name for one in variables)

    def _count(self, directive: str, number: int) -> int:
        factor = as_integer(number)
        if factor is None or factor < 1:
            raise FrontendError(
                f"{self.label}.{directive}: {number!r} is no factor; expected a positive integer"
            )
        return factor
