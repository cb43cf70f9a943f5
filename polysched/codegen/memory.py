"""Where arrays live, and the addresses of their elements.

An element's address is split into a part that only loop variables and parameters decide - computed
once per place and shared by all accesses that differ in constants - and a literal displacement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from typing import Any, TypeAlias

from llvmlite import ir

from polysched.codegen.pacing import Pace
from polysched.codegen.values import INDEX
from polysched.ir.core.data_dependent import is_data_dependent
from polysched.ir.core.kernel import Array
from polysched.ir.expr.expressions import Constant, Expression, Index
from polysched.ir.expr.linear import LinearForm, linear_form

BYTE = ir.IntType(8)
CACHE_LINE = 64

Evaluate: TypeAlias = Callable[[Expression], Any]
"""The LLVM value (i64) of an integer expression over loop variables and parameters."""


@dataclass(frozen=True, eq=False)
class Storage:
    """An array's place in memory.

    Attributes:
        array: the array.
        base: LLVM pointer to the first element.
        strides: elements from one index to the next for each stored dimension: a literal or an
            i64; of a packed array bits (:mod:`polysched.codegen.subbyte.layout`).
        alignment: known alignment of ``base`` in bytes.
        own: elements of an array in the frame of the function, which no other thread sees; 0 of
            any other array.
    """

    array: Array
    base: Any
    strides: tuple[Any, ...]
    alignment: int
    own: int = 0

    def holds(self, offset: Offset, count: int) -> bool:
        """Whether a vector lies within an array of this function's own."""
        if offset.scaled or offset.literal.terms:
            return False
        return 0 <= offset.literal.constant <= self.own - count


@dataclass(frozen=True)
class Offset:
    """An element's distance from the base: ``constant + sum of stride * form`` in elements.

    ``lane`` is the distance between neighboring lanes, None where it is no literal.
    """

    literal: LinearForm
    scaled: tuple[tuple[int, LinearForm], ...]
    """Pairs (dimension, form) for the dimensions whose stride is known at run time only."""
    lane: int | None

    @property
    def is_data_dependent(self) -> bool:
        """Whether an array element stands in a subscript."""
        forms = (self.literal, *(form for _, form in self.scaled))
        return is_data_dependent([atom for form in forms for atom, _ in form.terms])


def element_offset(
    storage: Storage, subscripts: tuple[Expression, ...], lane: str | None
) -> Offset:
    """The offset of an access; the lane's own contribution is taken out of the forms."""
    literal = LinearForm((), 0)
    scaled = []
    is_straight = True
    for dimension, (subscript, stride) in enumerate(zip(subscripts, storage.strides, strict=True)):
        form = linear_form(subscript, {})
        if isinstance(stride, int):
            literal = literal.plus(form, stride)
        else:
            form, own = _without_lane(form, lane)
            scaled.append((dimension, form))
            is_straight = is_straight and own == 0
    # Of all dimensions together: 4*(x//4) + x%4 is x.
    literal, step = _without_lane(literal, lane)
    return Offset(literal, tuple(scaled), step if is_straight else None)


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


def known_alignment(storage: Storage, offset: Offset) -> int:
    """The largest power of two, up to a cache line, that divides the address of lane 0."""
    size = storage.array.dtype.bytes
    if offset.scaled:
        return size
    common = gcd(
        storage.alignment,
        abs(offset.literal.constant) * size,
        *(abs(coefficient) * size for _, coefficient in offset.literal.terms),
    )
    return min(common & -common, CACHE_LINE)


class Addresses:
    """Emits addresses; remembers the variable parts computed in the scopes that are open."""

    def __init__(self, builder: ir.IRBuilder, evaluate: Evaluate) -> None:
        self.builder = builder
        self.evaluate = evaluate
        self.scopes: list[dict[Any, Any]] = [{}]
        self.pace = Pace(builder)

    def enter(self) -> None:
        """Open a scope: what is computed from here on is forgotten at :meth:`leave`."""
        self.scopes.append({})

    def leave(self) -> None:
        """Close the innermost scope."""
        self.scopes.pop()

    def address(self, storage: Storage, offset: Offset) -> Any:
        """The pointer to the element (of lane 0)."""
        size = storage.array.dtype.bytes
        key = (storage.array.name, offset.literal.terms, offset.scaled)
        pointer = next((scope[key] for scope in self.scopes if key in scope), None)
        if pointer is None:
            pointer = self._variable_part(storage, offset)
            if not offset.is_data_dependent:  # what it reads may have changed at the next place
                self.scopes[-1][key] = pointer
        displacement = offset.literal.constant * size
        self.pace.touch(pointer, displacement)
        if displacement:
            pointer = self._moved(pointer, INDEX(displacement))
        return pointer

    def _variable_part(self, storage: Storage, offset: Offset) -> Any:
        builder, size = self.builder, storage.array.dtype.bytes
        pointer = storage.base
        for dimension, form in offset.scaled:
            distance = builder.mul(self.evaluate(form.expression()), storage.strides[dimension])
            pointer = self._moved(pointer, builder.mul(distance, INDEX(size)))
        for atom, coefficient in offset.literal.terms:
            value = self.evaluate(atom)
            pointer = self._moved(pointer, builder.mul(value, INDEX(coefficient * size)))
        return pointer

    def _moved(self, pointer: Any, distance: Any) -> Any:
        # Not ``inbounds``: lane 0 of a masked access may lie outside of the array.
        return self.builder.gep(pointer, [distance], source_etype=BYTE)


def row_major(extents: tuple[Any, ...], multiply: Callable[[Any, Any], Any]) -> tuple[Any, ...]:
    """Strides in elements of a contiguous array, the last dimension fastest."""
    strides: list[Any] = []
    stride: Any = 1
    for extent in reversed(extents):
        strides.append(stride)
        stride = multiply(stride, extent)
    return tuple(reversed(strides))


def literal_strides(array: Array) -> tuple[int | None, ...]:
    """The strides of an array in elements, those that are literals."""
    shape = array.stored_shape if array.strides is None else array.strides
    literals = tuple(int(one.value) if isinstance(one, Constant) else None for one in shape)
    return row_major(literals, _times) if array.strides is None else literals


def _times(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a * b
