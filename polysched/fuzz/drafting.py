"""The parts of a random kernel: arrays, subscripts, ranges of loops, conditions.

Every index lies between 0 and a *span*, a literal or something that grows with the parameters;
the extents of arrays follow from it, so that almost every access is inside its array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from polysched.fuzz.limits import Limits
from polysched.fuzz.randomness import Integers, chance, choose
from polysched.fuzz.sketch import (
    ArraySketch,
    AssignSketch,
    LoopSketch,
    ParameterSketch,
    PartSketch,
    WhereSketch,
)
from polysched.ir.affine import weighted_sum
from polysched.ir.expressions import Constant, Expression, Index, Load, Parameter, as_expression
from polysched.ir.functions import equal, maximum, minimum
from polysched.ir.kernel import Role


@dataclass(frozen=True)
class Target:
    """An array, and which of its dimensions have room for subscripts below 0."""

    sketch: ArraySketch
    signed: tuple[bool, ...]


@dataclass
class Draft:
    """A kernel while it is thought up."""

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
        """The parameters, or the literals that a kernel without them has in their place."""
        literals: list[Expression] = [Constant(size) for size in self.literals]
        return literals or [Parameter(one.name) for one in self.parameters]

    @property
    def greatest(self) -> int | None:
        """The greatest value of a size, if it has one."""
        return max(self.literals) if self.literals else self.parameters[0].maximum

    def statement_name(self) -> str:
        """A name of its own for one more statement."""
        self.statements += 1
        return f"S{self.statements - 1}"

    @contextmanager
    def loop(
        self, lower: Expression, upper: Expression, step: int = 1
    ) -> Iterator[Callable[..., LoopSketch]]:
        """A loop is open inside; what is given closes it around its parts."""
        name = f"i{self.loops}" if self.numbered else "ijkl"[len(self.scope)]
        self.loops += 1
        self.scope.append(Index(name))
        yield lambda *body: LoopSketch(name, lower, upper, step, body)
        self.scope.pop()


def new_draft(integers: Integers, limits: Limits) -> Draft:
    """A draft with one or two parameters, bounded or not, or literal sizes."""
    names = "NM" if chance(integers, 1, 5) else "N"
    numbered = chance(integers, 1, 2)
    if chance(integers, 1, 3):
        sizes = tuple(integers(1, limits.largest + 3) for _ in names)
        return Draft(integers, limits, (), numbered, sizes)
    greatest = limits.largest if chance(integers, 3, 4) else None
    parameters = tuple(ParameterSketch(name, integers(0, 1), greatest) for name in names)
    return Draft(integers, limits, parameters, numbered)


def spans(draft: Draft, times: int, more: int) -> Expression:
    """So many spans, and a number: a span is the sum of the parameters (or their limits) + 2."""
    greatest = draft.greatest
    if greatest is not None:
        return Constant(times * (greatest + 2) + more)
    return weighted_sum([(times, size) for size in draft.sizes], 2 * times + more)


def new_array(draft: Draft, role: Role, rank: int, *, signed: bool = True) -> Target:
    """One more array that holds what :func:`element` touches; now and then it is too small."""
    integers = draft.integers
    below = tuple(signed and chance(integers, 1, 2) for _ in range(rank))
    short = 2 if chance(integers, 1, 60) else 0
    shape = tuple(spans(draft, 3, 4 - short) if one else spans(draft, 2, 2) for one in below)
    dtype = choose(integers, draft.limits.types(written=role is not Role.INPUT))
    if dtype.is_odd and rank == 0:
        dtype = dtype.container  # packed arguments have a dimension
    sketch = ArraySketch("ABCDEFG"[len(draft.arrays)], role, dtype, shape)
    target = Target(sketch, below)
    draft.arrays.append(target)
    return target


def element(draft: Draft, array: Target) -> Load:
    """A random element of an array."""
    subscripts = tuple(_subscript(draft, signed) for signed in array.signed)
    return Load(array.sketch.name, subscripts, array.sketch.dtype)


def _subscript(draft: Draft, signed: bool) -> Expression:
    """Between 0 and 2 spans + 1; for a signed dimension from -1 span - 1, moved up to 0."""
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
    """Lower end, upper end (excluded) and step of a loop, inside the loops that are open."""
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
    """The statement, perhaps under a condition."""
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
