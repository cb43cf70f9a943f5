"""Scheduling directives of a stage: records that are applied when the pipeline is scheduled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, Self

from polysched.errors import FrontendError
from polysched.frontends.halide.place import user_location
from polysched.integers import as_integer
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.source import SourceLocation
from polysched.schedule.core.foreign_names import FOREIGN_NAMES
from polysched.schedule.schedule import Schedule


@dataclass(frozen=True)
class Split:
    """Split loop ``old`` into ``outer`` and, inside it, ``inner`` of ``factor`` iterations."""

    old: str
    outer: str
    inner: str
    factor: int


@dataclass(frozen=True)
class Reorder:
    """Reorder loops, the innermost first."""

    variables: tuple[str, ...]


@dataclass(frozen=True)
class Fuse:
    """Fuse two nested loops into one."""

    inner: str
    outer: str
    fused: str


@dataclass(frozen=True)
class Vectorize:
    """Vectorize a loop; if ``width`` is None, the whole loop is one vector."""

    variable: str
    width: int | None


@dataclass(frozen=True)
class Unroll:
    """Unroll a loop by ``factor``; if it is None, completely."""

    variable: str
    factor: int | None


@dataclass(frozen=True)
class Parallel:
    """Run the iterations of a loop in parallel."""

    variable: str


_PIPELINE = "Pipeline(func).schedule(extents)"
_OF_PIPELINES = ("kernel", "schedule", "compile", "realize")

Directive = Split | Reorder | Fuse | Vectorize | Unroll | Parallel
SHAPING = (Split, Reorder, Fuse)
"""The directives that create or reorder loops; the others set how a loop runs."""


@dataclass(frozen=True)
class LocatedDirective:
    """A directive with its location in the user's source."""

    directive: Directive
    location: SourceLocation | None


class Stage:
    """The loops of one definition of a Func, to be scheduled. Every directive returns the stage."""

    def __init__(self, label: str) -> None:
        self.label = label
        self.directives: list[LocatedDirective] = []

    if not TYPE_CHECKING:  # type checkers report misspelled names themselves

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"a Func has no '{name}'{_hint(name)}")

    def split(self, old: Index, outer: Index, inner: Index, factor: int) -> Self:
        """Split a loop into chunks of ``factor`` iterations; the last may be shorter."""
        first, second, third = self._names("split", old, outer, inner)
        return self._record(Split(first, second, third, self._count("split", factor)))

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
        """Split two loops, and move both inner loops inside both outer loops."""
        self.split(x, x_outer, x_inner, x_factor)
        self.split(y, y_outer, y_inner, y_factor)
        return self.reorder(x_inner, y_inner, x_outer, y_outer)

    def reorder(self, *variables: Index) -> Self:
        """Reorder loops, the innermost first."""
        return self._record(Reorder(self._names("reorder", *variables)))

    def fuse(self, inner: Index, outer: Index, fused: Index) -> Self:
        """Fuse two perfectly nested loops into one."""
        return self._record(Fuse(*self._names("fuse", inner, outer, fused)))

    def vectorize(self, variable: Index, width: int | None = None) -> Self:
        """Vectorize a loop by ``width`` lanes; without it the whole loop is one vector."""
        (name,) = self._names("vectorize", variable)
        lanes = None if width is None else self._count("vectorize", width)
        return self._record(Vectorize(name, lanes))

    def unroll(self, variable: Index, factor: int | None = None) -> Self:
        """Unroll a loop by ``factor``; without it completely."""
        (name,) = self._names("unroll", variable)
        times = None if factor is None else self._count("unroll", factor)
        return self._record(Unroll(name, times))

    def parallel(self, variable: Index) -> Self:
        """Run the iterations of a loop in parallel."""
        (name,) = self._names("parallel", variable)
        return self._record(Parallel(name))

    def _record(self, directive: Directive) -> Self:
        self.directives.append(LocatedDirective(directive, user_location()))
        return self

    def _names(self, directive: str, *variables: Index) -> tuple[str, ...]:
        for variable in variables:
            if not isinstance(variable, Index):
                raise FrontendError(
                    f"{self.label}.{directive}({variable!r}): of type {type(variable).__name__}; "
                    "expected a Var, or a variable of a reduction domain"
                )
        return tuple(variable.name for variable in variables)

    def _count(self, directive: str, number: int) -> int:
        factor = as_integer(number)
        if factor is None or factor < 1:
            raise FrontendError(
                f"{self.label}.{directive}: {number!r} is not a valid factor; expected a positive "
                "integer"
            )
        return factor


def _hint(name: str) -> str:
    """What to write instead of a name that a Func lacks."""
    if name in _OF_PIPELINES:
        return f"; write Pipeline(func).{name}(extents)"
    if not name.startswith("_") and hasattr(Schedule, name):
        return f"; write {_PIPELINE}.{name}(...)"
    ours = FOREIGN_NAMES.get(name)
    if ours is None:
        return ""
    is_step = not ours.startswith(("no step", "ps."))
    return f"; write {ours}{f' of {_PIPELINE}' if is_step else ''}"
