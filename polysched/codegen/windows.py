"""Vectors whose lanes lie at literal distances from each other: whole vectors, and shuffled.

Of ``x[2*i + lane // 4]`` or ``x[4*i + 2*lane]`` every lane's distance from the first element is a
literal. Where all of them lie within a few vectors, loading these and shuffling takes a fraction of
a gather. Nothing is loaded that does not lie between two elements that are. Of such a store the
lanes are put in their places first, and stored by vectors under literal masks: nothing is written
but the elements themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from polysched.codegen.intrinsics import (
    aligned,
    declared,
    mangled,
    mask_of,
    shuffled,
    vector_type,
    zeros,
)
from polysched.codegen.memory import BYTE, Addresses, Offset, Storage
from polysched.codegen.values import INDEX, memory_type
from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.linear import LinearForm, linear_form

MOST = 4
"""Vectors that a window may have; more than four loads and three shuffles are no better."""


def lane_places(
    storage: Storage, subscripts: tuple[Expression, ...], lane: str, count: int
) -> tuple[Offset, tuple[int, ...]] | None:
    """The least element that the lanes read, and how far behind it each lane's is.

    None where these are no literals, or depend on data.
    """
    forms = [_at(storage, subscripts, lane, number) for number in range(count)]
    first, scaled = forms[0]
    for form, others in forms:
        if dict(form.terms) != dict(first.terms) or others != scaled:
            return None
    least = min(form.constant for form, _ in forms)
    offset = Offset(LinearForm(first.terms, least), scaled, None)
    if offset.is_data_dependent:
        return None
    return offset, tuple(form.constant - least for form, _ in forms)


def _at(
    storage: Storage, subscripts: tuple[Expression, ...], lane: str, number: int
) -> tuple[LinearForm, tuple[tuple[int, LinearForm], ...]]:
    literal = LinearForm((), 0)
    scaled = []
    for dimension, (subscript, stride) in enumerate(zip(subscripts, storage.strides, strict=True)):
        form = linear_form(subscript, {lane: (number, number)})
        if isinstance(stride, int):
            literal = literal.plus(form, stride)
        else:
            scaled.append((dimension, form))
    return literal, tuple(scaled)


def fits(places: Sequence[int]) -> bool:
    """Whether few enough vectors hold all lanes' elements."""
    return max(places) < MOST * len(places)


@dataclass(frozen=True, eq=False)
class _Window:
    """Elements of an array from an offset on."""

    builder: ir.IRBuilder
    addresses: Addresses
    storage: Storage
    offset: Offset

    def load(self, start: int, count: int) -> Any:
        """So many elements as a vector."""
        literal = self.offset.literal.plus(LinearForm((), start))
        pointer = self.addresses.address(self.storage, Offset(literal, self.offset.scaled, 1))
        loaded = self.builder.load(pointer, typ=self._type(count))
        loaded.align = self.storage.array.dtype.bytes
        return loaded

    def within(self, places: Sequence[int]) -> Any:
        """The lanes from one vector, of which no more is read than what holds them."""
        size, lanes = max(places) + 1, range(len(places))
        if size & (size - 1) == 0:
            vector = self.load(0, size)
        else:
            pointer = self.addresses.address(self.storage, self.offset)
            type_ = self._type(len(places))
            mask = mask_of(lane < size for lane in lanes)
            signature = ir.FunctionType(type_, [pointer.type, mask.type, type_])
            name = f"llvm.masked.load.{mangled(type_)}.p0"
            function = declared(self.builder.module, name, signature)
            vector = self.builder.call(function, [pointer, mask, zeros(type_)])
        return shuffled(self.builder, vector, vector, places)

    def _type(self, count: int) -> Any:
        return vector_type(memory_type(self.storage.array.dtype), count)


def load_window(
    builder: ir.IRBuilder,
    addresses: Addresses,
    storage: Storage,
    offset: Offset,
    places: Sequence[int],
) -> Any:
    """The vector whose lanes lie ``places`` elements behind an offset."""
    window = _Window(builder, addresses, storage, offset)
    count, last = len(places), max(places)
    if last < count:
        return window.within(places)
    starts = _starts(count, last)
    found: Any = None
    for pair in (starts[at : at + 2] for at in range(0, len(starts), 2)):
        vectors = [window.load(start, count) for start in pair]
        inside = {
            lane: next(
                position * count + place - start
                for position, start in enumerate(pair)
                if start <= place < start + count
            )
            for lane, place in enumerate(places)
            if pair[0] <= place < pair[-1] + count
        }
        lanes = [inside.get(lane, 0) for lane in range(count)]
        joined = shuffled(builder, vectors[0], vectors[-1], lanes)
        if found is None:
            found, held = joined, set(inside)
        else:
            chosen = [lane if lane in held else count + lane for lane in range(count)]
            found = shuffled(builder, found, joined, chosen)
    return found


def _starts(count: int, last: int) -> list[int]:
    """Where the vectors of a window begin; the last one ends with the last element."""
    return [*range(0, last + 1 - count, count), last + 1 - count]


def store_window(
    builder: ir.IRBuilder,
    addresses: Addresses,
    storage: Storage,
    offset: Offset,
    places: Sequence[int],
    vector: Any,
) -> None:
    """Write the lanes of a vector ``places`` elements behind an offset, no two to one place.

    No vector goes beyond the last element: what the next iteration loads there would wait for it.
    """
    count, size = len(places), storage.array.dtype.bytes
    left = {place: lane for lane, place in enumerate(places)}
    for start in _starts(count, max(places)):
        here = [place for place in left if start <= place < start + count]
        inside = {place - start: left.pop(place) for place in here}
        if not inside:
            continue
        literal = offset.literal.plus(LinearForm((), start))
        pointer = addresses.address(storage, Offset(literal, offset.scaled, None))
        if len(inside) == 1:
            ((behind, lane),) = inside.items()
            store_single(builder, vector, lane, pointer, behind, size)
        else:
            moved = shuffled(builder, vector, vector, [inside.get(at, 0) for at in range(count)])
            mask = mask_of(at in inside for at in range(count))
            signature = ir.FunctionType(ir.VoidType(), [moved.type, pointer.type, mask.type])
            name = f"llvm.masked.store.{mangled(moved.type)}.p0"
            function = declared(builder.module, name, signature)
            call = builder.call(function, [moved, pointer, mask])
            aligned(call, 1, size)


def store_single(
    builder: ir.IRBuilder, vector: Any, lane: int, pointer: Any, behind: int, size: int
) -> None:
    """Write one lane of a vector, of elements of a size, so many of them behind a pointer.

    LLVM 22 would store a wider element under a mask of one lane, of a vector that has been narrowed
    before.
    """
    element = builder.extract_element(vector, ir.IntType(32)(lane))
    place = builder.gep(pointer, [INDEX(behind * size)], source_etype=BYTE)
    builder.store(element, place).align = size
