"""The algorithm: Var, RDom, ImageParam and Func, with pure and update definitions.

::

    x, y, r = Var("x"), Var("y"), RDom([(0, 3)], "r")
    image, blurred = ImageParam(f32, 2, "image"), Func("blurred")
    blurred[x, y] = 0.0
    blurred[x, y] += image[x + r.x, y]

As in Halide the first dimension is the innermost one, of loops and in memory: the numpy array of
``blurred[x, y]`` has the shape ``(height, width)``. Conditions are joined by ``&`` and ``|``;
``polysched.select``, ``maximum``, ``cast`` and the like are functions of polysched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from polysched.errors import FrontendError
from polysched.frontends.halide.directives import Stage
from polysched.frontends.halide.domains import Extent, RDom, RVar, as_extent
from polysched.frontends.halide.place import user_location
from polysched.ir.declarations import require_identifier
from polysched.ir.dtypes import DType, as_dtype, f32, i32
from polysched.ir.expressions import (
    Constant,
    Expression,
    Index,
    Load,
    Operand,
    as_expression,
    typed,
)
from polysched.ir.functions import maximum, minimum
from polysched.ir.source import SourceLocation
from polysched.ir.traversal import walk

Var = Index
"""A dimension of a Func: ``Var("x")``."""


@dataclass(frozen=True)
class Call(Load):
    """A value of a Func or an image, at a place."""

    source: Func | ImageParam | None = field(default=None, compare=False, repr=False)


class ImageParam:
    """An array that is passed.

    Args:
        dtype: its elements.
        dimensions: how many.
        name: its name.
        extents: of each dimension, the innermost first; by default as many as are read.
    """

    def __init__(
        self,
        dtype: DType | str,
        dimensions: int,
        name: str,
        extents: Sequence[Extent] | None = None,
    ) -> None:
        require_identifier(name, "ImageParam")
        self.name = name
        self.dtype = as_dtype(dtype)
        self.dimensions = dimensions
        self.extents = None if extents is None else tuple(map(as_extent, extents))
        if self.extents is not None and len(self.extents) != dimensions:
            raise FrontendError(
                f"image '{name}' has {dimensions} dimensions and {len(self.extents)} extents"
            )

    def __getitem__(self, subscripts: Operand | tuple[Operand, ...]) -> Call:
        places = _places(self.name, subscripts, self.dimensions)
        return Call(self.name, places, self.dtype, location=user_location(), source=self)

    def width(self) -> Expression:
        """The extent of the innermost dimension.

        Raises:
            FrontendError: no extents were given, or there is no such dimension.
        """
        return self._extent(0, "width")

    def height(self) -> Expression:
        """The extent of the second dimension; errors as for :meth:`width`."""
        return self._extent(1, "height")

    def channels(self) -> Expression:
        """The extent of the third dimension; errors as for :meth:`width`."""
        return self._extent(2, "channels")

    def _extent(self, position: int, word: str) -> Expression:
        if position >= self.dimensions:
            raise FrontendError(
                f"image '{self.name}' has {self.dimensions} dimensions, so it has no {word}()"
            )
        if self.extents is None:
            raise FrontendError(
                f"{word}() of image '{self.name}', whose extents are those that are read; expected "
                f"ImageParam(..., extents=[...]): numbers, or names of sizes, the innermost first"
            )
        return self.extents[position]

    def __iter__(self) -> Iterator[Call]:
        raise FrontendError(f"image '{self.name}' cannot be iterated over; subscript it")


@dataclass(frozen=True)
class Definition:
    """What a Func is at a place, from its values so far.

    Attributes:
        subscripts: the place: of a pure definition its variables.
        value: the value there.
        stage: the loops over it.
        location: where it was written.
    """

    subscripts: tuple[Expression, ...]
    value: Expression
    stage: Stage
    location: SourceLocation | None

    @property
    def domains(self) -> tuple[RDom, ...]:
        """The reduction domains that it mentions."""
        found: dict[int, RDom] = {}
        for expression in (self.value, *self.subscripts):
            for node in walk(expression):
                if isinstance(node, RVar) and node.domain is not None:
                    found[id(node.domain)] = node.domain
        return tuple(found.values())


class Func(Stage):
    """A function over a grid: one pure definition, then any number of updates.

    ``f[x, y] = e`` defines it for all x and y; every further assignment is an update, run in order.
    The directives of the Func are those of the pure definition's loops; :meth:`update` has the
    others. A pure Func is computed inline unless it is told where; one with updates is computed
    at the root, in a nest of its own.

    Args:
        name: its name.
        dtype: of its values; by default that of the pure definition, whose literals are f32 or i32.
    """

    def __init__(self, name: str, dtype: DType | str | None = None) -> None:
        require_identifier(name, "Func")
        super().__init__(name)
        self.name = name
        self.dtype = None if dtype is None else as_dtype(dtype)
        self.definitions: list[Definition] = []
        self.level: Level | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of its dimensions, the innermost first.

        Raises:
            FrontendError: it has no definition.
        """
        return tuple(str(one) for one in self._pure().subscripts)

    def __getitem__(self, subscripts: Operand | tuple[Operand, ...]) -> Call:
        pure = self._pure()
        assert self.dtype is not None
        places = _places(self.name, subscripts, len(pure.subscripts))
        return Call(self.name, places, self.dtype, location=user_location(), source=self)

    def __iter__(self) -> Iterator[Call]:
        raise FrontendError(f"Func '{self.name}' cannot be iterated over; subscript it")

    def __setitem__(self, subscripts: Operand | tuple[Operand, ...], value: Operand) -> None:
        if not self.definitions:
            self._define(subscripts, value)
            return
        assert self.dtype is not None
        places = _places(self.name, subscripts, len(self.variables))
        for place, variable in zip(places, self.variables, strict=True):
            names = {node.name for node in walk(place) if type(node) is Index}
            if names and place != Index(variable):
                raise FrontendError(
                    f"update of Func '{self.name}': subscript {place}; expected the Var "
                    f"'{variable}' of the pure definition alone, or none"
                )
        label = f"{self.name}.update({len(self.definitions) - 1})"
        expression = typed(as_expression(value), self.dtype)
        self.definitions.append(Definition(places, expression, Stage(label), user_location()))

    def update(self, number: int = 0) -> Stage:
        """The loops of an update definition.

        Raises:
            FrontendError: there are not so many.
        """
        updates = self.definitions[1:]
        if not 0 <= number < len(updates):
            raise FrontendError(
                f"Func '{self.name}' has {len(updates)} update definitions; there is no number "
                f"{number}"
            )
        return updates[number].stage

    def compute_at(self, consumer: Func, variable: Index) -> Func:
        """Compute what an iteration of the consumer's loop reads at its start, in a buffer of its
        own: what several iterations read each computes anew.
        """
        if not isinstance(consumer, Func) or not isinstance(variable, Index):
            raise FrontendError(
                f"{self.name}.compute_at({consumer!r}, {variable!r}); expected a Func and a Var of "
                "its loops"
            )
        self.level = Level(consumer, variable.name, user_location())
        return self

    def compute_root(self) -> Func:
        """Compute all of it first, in a nest of its own."""
        self.level = Level(None, "", user_location())
        return self

    def compute_inline(self) -> Func:
        """Compute it wherever it is read.

        Raises:
            FrontendError: it has updates.
        """
        if len(self.definitions) > 1:
            raise FrontendError(
                f"Func '{self.name}' has updates, so it cannot be computed inline; expected "
                "compute_at or compute_root"
            )
        self.level = None
        return self

    def _pure(self) -> Definition:
        if not self.definitions:
            raise FrontendError(f"Func '{self.name}' is read before it is defined")
        return self.definitions[0]

    def _define(self, subscripts: Operand | tuple[Operand, ...], value: Operand) -> None:
        given = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        names = [one.name for one in given if type(one) is Index]
        if len(names) != len(given) or len(set(names)) != len(names):
            raise FrontendError(
                f"pure definition of Func '{self.name}': {', '.join(map(str, given))}; expected a "
                "Var for each dimension, no two the same"
            )
        expression = as_expression(value)
        for node in walk(expression):
            if isinstance(node, RVar):
                raise FrontendError(
                    f"pure definition of Func '{self.name}' reads '{node.name}' of a reduction "
                    "domain; expected a pure definition first, then an update over the domain"
                )
            if isinstance(node, Index) and node.name not in names:
                raise FrontendError(
                    f"pure definition of Func '{self.name}' reads '{node.name}', which is none of "
                    f"its dimensions {', '.join(names)}"
                )
        if self.dtype is None:
            literal = isinstance(expression, Constant) and isinstance(expression.value, int)
            self.dtype = expression.dtype or (i32 if literal else f32)
        places = tuple(as_expression(one) for one in given)
        value_typed = typed(expression, self.dtype)
        self.definitions.append(Definition(places, value_typed, self, user_location()))


@dataclass(frozen=True)
class Level:
    """Where a Func is computed: at a loop of a consumer, or, without one, at the root."""

    consumer: Func | None
    variable: str
    location: SourceLocation | None


def clamp(value: Operand, low: Operand, high: Operand) -> Expression:
    """The value, but no less than ``low`` and no more than ``high``."""
    return minimum(maximum(value, low), high)


def calls(expression: Expression) -> list[Call]:
    """The values of Funcs and images that an expression reads."""
    return [node for node in walk(expression) if isinstance(node, Call)]


def _places(
    name: str, subscripts: Operand | tuple[Operand, ...], dimensions: int
) -> tuple[Expression, ...]:
    given = subscripts if isinstance(subscripts, tuple) else (subscripts,)
    if len(given) != dimensions:
        raise FrontendError(
            f"'{name}' has {dimensions} dimensions; it is subscripted with {len(given)}"
        )
    return tuple(as_expression(one) for one in given)
