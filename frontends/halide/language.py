"""The algorithm language: Var, ImageParam and Func with pure and update definitions.

::

    x, y, r = Var("x"), Var("y"), RDom([(0, 3)], "r")
    image, blurred = ImageParam(f32, 2, "image"), Func("blurred")
    blurred[x, y] = 0.0
    blurred[x, y] += image[x + r.x, y]

As in Halide, the first dimension is the innermost, in loops and in memory: the numpy array of
``blurred[x, y]`` has the shape ``(height, width)``. Conditions are combined by ``&`` and ``|``.
Functions such as ``select``, ``maximum`` and ``cast`` come from ``polysched``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from polysched.errors import FrontendError
from polysched.frontends.halide.directives import Stage
from polysched.frontends.halide.domains import Extent, RDom, RVar, as_extent
from polysched.frontends.halide.place import user_location
from polysched.ir.declare.declarations import require_identifier
from polysched.ir.expr.dtypes import DType, as_dtype, f32, i32
from polysched.ir.expr.expressions import (
    Constant,
    Expression,
    Index,
    Load,
    Operand,
    as_expression,
    typed,
)
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.source import SourceLocation
from polysched.ir.expr.traversal import walk

Var = Index
"""A dimension of a Func: ``Var("x")``."""


@dataclass(frozen=True)
class Call(Load):
    """A read of a Func or an image at given subscripts."""

    source: Func | ImageParam | None = field(default=None, compare=False, repr=False)


class ImageParam:
    """An input array.

    Args:
        dtype: the element type.
        dimensions: the number of dimensions.
        name: its name.
        extents: the extent of each dimension, the innermost first; by default inferred from the
            elements that are read.
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
        checked = _checked(self.name, subscripts, self.dimensions)
        return Call(self.name, checked, self.dtype, location=user_location(), source=self)

    def width(self) -> Expression:
        """The extent of the innermost dimension.

        Raises:
            FrontendError: the image was declared without extents, or has no such dimension.
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
                f"{word}() of image '{self.name}' is not declared: its extents are inferred "
                "from the reads; expected ImageParam(..., extents=[...]): numbers, or names of "
                "sizes, the innermost first"
            )
        return self.extents[position]

    def __iter__(self) -> Iterator[Call]:
        raise FrontendError(f"image '{self.name}' cannot be iterated over; subscript it")


@dataclass(frozen=True)
class Definition:
    """A pure or update definition of a Func.

    Attributes:
        subscripts: the subscripts on the left; in a pure definition the Func's Vars.
        value: the expression on the right.
        stage: the loops of the definition.
        location: the user's source line.
    """

    subscripts: tuple[Expression, ...]
    value: Expression
    stage: Stage
    location: SourceLocation | None

    @property
    def domains(self) -> tuple[RDom, ...]:
        """The reduction domains of the variables in the expression."""
        domains: dict[int, RDom] = {}
        for expression in (self.value, *self.subscripts):
            for node in walk(expression):
                if isinstance(node, RVar) and node.domain is not None:
                    domains[id(node.domain)] = node.domain
        return tuple(domains.values())


class Func(Stage):
    """A function over a grid: one pure definition, then any number of updates.

    ``f[x, y] = e`` defines it for all x and y. Every further assignment is an update; updates run
    in order. Directives on the Func schedule the loops of the pure definition; :meth:`update` gives
    the stage of an update. A Func without updates is computed inline unless it has ``compute_at``
    or ``compute_root``. A Func with updates is by default computed at the root.

    Args:
        name: its name.
        dtype: the element type; by default the type of the pure definition, in which literals
            are f32 or i32.
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
        return tuple(str(variable) for variable in self._pure().subscripts)

    def __getitem__(self, subscripts: Operand | tuple[Operand, ...]) -> Call:
        pure = self._pure()
        assert self.dtype is not None
        checked = _checked(self.name, subscripts, len(pure.subscripts))
        return Call(self.name, checked, self.dtype, location=user_location(), source=self)

    def __iter__(self) -> Iterator[Call]:
        raise FrontendError(f"Func '{self.name}' cannot be iterated over; subscript it")

    def __setitem__(self, subscripts: Operand | tuple[Operand, ...], value: Operand) -> None:
        if not self.definitions:
            self._define(subscripts, value)
            return
        assert self.dtype is not None
        checked = _checked(self.name, subscripts, len(self.variables))
        for subscript, variable in zip(checked, self.variables, strict=True):
            names = {node.name for node in walk(subscript) if type(node) is Index}
            if names and subscript != Index(variable):
                raise FrontendError(
                    f"update of Func '{self.name}': subscript {subscript}; expected the Var "
                    f"'{variable}' of the pure definition alone, or no Var"
                )
        label = f"{self.name}.update({len(self.definitions) - 1})"
        expression = typed(as_expression(value), self.dtype)
        self.definitions.append(Definition(checked, expression, Stage(label), user_location()))

    def update(self, number: int = 0) -> Stage:
        """The stage of an update definition, whose loops can be scheduled.

        Raises:
            FrontendError: there is no update with this number.
        """
        updates = self.definitions[1:]
        if not 0 <= number < len(updates):
            raise FrontendError(
                f"Func '{self.name}' has {len(updates)} update definitions; there is no number "
                f"{number}"
            )
        return updates[number].stage

    def compute_at(self, consumer: Func, variable: Index) -> Func:
        """Compute the part that each iteration of a consumer's loop reads, at its start.

        Elements that several iterations read are recomputed in each of them.
        """
        if not isinstance(consumer, Func) or not isinstance(variable, Index):
            raise FrontendError(
                f"{self.name}.compute_at({consumer!r}, {variable!r}); expected a Func and a Var of "
                "its loops"
            )
        self.level = Level(consumer, variable.name, user_location())
        return self

    def compute_root(self) -> Func:
        """Compute the whole Func first, in a loop nest of its own."""
        self.level = Level(None, "", user_location())
        return self

    def compute_inline(self) -> Func:
        """Substitute the definition into every consumer.

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
        variables = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        names = [variable.name for variable in variables if type(variable) is Index]
        if len(names) != len(variables) or len(set(names)) != len(names):
            raise FrontendError(
                f"pure definition of Func '{self.name}': {', '.join(map(str, variables))}; "
                "expected a Var for each dimension, no two the same"
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
                    f"pure definition of Func '{self.name}' reads '{node.name}', which is not one "
                    f"of its dimensions {', '.join(names)}"
                )
        if self.dtype is None:
            literal = isinstance(expression, Constant) and isinstance(expression.value, int)
            self.dtype = expression.dtype or (i32 if literal else f32)
        expressions = tuple(as_expression(variable) for variable in variables)
        value_typed = typed(expression, self.dtype)
        self.definitions.append(Definition(expressions, value_typed, self, user_location()))


@dataclass(frozen=True)
class Level:
    """The level at which a Func is computed: a loop of a consumer; without a consumer, the root."""

    consumer: Func | None
    variable: str
    location: SourceLocation | None


def clamp(value: Operand, low: Operand, high: Operand) -> Expression:
    """Clamp a value to the range from ``low`` to ``high``."""
    return minimum(maximum(value, low), high)


def calls(expression: Expression) -> list[Call]:
    """The reads of Funcs and images in an expression."""
    return [node for node in walk(expression) if isinstance(node, Call)]


def _checked(
    name: str, subscripts: Operand | tuple[Operand, ...], dimensions: int
) -> tuple[Expression, ...]:
    each = subscripts if isinstance(subscripts, tuple) else (subscripts,)
    if len(each) != dimensions:
        raise FrontendError(
            f"'{name}' has {dimensions} dimensions, but {len(each)} subscripts here"
        )
    return tuple(as_expression(subscript) for subscript in each)
