"""Emit loads and stores of array elements: scalars, whole vectors, gathers and scatters.

LLVM's masked intrinsics are defined in its language reference, "Masked Vector Load and Store
Intrinsics" and "Masked Vector Gather and Scatter Intrinsics".
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from llvmlite import ir

from polysched.ir.core.data_dependent import FARTHEST
from polysched.ir.expr.dtypes import DType, NumberKind
from polysched.llvm.builder.intrinsics import (
    aligned,
    declared,
    fenced,
    integers,
    mangled,
    vector_type,
    zeros,
)
from polysched.llvm.emit.lookups import look_up
from polysched.llvm.emit.windows import load_widened, load_window, store_single, store_window
from polysched.llvm.memory.arrays import BYTE, Addresses, Storage, absent_element
from polysched.llvm.memory.prefixes import Prefixes, load_literal_first, store_literal_first
from polysched.llvm.memory.streaming import stream
from polysched.llvm.subbyte.accesses import PackedAccesses
from polysched.llvm.values.expressions import (
    INDEX,
    Value,
    element_type,
    memory_type,
    splat,
    vector_of,
    widened,
)
from polysched.llvm.values.masks import Mask, ValueOf, lane_offsets, reverse
from polysched.vector.values import (
    Access,
    Address,
    Convert,
    Gather,
    Lookup,
    Offsets,
    RuntimeStride,
    Uniform,
    Window,
)
from polysched.vector.values import Load as VectorLoad


class Accesses:
    """Emit loads and stores of arrays in memory."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        addresses: Addresses,
        storages: Mapping[str, Storage],
        value_of: ValueOf,
        features: Set[str] = frozenset(),
    ) -> None:
        self.builder = builder
        self.addresses = addresses
        self.storages = storages
        self.value_of = value_of
        self.features = features
        self.prefixes = Prefixes(builder, features)
        self.packed = PackedAccesses(builder, addresses, value_of, features)
        self.loaded: dict[tuple[object, ...], ir.Value] = {}
        """The vectors of instruction calls by block and access, until the next store.

        LLVM would eliminate the same loads, but would have to parse every unrolled copy first.
        """

    def load(self, access: Access, dtype: DType, lanes: Mask | None) -> Value:
        """Load one element per lane; a scalar if all lanes read the same element."""
        loaded, count = self._load(access, dtype, lanes)
        return Value(from_memory(self.builder, loaded, dtype), dtype, count)

    def load_where(self, access: Access, dtype: DType, runs: Value, lanes: Mask | None) -> Value:
        """Load as `load` does, but access no memory where a condition does not hold."""
        builder = self.builder
        if lanes is not None:
            bits = widened(builder, runs, lanes.count)
            if lanes.bits is not None:
                bits = builder.and_(lanes.bits, bits)
            return self.load(access, dtype, Mask(lanes.count, bits))
        safe = absent_element(builder.module, is_stored=False)
        pointer = builder.select(runs.ir, self._address(access.address), safe)
        loaded = builder.load(pointer, typ=memory_type(dtype))
        loaded.align = access.alignment
        return Value(from_memory(builder, loaded, dtype), dtype)

    def _load(
        self, access: Access, dtype: DType, lanes: Mask | None
    ) -> tuple[ir.Value, int | None]:
        element = memory_type(dtype)
        if lanes is None or access.movement is Uniform.BROADCAST:
            loaded = self.builder.load(self._element(access.address), typ=element)
            loaded.align = access.alignment
            return loaded, None
        match access.movement:
            case Uniform.CONTIGUOUS:
                return self._load_vector(access, element, lanes), lanes.count
            case Uniform.REVERSED:
                ahead = self._load_vector(access, element, lanes.reversed(self.builder))
                return reverse(self.builder, ahead), lanes.count
            case Window():
                window = access.movement
                if lanes.bits is None and dtype.is_integer and self._packs_faster(element.width):
                    wide = load_widened(self, access.address, dtype, window, 32)
                    if wide is not None:
                        return self.builder.trunc(
                            wide, vector_type(element, lanes.count)
                        ), lanes.count
                return load_window(self, access.address, element, window, lanes), lanes.count
            case Lookup(subscripts=(Convert(operand=number),)):
                index = self.value_of(number, lanes)

                def read(start: int, part: Mask) -> ir.Value:
                    return self.vector(access.address, start, element, part)

                return look_up(self.builder, read, element, index.ir), lanes.count
        pointers = self._lane_pointers(access, lanes)
        type_ = vector_type(element, lanes.count)
        mask = self._existing(access, lanes)
        signature = ir.FunctionType(type_, [pointers.type, mask.type, type_])
        name = f"llvm.masked.gather.{mangled(type_)}.v{lanes.count}p0"
        function = declared(self.builder.module, name, signature)
        call = self.builder.call(function, [pointers, mask, zeros(type_)])
        return aligned(call, 0, access.alignment), lanes.count

    def _packs_faster(self, bits: int) -> bool:
        """Whether truncations of wider integers take fewer instructions than shuffles.

        AVX2 has no shuffle of bytes or 16-bit elements of two vectors, or across their halves.
        """
        permutation = {8: "avx512vbmi", 16: "avx512bw"}.get(bits)
        return permutation is not None and permutation not in self.features

    def load_widened(self, factor: VectorLoad, dtype: DType, lanes: Mask) -> Value | None:
        """Load integers that lie apart as integers of up to a type's width.

        Returns:
            None if no wider integers in memory hold them.
        """
        access, given = factor.access, factor.dtype
        if lanes.bits is not None or not given.is_integer or given.is_odd_width:
            return None
        if not isinstance(access.movement, Window):
            return None
        bits = dtype.bits if dtype.is_integer else 32
        loaded = load_widened(self, access.address, given, access.movement, bits)
        if loaded is None:
            return None
        return Value(loaded, DType(given.kind, loaded.type.element.width), lanes.count)

    def load_terms(self, factor: VectorLoad, lanes: Mask, terms: int) -> ir.Value:
        """Load ``terms`` consecutive elements per lane, as one long vector."""
        builder, access, dtype = self.builder, factor.access, factor.dtype
        type_ = vector_type(memory_type(dtype), terms * lanes.count)
        is_broadcast = access.movement is Uniform.BROADCAST
        is_literal = is_broadcast or lanes.bits is None or lanes.lanes is not None
        is_kept = is_literal and not access.address.is_data_dependent
        key = (builder.block, access, type_.count, terms, None if is_broadcast else lanes.lanes)
        if is_kept and key in self.loaded:
            return self.loaded[key]
        whole = ir.IntType(terms * dtype.bits)
        if is_broadcast:
            group = builder.load(self._address(access.address), typ=whole)
            group.align = dtype.bytes
            groups = splat(builder, group, lanes.count)
        else:
            groups = self._load_vector(access, whole, lanes)
        loaded = builder.bitcast(groups, type_)
        if is_kept:
            self.loaded[key] = loaded
        return loaded

    def unpack(self, access: Access, dtype: DType, lanes: Mask | None) -> Value:
        """Load one element of a packed array for each lane, as integers of ``dtype``."""
        storage = self.storages[access.address.array]
        loaded, count = self.packed.load(storage, access, lanes, dtype.bits)
        return Value(loaded, dtype, count)

    def store(
        self, access: Access, value: Value, lanes: Mask | None, *, streamed: bool = False
    ) -> None:
        """Store one element for each lane."""
        self.loaded.clear()
        storage = self.storages[access.address.array]
        dtype = storage.array.dtype
        if storage.array.is_packed:
            element = widened(self.builder, value, lanes.count if lanes else None)
            self.packed.store(storage, access, element, lanes)
            return
        scalar = to_memory(self.builder, value.ir, dtype)
        if lanes is None:
            pointer = self._element(access.address, is_stored=True)
            self.builder.store(scalar, pointer).align = access.alignment
            return
        stored = widened(self.builder, Value(scalar, dtype, value.lanes), lanes.count)
        match access.movement:
            case Uniform.CONTIGUOUS if streamed:
                stream(self.builder, stored, self._address(access.address), access.alignment)
            case Uniform.CONTIGUOUS:
                self._store_vector(access, stored, lanes)
            case Uniform.REVERSED:
                backwards = lanes.reversed(self.builder)
                self._store_vector(access, reverse(self.builder, stored), backwards)
            case Window(distances=distances):
                store_window(self, access.address, distances, stored, lanes)
            case _:
                self._scatter(access, stored, lanes)

    def vector(self, address: Address, start: int, element: ir.Type, lanes: Mask) -> ir.Value:
        """Load consecutive elements from ``start`` after an address, aligned only to their size."""
        size = self.storages[address.array].array.dtype.bytes
        access = Access(address, Uniform.CONTIGUOUS, size)
        return self._load_vector(access, element, lanes, start)

    def store_part(self, address: Address, start: int, stored: ir.Value, lanes: Mask) -> None:
        """Store consecutive elements from ``start`` after an address."""
        size = self.storages[address.array].array.dtype.bytes
        access = Access(address, Uniform.CONTIGUOUS, size)
        self._store_vector(access, stored, lanes, start)

    def _element(self, address: Address, *, is_stored: bool = False) -> ir.Value:
        """The pointer to one element, or to memory that stands for it if there is none."""
        if not address.is_optional:
            return self._address(address)
        nowhere = absent_element(self.builder.module, is_stored=is_stored)
        return self.addresses.optional(self.storages[address.array], address, nowhere)

    def _address(self, address: Address, displacement: int = 0) -> ir.Value:
        return self.addresses.address(self.storages[address.array], address, displacement)

    def _load_vector(
        self, access: Access, element: ir.Type, lanes: Mask, displacement: int = 0
    ) -> ir.Value:
        """Load consecutive elements of any type."""
        pointer = self._address(access.address, displacement)
        type_ = vector_type(element, lanes.count)
        if lanes.bits is None or access.is_private:
            loaded = self.builder.load(pointer, typ=type_)
            loaded.align = access.alignment
            if lanes.bits is None:
                return loaded
            return self.builder.select(lanes.bits, loaded, zeros(type_))
        if self.prefixes.moves(type_):
            if lanes.is_literal_prefix:
                return load_literal_first(self.builder, pointer, type_, len(lanes.lanes or ()))
            if lanes.first is not None:
                return self.prefixes.load(pointer, type_, lanes.first)
        signature = ir.FunctionType(type_, [pointer.type, lanes.bits.type, type_])
        function = declared(self.builder.module, f"llvm.masked.load.{mangled(type_)}.p0", signature)
        undefined = ir.Constant(type_, ir.Undefined)
        call = self.builder.call(function, [pointer, lanes.bits, undefined])
        # LLVM forwards a masked store to a masked load whose other lanes are undefined. The
        # selection becomes part of a load that remains.
        loaded = aligned(call, 0, access.alignment)
        return self.builder.select(lanes.bits, loaded, zeros(type_))

    def _store_vector(
        self, access: Access, stored: ir.Value, lanes: Mask, displacement: int = 0
    ) -> None:
        pointer = self._address(access.address, displacement)
        if lanes.bits is None:
            self.builder.store(stored, pointer).align = access.alignment
            return
        if access.is_private:
            # LLVM promotes memory to registers only if it is always read and written as a whole.
            before = self.builder.load(pointer, typ=stored.type)
            before.align = access.alignment
            mixed = self.builder.select(lanes.bits, stored, before)
            self.builder.store(mixed, pointer).align = access.alignment
            return
        if lanes.lanes is not None and len(lanes.lanes) == 1:
            (lane,) = lanes.lanes
            size = self.storages[access.address.array].array.dtype.bytes
            store_single(self.builder, stored, lane, pointer, lane, size)
            return
        if self.prefixes.moves(stored.type):
            if lanes.is_literal_prefix:
                store_literal_first(self.builder, stored, pointer, len(lanes.lanes or ()))
                return
            if lanes.first is not None:
                self.prefixes.store(stored, pointer, lanes.first)
                return
        size = self.storages[access.address.array].array.dtype.bytes
        if lanes.count == 2 and size < 8:
            # LLVM may prove that one of two lanes runs, and stores it too wide: `store_single`.
            nowhere = absent_element(self.builder.module, is_stored=True)
            for lane in range(2):
                runs = self.builder.extract_element(lanes.bits, ir.IntType(32)(lane))
                own = self.builder.gep(pointer, [INDEX(lane * size)], source_etype=BYTE)
                chosen = self.builder.select(runs, own, nowhere)
                store_single(self.builder, stored, lane, chosen, 0, size)
            return
        signature = ir.FunctionType(ir.VoidType(), [stored.type, pointer.type, lanes.bits.type])
        name = f"llvm.masked.store.{mangled(stored.type)}.p0"
        if isinstance(stored.type.element, ir.IntType) and size < 8:
            # LLVM may prove that one lane runs, and stores the element before its truncation.
            stored = fenced(self.builder, stored)
        function = declared(self.builder.module, name, signature)
        call = self.builder.call(function, [stored, pointer, lanes.bits])
        aligned(call, 1, access.alignment)

    def _scatter(self, access: Access, stored: ir.Value, lanes: Mask) -> None:
        pointers = self._lane_pointers(access, lanes)
        mask = self._existing(access, lanes)
        signature = ir.FunctionType(ir.VoidType(), [stored.type, pointers.type, mask.type])
        name = f"llvm.masked.scatter.{mangled(stored.type)}.v{lanes.count}p0"
        function = declared(self.builder.module, name, signature)
        aligned(self.builder.call(function, [stored, pointers, mask]), 1, access.alignment)

    def _existing(self, access: Access, lanes: Mask) -> ir.Value:
        """The mask of the lanes whose element exists."""
        if not access.address.is_optional:
            return lanes.all_bits
        assert isinstance(access.movement, Gather)
        strides = self.storages[access.address.array].strides
        elements = lane_offsets(
            self.builder, access.movement.subscripts, strides, lanes, self.value_of
        )
        exists = self.builder.icmp_signed(
            ">=", elements, splat(self.builder, INDEX(FARTHEST), lanes.count)
        )
        return self.builder.and_(lanes.all_bits, exists)

    def _lane_pointers(self, access: Access, lanes: Mask) -> ir.Value:
        """A vector of addresses, one for each lane."""
        builder, count = self.builder, lanes.count
        storage = self.storages[access.address.array]
        size = storage.array.dtype.bytes
        match access.movement:
            case Offsets(distances=distances):
                base = self.addresses.address(storage, access.address, is_accessed=False)
                distance = integers(64, tuple([size * elements for elements in distances]))
            case RuntimeStride(steps=steps, literal=literal):
                base = self.addresses.address(storage, access.address, is_accessed=False)
                distance = self._multiples(storage, steps, literal, count)
            case Gather(subscripts=subscripts):
                base = storage.base
                elements = lane_offsets(builder, subscripts, storage.strides, lanes, self.value_of)
                distance = builder.mul(elements, splat(builder, INDEX(size), count))
        pointers = builder.gep(base, [distance], source_etype=BYTE)
        # llvmlite uses the type of the base as the type of the result
        pointers.type = ir.VectorType(ir.PointerType(), count)
        for lane in range(count):  # without a scatter instruction each lane is a separate access
            self.addresses.pace.touch(access, lane)
        return pointers

    def _multiples(
        self, storage: Storage, steps: tuple[tuple[int, int], ...], literal: int, count: int
    ) -> ir.Value:
        """The distance in bytes of each lane from the first; it does not change in loops."""
        builder, size = self.builder, storage.array.dtype.bytes
        step: ir.Value = INDEX(literal * size)
        for dimension, factor in steps:
            scaled = builder.mul(storage.strides[dimension], INDEX(factor * size))
            step = builder.add(step, scaled)
        return builder.mul(splat(builder, step, count), integers(64, tuple(range(count))))


def from_memory(builder: ir.IRBuilder, loaded: ir.Value, dtype: DType) -> ir.Value:
    """Convert a loaded element: a boolean's byte to a bit, a container to an odd-width integer."""
    if dtype.is_odd_width:
        count = loaded.type.count if isinstance(loaded.type, ir.VectorType) else None
        return builder.trunc(loaded, vector_of(element_type(dtype), count))
    if dtype.kind is not NumberKind.BOOLEAN:
        return loaded
    zero = ir.Constant(loaded.type, None if isinstance(loaded.type, ir.VectorType) else 0)
    return builder.icmp_unsigned("!=", loaded, zero)


def to_memory(builder: ir.IRBuilder, value: ir.Value, dtype: DType) -> ir.Value:
    """Convert a value to its stored form: a boolean to a byte, an odd integer to its container."""
    if dtype.kind is not NumberKind.BOOLEAN and not dtype.is_odd_width:
        return value
    count = value.type.count if isinstance(value.type, ir.VectorType) else None
    if dtype.is_odd_width:
        extend = builder.sext if dtype.is_signed else builder.zext
        return extend(value, vector_of(memory_type(dtype), count))
    return builder.zext(value, vector_of(BYTE, count))
