"""Vectors whose lanes lie at literal distances from each other: loaded whole and shuffled.

Of ``x[2*i + lane // 4]`` or ``x[4*i + 2*lane]`` every lane's distance from the first element is a
literal. Where all of them lie within a few vectors, loading these and shuffling takes a fraction of
a gather. Nothing is loaded that does not lie between two elements that are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from polysched.codegen.intrinsics import declared, mangled, shuffled, vector_type, zeros
from polysched.codegen.memory import Addresses, Offset, Storage
from polysched.codegen.values import memory_type
from polysched.ir.expressions import Expression
from polysched.ir.linear import LinearForm, linear_form

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


def load_window(
    builder: ir.IRBuilder,
    addresses: Addresses,
    storage: Storage,
    offset: Offset,
    places: Sequence[int],
) -> Any:
    """The vector whose lanes lie ``places`` elements behind an offset."""
    count, last = len(places), max(places)
    if last < count:
        return _within(builder, addresses, storage, offset, places)
    # The last vector ends with the last element.
    starts = [*range(0, last + 1 - count, count), last + 1 - count]
    found: Any = None
    for pair in (starts[at : at + 2] for at in range(0, len(starts), 2)):
        vectors = [_load(builder, addresses, storage, offset, start, count) for start in pair]
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


def _within(
    builder: ir.IRBuilder,
    addresses: Addresses,
    storage: Storage,
    offset: Offset,
    places: Sequence[int],
) -> Any:
    """The lanes from one vector, of which no more is read than what holds them."""
    size = max(places) + 1
    if size & (size - 1) == 0:
        vector = _load(builder, addresses, storage, offset, 0, size)
    else:
        pointer = addresses.address(storage, offset)
        type_ = vector_type(memory_type(storage.array.dtype), len(places))
        mask = ir.Constant(
            ir.VectorType(ir.IntType(1), len(places)), [lane < size for lane in range(len(places))]
        )
        signature = ir.FunctionType(type_, [pointer.type, mask.type, type_])
        function = declared(builder.module, f"llvm.masked.load.{mangled(type_)}.p0", signature)
        vector = builder.call(function, [pointer, mask, zeros(type_)])
    return shuffled(builder, vector, vector, places)


def _load(
    builder: ir.IRBuilder,
    addresses: Addresses,
    storage: Storage,
    offset: Offset,
    start: int,
    count: int,
) -> Any:
    moved = Offset(offset.literal.plus(LinearForm((), start)), offset.scaled, 1)
    pointer = addresses.address(storage, moved)
    loaded = builder.load(pointer, typ=vector_type(memory_type(storage.array.dtype), count))
    loaded.align = storage.array.dtype.bytes
    return loaded
