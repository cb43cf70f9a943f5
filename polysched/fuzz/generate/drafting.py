"""Generate the parts of a random kernel: arrays, subscripts, loop ranges, conditions.

Every index lies between 0 and a *span*, which is a literal or an affine function of the parameters.
The extents of arrays are multiples of spans, so almost every access is inside its array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from polysched.fuzz.generate.limits import Limits
from polysched.fuzz.generate.randomness import Integers, chance, choose
from polysched.fuzz.generate.sketch import (
    ArraySketch,
    AssignSketch,
    LoopSketch,
    ParameterSketch,
    PartSketch,
    WhereSketch,
)
from polysched.ir.core.kernel import Role
from polysched.ir.expr.affine import weighted_sum
from polysched.ir.expr.expressions import (
    Constant,
    Expression,
    Index,
    Load,
    Parameter,
    as_expression,
)
from polysched.ir.expr.functions import equal, maximum, minimum


@dataclass(frozen=True)
class Target:
    """Array, and for each dimension whether it has room for negative subscripts (shifted up)."""

    sketch: ArraySketch
    signed: tuple[bool, ...]


@dataclass
class Draft:
    """State of a random kernel under construction."""

    integers: Integers
    limits: Limits
    parameters: tuple[ParameterSketch, ...]
    numbered: bool
    literals: tuple[int, ...] = ()
    arrays: list[Target] = field(default_factory=list)
    scope: list[Expression] = field(default_factory=list)
    statements: int = 0
    loops: int = 0

    @property
    def sizes(self) -> list[Expression]:
        """The parameters; for a kernel without parameters, its literal sizes."""
        literals: list[Expression] = [Constant(size) for size in self.literals]
        return literals or [Parameter(sketch.name) for sketch in self.parameters]

    @property
    def greatest(self) -> int | None:
        """The greatest value of a size; None if unbounded."""
        return max(self.literals) if self.literals else self.parameters[0].maximum

    def statement_name(self) -> str:
        """Return a new name for a statement."""
        self.statements += 1
        return f"S{self.statements - 1}"

    @contextmanager
    def loop(
        self, lower: Expression, upper: Expression, step: int = 1
    ) -> Iterator[Callable[..., LoopSketch]]:
        """Open a loop in the ``with`` block; the yielded function closes it around a body."""
        name = f"i{self.loops}" if self.numbered else "ijkl"[len(self.scope)]
        self.loops += 1
        self.scope.append(Index(name))
        yield lambda *body: LoopSketch(name, lower, upper, step, body)
        self.scope.pop()


def new_draft(integers: Integers, limits: Limits) -> Draft:
    """Start a kernel with one or two parameters, bounded or not, or with literal sizes."""
    names = "NM" if chance(integers, 1, 5) else "N"
    numbered = chance(integers, 1, 2)
    if chance(integers, 1, 3):
        sizes = tuple(integers(1, limits.largest + 3) for _ in names)
        return Draft(integers, limits, (), numbered, sizes)
    greatest = limits.largest if chance(integers, 3, 4) else None
    parameters = tuple(ParameterSketch(name, integers(0, 1), greatest) for name in names)
    return Draft(integers, limits, parameters, numbered)


def spans(draft: Draft, times: int, more: int) -> Expression:
    """Return ``times * span + more``; a span is 2 plus the sum (or the limit) of the sizes."""
    greatest = draft.greatest
    if greatest is not None:
        return Constant(times * (greatest + 2) + more)
    return weighted_sum([(times, size) for size in draft.sizes], 2 * times + more)


def new_array(draft: Draft, role: Role, rank: int, *, signed: bool = True) -> Target:
    """Add an array large enough for :func:`element`; about 1 in 60 is too small."""
    integers = draft.integers
    below = tuple(signed and chance(integers, 1, 2) for _ in range(rank))
    short = 2 if chance(integers, 1, 60) else 0
    shape = tuple(
        spans(draft, 3, 4 - short) if negative else spans(draft, 2, 2) for negative in below
    )
    dtype = choose(integers, draft.limits.types(written=role is not Role.INPUT))
    if dtype.is_odd_width and rank == 0:
        dtype = dtype.container  # packed arguments have a dimension
    sketch = ArraySketch("ABCDEFG"[len(draft.arrays)], role, dtype, shape)
    target = Target(sketch, below)
    draft.arrays.append(target)
    return target


def element(draft: Draft, array: Target) -> Load:
    """Access a random element of an array."""
    subscripts = tuple(_subscript(draft, signed) for signed in array.signed)
    return Load(array.sketch.name, subscripts, array.sketch.dtype)


def _subscript(draft: Draft, signed: bool) -> Expression:
    """Generate a subscript from 0 to 2 spans + 1, or from -1 span - 1, shifted to start at 0."""
    integers = draft.integers
    if not draft.scope:
        return as_expression(integers(0, 2))
    index, other = choose(integers, draft.scope), choose(integers, draft.scope)
    options = [index, index, index, index, index + other, 2 * index, index // 2, index % 2]
    options += [as_expression(0), (index + 1) % 3, spans(draft, 1, 0) - index]
    result = choose(integers, options)
    if not signed:
        return result + 1 if chance(integers, 1, 4) else result
    if chance(integers, 1, 4):
        result = result - choose(integers, draft.scope)
    return result + spans(draft, 1, 1 + integers(-1, 1))


def index_range(draft: Draft) -> tuple[Expression, Expression, int]:
    """Generate lower bound, upper bound (excluded) and step of a loop inside the open loops."""
    integers = draft.integers
    size = choose(integers, draft.sizes)
    zero, one = as_expression(0), as_expression(1)
    options = [(zero, size, 1)] * 3
    options += [(one, size + 1, 1), (zero, as_expression(integers(1, 3)), 1), (zero, size, 2)]
    options += [(one, size, 3), (zero, minimum(size, choose(integers, draft.sizes) - 1), 1)]
    if draft.scope:
        around = choose(integers, draft.scope)
        options += [(zero, around + 1, 1), (around, size, 1), (zero, around // 2 + 1, 1)]
        options += [(around % 2, size, 2), (around, size, 2), (maximum(around - 1, 0), size, 1)]
    return choose(integers, options)


def guarded(draft: Draft, statement: AssignSketch) -> PartSketch:
    """Sometimes put a statement under a condition."""
    integers = draft.integers
    if not draft.scope or not chance(integers, 1, 4):
        return statement
    first, second = choose(integers, draft.scope), choose(integers, draft.scope)
    size = choose(integers, draft.sizes)
    conditions: list[Expression] = [
        first < size - 1,
        first + integers(-1, 1) <= second,
        equal((first + second) % choose(integers, [2, 3]), integers(0, 1)),
        first % 3 < 2,
        (first < 1) | (size - 1 <= second),
        (second < first + 2) & (first < second + 1),
    ]
    return WhereSketch(choose(integers, conditions), (statement,))
