"""Emit loads, gathers, stores and scatters of packed elements at any bit position.

An element is built from the bytes that it touches, at most five, and from no other bytes. If an
element touches fewer bytes than other elements of the array, its last byte is read again instead.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import constant, declared, intrinsic, mangled
from polysched.llvm.memory.arrays import Addresses, Storage
from polysched.llvm.memory.packed_layout import most_bytes
from polysched.llvm.subbyte.conversion import BYTE
from polysched.llvm.values.expressions import INDEX, vector_of
from polysched.vector.values import Address, Sum, Unit

_INT32 = ir.IntType(32)


class SingleAccesses:
    """Emit accesses of a single element, or of one element per lane at separate positions."""

    def __init__(self, builder: ir.IRBuilder, addresses: Addresses) -> None:
        self.builder = builder
        self.addresses = addresses

    def load(self, storage: Storage, address: Address, container: int) -> Any:
        """Load an element as an integer of ``container`` bits."""
        pointers, phase = self._bytes(storage, address)
        parts = []
        for pointer in pointers:
            loaded = self.builder.load(pointer, typ=BYTE)
            loaded.align = 1
            parts.append(loaded)
        return self._element(storage, parts, phase, container, None)

    def gather(self, storage: Storage, positions: Any, mask: Any, container: int) -> Any:
        """Load the elements that begin at the bits ``positions`` (an i64 per lane), as a vector."""
        builder, lanes = self.builder, positions.type.count
        type_ = ir.VectorType(BYTE, lanes)
        parts = []
        for byte_number in self._byte_numbers(storage, positions):
            pointers = builder.gep(storage.base, [byte_number], source_etype=BYTE)
            # llvmlite uses the type of the base as the type of the result
            pointers.type = ir.VectorType(ir.PointerType(), lanes)
            signature = ir.FunctionType(type_, [pointers.type, mask.type, type_])
            name = f"llvm.masked.gather.{mangled(type_)}.v{lanes}p0"
            function = declared(builder.module, name, signature)
            parts.append(builder.call(function, [pointers, mask, ir.Constant(type_, None)]))
        phase = builder.and_(positions, constant(positions.type, 7))
        return self._element(storage, parts, phase, container, lanes)

    def store(self, storage: Storage, address: Address, value: Any) -> None:
        """Store an element; ``value`` has the LLVM type of the element."""
        pointers, phase = self._bytes(storage, address)
        self._merge(storage, pointers, phase, value)

    def scatter(self, storage: Storage, positions: Any, value: Any, mask: Any | None) -> None:
        """Store the elements that begin at the bits ``positions``, in the order of the lanes.

        Two elements may share a byte, so each store must read the result of the previous store.
        """
        builder = self.builder
        for lane in range(positions.type.count):
            number = _INT32(lane)
            if mask is None:
                self._store_lane(storage, positions, value, number)
                continue
            with builder.if_then(builder.extract_element(mask, number)):
                self._store_lane(storage, positions, value, number)

    def _store_lane(self, storage: Storage, positions: Any, value: Any, number: Any) -> None:
        builder = self.builder
        position = builder.extract_element(positions, number)
        element = builder.extract_element(value, number)
        pointers = self._pointers(storage, position)
        self._merge(storage, pointers, builder.and_(position, INDEX(7)), element)

    def _merge(self, storage: Storage, pointers: list[Any], phase: Any, value: Any) -> None:
        """Replace the bits of one element in its bytes."""
        builder = self.builder
        wide = _wide(len(pointers), None)
        shift = _resized(builder, phase, wide)
        ones = constant(wide, (1 << storage.array.dtype.bits) - 1)
        mask = builder.shl(ones, shift)
        moved = builder.shl(builder.zext(value, wide), shift)
        for number, pointer in enumerate(pointers):
            down = constant(wide, 8 * number)
            own, new = (builder.trunc(builder.lshr(bits, down), BYTE) for bits in (mask, moved))
            old = builder.load(pointer, typ=BYTE)
            old.align = 1
            merged = builder.or_(builder.and_(old, builder.not_(own)), new)
            builder.store(merged, pointer).align = 1

    def _bytes(self, storage: Storage, address: Address) -> tuple[list[Any], Any]:
        """The pointers to the bytes of an element, and its first bit in the first byte."""
        if address.unit is Unit.BIT:
            position = self._position(storage, address)
            phase = self.builder.and_(position, INDEX(7))
            return self._pointers(storage, position), phase
        first = self.addresses.address(storage, address)
        count = -(-(address.phase + storage.array.dtype.bits) // 8)
        pointers = [
            self.builder.gep(first, [INDEX(number)], source_etype=BYTE) if number else first
            for number in range(count)
        ]
        return pointers, INDEX(address.phase)

    def _position(self, storage: Storage, address: Address) -> ir.Value:
        """The first bit of an element in the array (i64)."""
        builder = self.builder
        position = self.addresses.evaluate(Sum(address.terms, address.constant))
        for dimension, index in address.scaled:
            distance = builder.mul(self.addresses.evaluate(index), storage.strides[dimension])
            position = builder.add(position, distance)
        return position

    def _pointers(self, storage: Storage, position: Any) -> list[Any]:
        return [
            self.builder.gep(storage.base, [byte_number], source_etype=BYTE)
            for byte_number in self._byte_numbers(storage, position)
        ]

    def _byte_numbers(self, storage: Storage, position: Any) -> list[Any]:
        """The byte numbers of an element, or of one element per lane, padded with the last byte."""
        builder = self.builder
        three = constant(position.type, 3)
        first = builder.ashr(position, three)
        end = builder.add(position, constant(position.type, storage.array.dtype.bits - 1))
        last = builder.ashr(end, three)
        result = [first]
        for number in range(1, most_bytes(storage.array)):
            byte_number = builder.add(first, constant(position.type, number))
            result.append(intrinsic(builder, "smin", [byte_number, last]))
        return result

    def _element(
        self, storage: Storage, parts: list[Any], phase: Any, container: int, lanes: int | None
    ) -> Any:
        """Combine the bytes of an element, and remove the bits of its neighbors."""
        builder, dtype = self.builder, storage.array.dtype
        wide = _wide(len(parts), lanes)
        joined: Any = None
        for number, part in enumerate(parts):
            up = builder.shl(builder.zext(part, wide), constant(wide, 8 * number))
            joined = up if joined is None else builder.or_(joined, up)
        lowest = builder.lshr(joined, _resized(builder, phase, wide))
        above = constant(wide, _width(wide) - dtype.bits)
        shifted = builder.shl(lowest, above)
        extend = builder.ashr if dtype.is_signed else builder.lshr
        type_ = vector_of(ir.IntType(container), lanes)
        return _resized(builder, extend(shifted, above), type_, is_signed=dtype.is_signed)


def _wide(count: int, lanes: int | None) -> Any:
    return vector_of(ir.IntType(32 if count <= 4 else 64), lanes)


def _width(type_: Any) -> int:
    element = type_.element if isinstance(type_, ir.VectorType) else type_
    return int(element.width)


def _resized(builder: ir.IRBuilder, value: Any, type_: Any, *, is_signed: bool = False) -> Any:
    """Truncate or extend an integer or a vector of integers."""
    if _width(value.type) == _width(type_):
        return value
    if _width(value.type) > _width(type_):
        return builder.trunc(value, type_)
    return (builder.sext if is_signed else builder.zext)(value, type_)
