"""Classify lanes and accesses: the active lanes, and the movement of an access between lanes.

Register promotion and register transposition use the steps of an access in each dimension. Dot
products and :mod:`polysched.vector.passes.vectorize` use its distance in memory. All passes use the
lanes of a vector loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import TypeVar

from polysched.ir.core.data_dependent import is_data_dependent
from polysched.ir.core.kernel import Array
from polysched.ir.core.packing import Rows
from polysched.ir.expr.expressions import Constant, Expression, Index
from polysched.ir.expr.linear import interval, linear_form, simplify
from polysched.ir.expr.linear_form import Intervals, LinearForm
from polysched.loops.ir.nodes import For

CACHE_LINE = 64
"""Bytes of a cache line; a larger alignment has no effect."""

Extent = TypeVar("Extent")

Strides = tuple[int | None, ...]
"""Elements (bits of packed arrays) between consecutive indices of each dimension; None if known
only at run time.
"""


# -- lanes -------------------------------------------------------------------------------------


def extent(loop: For, known: Intervals) -> LinearForm:
    """The upper end of a loop minus its lower end."""
    return linear_form(loop.upper, known).plus(linear_form(loop.lower, known), -1)


def surely_runs(loop: For, known: Intervals) -> bool:
    """Whether a loop has at least one iteration."""
    low, _ = interval(extent(loop, known), known)
    return low is not None and low >= 1


def literal_lanes(loop: For, known: Intervals) -> range | None:
    """The lanes of a vector loop, ignoring conditions; None if they are not literal."""
    lower, upper = (_literal(end, known) for end in (loop.lower, loop.upper))
    if lower is None or upper is None:
        return None
    skipped = max(0, -(lower // loop.step)) * loop.step
    return range(lower + skipped, min(upper, loop.lanes), loop.step)


def _literal(end: Expression, known: Intervals) -> int | None:
    if isinstance(end, Constant):
        return int(end.value)
    form = linear_form(end, known)
    return form.constant if form.is_constant else None


def lanes_where(
    condition: Expression, lanes: Iterable[int], variable: str, known: Intervals
) -> tuple[int, ...] | None:
    """The lanes for which a condition holds; None if they are not literal."""
    holding = []
    for lane in lanes:
        holds = simplify(condition, {**known, variable: (lane, lane)})
        if not isinstance(holds, Constant):
            return None
        if holds.value:
            holding.append(lane)
    return tuple(holding)


def _reads(forms: Iterable[LinearForm]) -> bool:
    return any(
        not form.is_affine and is_data_dependent([atom for atom, _ in form.terms]) for form in forms
    )


# -- the steps of an access in each dimension --------------------------------------------------


@dataclass(frozen=True)
class LaneSteps:
    """Subscripts split at the lane variable.

    Attributes:
        first: the subscripts without the lane variable.
        steps: the difference of the subscripts of consecutive lanes, in each dimension.
        lane: the lane variable, if any.
    """

    first: tuple[LinearForm, ...]
    steps: tuple[int, ...]
    lane: str | None

    @property
    def is_linear(self) -> bool:
        """Whether every subscript is linear in the lane, unlike ``lane // 2``."""
        return self.lane is None or not any(
            not form.is_affine and form.uses({self.lane}) for form in self.first
        )

    @property
    def is_data_dependent(self) -> bool:
        """Whether a subscript reads an array element."""
        return _reads(self.first)

    @property
    def is_broadcast(self) -> bool:
        """Whether no dimension has a step."""
        return not any(self.steps)

    def are_along(self, dimension: int, *, step: int = 1) -> bool:
        """Whether the only step is ``step`` in this dimension."""
        remaining = list(self.steps)
        return remaining.pop(dimension) == step and not any(remaining)


def lane_steps(subscripts: Sequence[Expression], lane: str | None) -> LaneSteps:
    """Split subscripts at the lane variable; the steps are 0 if ``lane`` is None."""
    parts = [linear_form(subscript, {}).without(lane) for subscript in subscripts]
    return LaneSteps(tuple([form for form, _ in parts]), tuple([step for _, step in parts]), lane)


# -- the distance of an access in memory -------------------------------------------------------


def row_major(
    extents: Sequence[Extent], unit: Extent, multiply: Callable[[Extent, Extent], Extent]
) -> tuple[Extent, ...]:
    """Strides of a contiguous row-major array; ``unit`` is the stride of the last index."""
    strides: list[Extent] = []
    stride = unit
    for length in reversed(extents):
        strides.append(stride)
        stride = multiply(stride, length)
    return tuple(reversed(strides))


def literal_strides(array: Array, known: Intervals | None = None) -> Strides:
    """The strides of an array in elements, or in bits if the array is packed."""
    shape = array.stored_shape if array.strides is None else array.strides
    forms = [linear_form(extent, known or {}) for extent in shape]
    numbers = [form.constant if form.is_constant else None for form in forms]
    if array.strides is not None:
        return tuple(numbers)
    if array.rows is None:
        return row_major(numbers, 1, _times)
    bits = array.dtype.bits
    if array.rows is Rows.CONTIGUOUS:
        return row_major(numbers, bits, _times)
    row = _times(numbers[-1], bits)
    pitch = None if row is None else -(-row // 8) * 8
    return (*row_major(numbers[:-1], pitch, _times), bits)


def _times(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a * b


@dataclass(frozen=True)
class Offset:
    """The distance of an element from the first element: ``literal + sum of stride * scaled``.

    Attributes:
        literal: the dimensions with literal strides.
        scaled: pairs (dimension, subscript) of the dimensions whose stride is known only at run
            time.
        lane: the distance between consecutive lanes; None if it is not literal.
    """

    literal: LinearForm
    scaled: tuple[tuple[int, LinearForm], ...]
    lane: int | None

    @property
    def is_data_dependent(self) -> bool:
        """Whether a subscript reads an array element."""
        return _reads([self.literal, *[form for _, form in self.scaled]])

    def alignment(self, base: int, size: int) -> int:
        """The largest known power of two, up to a cache line, that divides the address in bytes.

        Args:
            base: alignment of the array in bytes.
            size: the bytes of an element.
        """
        if self.scaled:
            return size
        distances = [self.literal.constant, *(factor for _, factor in self.literal.terms)]
        common = gcd(base, *(abs(distance) * size for distance in distances))
        return min(common & -common, CACHE_LINE)


def element_offset(strides: Strides, subscripts: Sequence[Expression], lane: str | None) -> Offset:
    """The distance of the element that lane 0 accesses, and the distance between lanes."""
    literal, scaled = _distance(strides, subscripts, {})
    is_straight = True
    if scaled:
        parts = [(dimension, *_without_lane(form, lane)) for dimension, form in scaled]
        scaled = tuple([(dimension, form) for dimension, form, _ in parts])
        is_straight = all(step == 0 for _, _, step in parts)
    # The terms of all dimensions are added first: 4*(x//4) + x%4 is x.
    literal, step = _without_lane(literal, lane)
    return Offset(literal, scaled, step if is_straight else None)


def lane_distances(
    strides: Strides, subscripts: Sequence[Expression], offset: Offset, lane: str, count: int
) -> tuple[Offset, tuple[int, ...]] | None:
    """The offset of the lowest element that lanes access, and the distance of each lane from it.

    Args:
        offset: the `element_offset` of the access.

    Returns:
        None if the distances are not literal or depend on data.
    """
    if offset.is_data_dependent:
        return None
    if offset.lane is not None:
        first = min(0, offset.lane * (count - 1))
        least_offset = replace(offset, literal=offset.literal.plus(first))
        return least_offset, tuple([offset.lane * at - first for at in range(count)])
    start, scaled = _distance(strides, subscripts, {lane: (0, 0)})
    terms = dict(start.terms)
    constants = [start.constant]
    for at in range(1, count):  # the first lane that differs ends the comparison
        form, own_scaled = _distance(strides, subscripts, {lane: (at, at)})
        if dict(form.terms) != terms or own_scaled != scaled:
            return None
        constants.append(form.constant)
    least = min(constants)
    distances = tuple([constant - least for constant in constants])
    return Offset(LinearForm(start.terms, least), scaled, None), distances


def stride_steps(
    strides: Strides, subscripts: Sequence[Expression], offset: Offset, lane: str
) -> tuple[tuple[tuple[int, int], ...], int] | None:
    """The factors of run-time strides in the distance between lanes, and its literal part.

    Args:
        offset: the `element_offset` of the access.

    Returns:
        None if the distance depends on data or differs from lane to lane.
    """
    if offset.is_data_dependent:
        return None
    literal, scaled = _distance(strides, subscripts, {})
    _, own = _without_lane(literal, lane)
    factors = [(dimension, _without_lane(form, lane)[1]) for dimension, form in scaled]
    steps = [(dimension, factor) for dimension, factor in factors if factor]
    if own is None or any(factor is None for _, factor in factors):
        return None
    return tuple(steps), own


def _distance(
    strides: Strides, subscripts: Sequence[Expression], known: Intervals
) -> tuple[LinearForm, tuple[tuple[int, LinearForm], ...]]:
    literal = LinearForm((), 0)
    scaled = []
    for dimension, (subscript, stride) in enumerate(zip(subscripts, strides, strict=True)):
        form = linear_form(subscript, known)
        if stride is None:
            scaled.append((dimension, form))
        elif stride == 1 and not literal.terms and not literal.constant:
            literal = form
        else:
            literal = literal.plus(form, stride)
    return literal, tuple(scaled)


def has_all_lanes(
    shape: Sequence[Expression],
    subscripts: Sequence[Expression],
    lane: str,
    count: int,
    known: Intervals,
) -> bool:
    """Whether an array has the elements of all lanes if it has that of one lane."""
    for subscript, size in zip(subscripts, shape, strict=True):
        first, step = _without_lane(linear_form(subscript, known), lane)
        if step == 0:
            continue
        low, high = interval(first, known)
        if step is None or low is None or high is None or not isinstance(size, Constant):
            return False
        reach = step * (count - 1)
        if low + min(0, reach) < 0 or high + max(0, reach) >= int(size.value):
            return False
    return True


def _without_lane(form: LinearForm, lane: str | None) -> tuple[LinearForm, int | None]:
    """The form without the lane's term, and its coefficient (None if it stands inside an atom)."""
    if lane is None:
        return form, 0
    own = 0
    rest = form
    for position, (atom, coefficient) in enumerate(form.terms):
        if isinstance(atom, Index) and atom.name == lane:
            own = coefficient
            terms = form.terms[:position] + form.terms[position + 1 :]
            rest = LinearForm(terms, form.constant)
    return (form, None) if not form.is_affine and rest.uses({lane}) else (rest, own)
