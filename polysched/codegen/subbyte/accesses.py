"""Loads and stores of packed arrays: whole vectors of elements, single ones, scattered ones.

Every access touches exactly the bytes that its elements lie in. A store that fills only a part of a
byte reads the byte first and writes it back: elements in one byte are one place in memory for
threads, which :mod:`polysched.legality.checks.shared_bytes` looks after.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, Protocol, TypeAlias

from llvmlite import ir

from polysched.codegen.intrinsics import active_lanes, all_lanes
from polysched.codegen.memory import Addresses, Offset, Storage, element_offset, known_alignment
from polysched.codegen.subbyte.conversion import BYTE, Conversion, Direction, selected
from polysched.codegen.subbyte.costs import cheapest
from polysched.codegen.subbyte.layout import Place, known_place
from polysched.codegen.subbyte.single import SingleAccesses
from polysched.codegen.subbyte.transfer import load_bytes, masked_load, masked_store, store_bytes
from polysched.codegen.values import INDEX, Value, splat, widened
from polysched.ir.expr.expressions import Expression


class Lanes(Protocol):
    """The lanes of a vector statement."""

    @property
    def variable(self) -> str:
        """The lane variable."""

    @property
    def count(self) -> int:
        """How many lanes there are."""

    @property
    def mask(self) -> Any | None:
        """Which are active; None if all are."""


_WHOLE = 0xFF
"""All bits of a byte."""

LaneValues: TypeAlias = Callable[[Expression], Value]
"""The value of a subscript for the lanes of the statement."""


class PackedAccesses:
    """Emits accesses of packed arrays.

    Args:
        features: LLVM's names of what the machine has.
    """

    def __init__(self, builder: ir.IRBuilder, addresses: Addresses, features: Set[str]) -> None:
        self.builder = builder
        self.addresses = addresses
        self.features = features
        self.single = SingleAccesses(builder, addresses)

    def load(
        self,
        storage: Storage,
        subscripts: tuple[Expression, ...],
        lanes: Lanes | None,
        container: int,
        value_of: LaneValues,
    ) -> tuple[Any, int | None]:
        """The element, or one a lane, as integers of ``container`` bits, and the number of lanes.

        The lanes are None where all read the same element.
        """
        dtype = storage.array.dtype
        offset = element_offset(storage, subscripts, lanes.variable if lanes else None)
        if lanes is None or offset.lane == 0:
            return self.single.load(storage, offset, container), None
        place = self._row(storage, offset)
        if place is None:
            positions = self._positions(storage, subscripts, lanes, value_of)
            mask = lanes.mask if lanes.mask is not None else all_lanes(lanes.count)
            return self.single.gather(storage, positions, mask, container), lanes.count
        skipped = place.phase // dtype.bits
        conversion = Conversion(dtype.bits, container, skipped + lanes.count, dtype.is_signed)
        pointer, alignment = self._address(place)
        if lanes.mask is None:
            packed = load_bytes(self.builder, pointer, conversion.bytes, alignment, self.features)
        else:
            mask = self._touched_bytes(_after(self.builder, lanes.mask, skipped), conversion)
            loaded = masked_load(self.builder, pointer, mask, alignment)
            packed = selected(self.builder, loaded, range(conversion.bytes))
        unpacked = self._converted(Direction.UNPACK, packed, conversion)
        return _without(self.builder, unpacked, skipped), lanes.count

    def store(
        self,
        storage: Storage,
        subscripts: tuple[Expression, ...],
        value: Any,
        lanes: Lanes | None,
        value_of: LaneValues,
    ) -> None:
        """Write the element, or one element a lane; ``value`` has the element's own LLVM type."""
        builder, dtype = self.builder, storage.array.dtype
        offset = element_offset(storage, subscripts, lanes.variable if lanes else None)
        if lanes is None:
            self.single.store(storage, offset, value)
            return
        place = self._row(storage, offset)
        if place is None:
            positions = self._positions(storage, subscripts, lanes, value_of)
            self.single.scatter(storage, positions, value, lanes.mask)
            return
        skipped = place.phase // dtype.bits
        conversion = Conversion(dtype.bits, dtype.container.bits, skipped + lanes.count)
        wide = builder.zext(value, ir.VectorType(ir.IntType(conversion.container), lanes.count))
        packed = self._converted(Direction.PACK, _after(builder, wide, skipped), conversion)
        pointer, alignment = self._address(place)
        is_whole = not skipped and lanes.count * dtype.bits % 8 == 0
        if is_whole and lanes.mask is None:
            store_bytes(builder, packed, pointer, alignment, self.features)
            return
        active = lanes.mask if lanes.mask is not None else all_lanes(lanes.count)
        only = _only_byte(active, skipped, dtype.bits)
        if only is None:
            self._merge(packed, _after(builder, active, skipped), conversion, pointer, alignment)
        else:
            self._merge_byte(packed, *only, pointer)

    def _merge_byte(self, packed: Any, byte: int, bits: int, pointer: Any) -> None:
        """Write some bits of one byte and leave the others as they are.

        LLVM 22 makes of a masked store of one byte, where the vector has been narrowed before, the
        store of a wider element.
        """
        builder = self.builder
        address = builder.gep(pointer, [INDEX(byte)], source_etype=BYTE) if byte else pointer
        value = builder.extract_element(packed, ir.IntType(32)(byte))
        if bits != _WHOLE:
            old = builder.load(address, typ=BYTE)
            old.align = 1
            kept = builder.and_(old, BYTE(_WHOLE & ~bits))
            value = builder.or_(kept, builder.and_(value, BYTE(bits)))
        builder.store(value, address).align = 1

    def _merge(
        self, packed: Any, active: Any, conversion: Conversion, pointer: Any, alignment: int
    ) -> None:
        """Write the bits of the active elements and leave the others as they are."""
        builder = self.builder
        ones = builder.sext(active, conversion.unpacked_type)
        chosen = self._converted(Direction.PACK, ones, conversion)
        mask = self._touched_bytes(active, conversion)
        size = range(mask.type.count)
        padding = [byte if byte < conversion.bytes else None for byte in size]
        packed, chosen = (selected(builder, one, padding) for one in (packed, chosen))
        kept = builder.and_(masked_load(builder, pointer, mask, alignment), builder.not_(chosen))
        merged = builder.or_(kept, builder.and_(packed, chosen))
        masked_store(builder, merged, pointer, mask, alignment)

    def _converted(self, direction: Direction, vector: Any, conversion: Conversion) -> Any:
        _, strategy = cheapest(direction, conversion, self.features)
        return strategy.rewrite(self.builder, vector, conversion)

    def _row(self, storage: Storage, offset: Offset) -> Place | None:
        """The place of lane 0, if lanes are neighbors that begin where an element may begin."""
        bits = storage.array.dtype.bits
        if offset.lane != bits:
            return None
        place = known_place(self.builder, storage, offset)
        return place if place is not None and place.phase % bits == 0 else None

    def _address(self, place: Place) -> tuple[Any, int]:
        pointer = self.addresses.address(place.storage, place.offset)
        return pointer, known_alignment(place.storage, place.offset)

    def _positions(
        self,
        storage: Storage,
        subscripts: tuple[Expression, ...],
        lanes: Lanes,
        value_of: LaneValues,
    ) -> Any:
        """The first bit of every lane's element, a vector of i64."""
        builder, count = self.builder, lanes.count
        position: Any = splat(builder, INDEX(0), count)
        for subscript, stride in zip(subscripts, storage.strides, strict=True):
            value = widened(builder, value_of(subscript), count)
            factor = INDEX(stride) if isinstance(stride, int) else stride
            position = builder.add(position, builder.mul(value, splat(builder, factor, count)))
        return position

    def _touched_bytes(self, active: Any, conversion: Conversion) -> Any:
        """The mask of bytes, of a power of two of them, in which an active element lies."""
        bits, count = conversion.bits, conversion.lanes
        size = 1 << (conversion.bytes - 1).bit_length()
        inside = [
            [lane for lane in range(8 * byte // bits, (8 * byte + 7) // bits + 1) if lane < count]
            for byte in range(size)
        ]
        height = max(map(len, inside))
        result: Any = None
        for column in range(height):
            lanes = [own[column] if column < len(own) else None for own in inside]
            part = selected(self.builder, active, lanes)
            result = part if result is None else self.builder.or_(result, part)
        return result


def _only_byte(active: Any, skipped: int, width: int) -> tuple[int, int] | None:
    """The byte in which all active elements lie, and their bits in it, if that is known and so.

    Args:
        skipped: elements before the first lane's in its byte.
        width: bits of an element.
    """
    lanes = active_lanes(active)
    if lanes is None:
        return None
    touched = 0
    for lane in lanes:
        touched |= ((1 << width) - 1) << (skipped + lane) * width
    byte = ((touched & -touched).bit_length() - 1) // 8
    bits = touched >> 8 * byte if touched else 0
    return (byte, bits) if 0 < bits <= _WHOLE else None


def _after(builder: ir.IRBuilder, vector: Any, skipped: int) -> Any:
    """The vector with so many zeros before it."""
    if not skipped:
        return vector
    return selected(builder, vector, [None] * skipped + list(range(vector.type.count)))


def _without(builder: ir.IRBuilder, vector: Any, skipped: int) -> Any:
    """The vector without its first elements."""
    return selected(builder, vector, range(skipped, vector.type.count)) if skipped else vector
