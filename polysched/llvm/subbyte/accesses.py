"""Emit loads and stores of packed arrays: vectors, single elements, gathers and scatters.

Every access touches exactly the bytes that contain its elements. A store that fills only a part of
a byte reads the byte first and writes it back. Concurrent writes to elements of the same byte would
be a data race, which :mod:`polysched.legality.checks.shared_bytes` excludes.
"""

from __future__ import annotations

from collections.abc import Set

from llvmlite import ir

from polysched.llvm.memory.arrays import Addresses, Storage
from polysched.llvm.subbyte.conversion import BYTE, Conversion, Direction, selected
from polysched.llvm.subbyte.single import SingleAccesses
from polysched.llvm.subbyte.strategies import cheapest
from polysched.llvm.subbyte.transfer import load_bytes, masked_load, masked_store, store_bytes
from polysched.llvm.values.expressions import INDEX
from polysched.llvm.values.masks import Mask, ValueOf, lane_offsets
from polysched.vector.values import Access, Gather, Uniform

_WHOLE = 0xFF
"""All bits of a byte."""


class PackedAccesses:
    """Emit accesses of packed arrays.

    Args:
        value_of: emits the subscripts of gathered elements.
        features: LLVM's names of the machine's instruction sets.
    """

    def __init__(
        self, builder: ir.IRBuilder, addresses: Addresses, value_of: ValueOf, features: Set[str]
    ) -> None:
        self.builder = builder
        self.addresses = addresses
        self.value_of = value_of
        self.features = features
        self.single = SingleAccesses(builder, addresses)

    def load(
        self, storage: Storage, access: Access, lanes: Mask | None, container: int
    ) -> tuple[ir.Value, int | None]:
        """Load elements as integers of ``container`` bits, and return the number of lanes.

        The number of lanes is None if all lanes read the same element.
        """
        dtype, address = storage.array.dtype, access.address
        if lanes is None or access.movement is Uniform.BROADCAST:
            return self.single.load(storage, address, container), None
        if isinstance(access.movement, Gather):
            positions = self._positions(storage, access.movement, lanes)
            return self.single.gather(storage, positions, lanes.all_bits, container), lanes.count
        skipped = address.phase // dtype.bits
        conversion = Conversion(dtype.bits, container, skipped + lanes.count, dtype.is_signed)
        pointer = self.addresses.address(storage, address)
        alignment = access.alignment
        if lanes.bits is None:
            packed = load_bytes(self.builder, pointer, conversion.bytes, alignment, self.features)
        else:
            mask = self._touched_bytes(_after(self.builder, lanes.bits, skipped), conversion)
            loaded = masked_load(self.builder, pointer, mask, alignment)
            packed = selected(self.builder, loaded, range(conversion.bytes))
        unpacked = self._converted(Direction.UNPACK, packed, conversion)
        return _without(self.builder, unpacked, skipped), lanes.count

    def store(self, storage: Storage, access: Access, value: ir.Value, lanes: Mask | None) -> None:
        """Store one element for each lane; ``value`` has the LLVM type of the element."""
        builder, dtype, address = self.builder, storage.array.dtype, access.address
        if lanes is None:
            self.single.store(storage, address, value)
            return
        if isinstance(access.movement, Gather):
            positions = self._positions(storage, access.movement, lanes)
            self.single.scatter(storage, positions, value, lanes.bits)
            return
        skipped = address.phase // dtype.bits
        conversion = Conversion(dtype.bits, dtype.container.bits, skipped + lanes.count)
        wide = builder.zext(value, ir.VectorType(ir.IntType(conversion.container), lanes.count))
        packed = self._converted(Direction.PACK, _after(builder, wide, skipped), conversion)
        pointer, alignment = self.addresses.address(storage, address), access.alignment
        is_whole = not skipped and lanes.count * dtype.bits % 8 == 0
        if is_whole and lanes.bits is None:
            store_bytes(builder, packed, pointer, alignment, self.features)
            return
        only = _only_byte(lanes, skipped, dtype.bits)
        if only is None:
            active = _after(builder, lanes.all_bits, skipped)
            self._merge(packed, active, conversion, pointer, alignment)
        else:
            self._merge_byte(packed, *only, pointer)

    def _merge_byte(self, packed: ir.Value, byte: int, bits: int, pointer: ir.Value) -> None:
        """Write some bits of a byte and keep the other bits.

        LLVM 22 miscompiles a masked store of one byte if the vector has been truncated before: it
        stores a wider element.
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
        self,
        packed: ir.Value,
        active: ir.Value,
        conversion: Conversion,
        pointer: ir.Value,
        alignment: int,
    ) -> None:
        """Write the bits of the active elements and keep the other bits."""
        builder = self.builder
        ones = builder.sext(active, conversion.unpacked_type)
        chosen = self._converted(Direction.PACK, ones, conversion)
        mask = self._touched_bytes(active, conversion)
        size = range(mask.type.count)
        padding = [byte if byte < conversion.bytes else None for byte in size]
        packed, chosen = (selected(builder, vector, padding) for vector in (packed, chosen))
        kept = builder.and_(masked_load(builder, pointer, mask, alignment), builder.not_(chosen))
        merged = builder.or_(kept, builder.and_(packed, chosen))
        masked_store(builder, merged, pointer, mask, alignment)

    def _converted(
        self, direction: Direction, vector: ir.Value, conversion: Conversion
    ) -> ir.Value:
        _, strategy = cheapest(direction, conversion, self.features)
        return strategy.rewrite(self.builder, vector, conversion)

    def _positions(self, storage: Storage, movement: Gather, lanes: Mask) -> ir.Value:
        """The first bit of every lane's element, a vector of i64."""
        return lane_offsets(
            self.builder, movement.subscripts, storage.strides, lanes, self.value_of
        )

    def _touched_bytes(self, active: ir.Value, conversion: Conversion) -> ir.Value:
        """The mask of the bytes that contain an active element, padded to a power of two."""
        bits, count = conversion.bits, conversion.lanes
        size = 1 << (conversion.bytes - 1).bit_length()
        inside = [
            [lane for lane in range(8 * byte // bits, (8 * byte + 7) // bits + 1) if lane < count]
            for byte in range(size)
        ]
        height = max(map(len, inside))
        result: ir.Value = None
        for column in range(height):
            lanes = [own[column] if column < len(own) else None for own in inside]
            part = selected(self.builder, active, lanes)
            result = part if result is None else self.builder.or_(result, part)
        return result


def _only_byte(active: Mask, skipped: int, width: int) -> tuple[int, int] | None:
    """The byte that contains all active elements, and the mask of their bits in it.

    None unless the lanes are literal and a single byte contains all active elements.

    Args:
        skipped: the number of elements before the first lane's element in its byte.
        width: the bits of an element.
    """
    if active.bits is not None and active.lanes is None:
        return None
    lanes = range(active.count) if active.lanes is None else active.lanes
    touched = 0
    for lane in lanes:
        touched |= ((1 << width) - 1) << (skipped + lane) * width
    byte = ((touched & -touched).bit_length() - 1) // 8
    bits = touched >> 8 * byte if touched else 0
    return (byte, bits) if 0 < bits <= _WHOLE else None


def _after(builder: ir.IRBuilder, vector: ir.Value, skipped: int) -> ir.Value:
    """Prepend zeros to the vector."""
    if not skipped:
        return vector
    return selected(builder, vector, [None] * skipped + list(range(vector.type.count)))


def _without(builder: ir.IRBuilder, vector: ir.Value, skipped: int) -> ir.Value:
    return selected(builder, vector, range(skipped, vector.type.count)) if skipped else vector
