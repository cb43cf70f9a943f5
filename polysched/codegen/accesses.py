"""Loads and stores of array elements by lanes: contiguous (forwards or backwards), gathered,
scattered, masked.

The forms of LLVM's masked intrinsics are those of its language reference, "Masked Vector Load and
Store Intrinsics" and "Masked Vector Gather and Scatter Intrinsics".
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from llvmlite import ir

from polysched.codegen.intrinsics import (
    active_lanes,
    aligned,
    all_lanes,
    declared,
    element_bits,
    mangled,
    mask_of,
    shuffled,
    vector_type,
    zeros,
)
from polysched.codegen.loaded import Loaded
from polysched.codegen.memory import (
    BYTE,
    Addresses,
    Offset,
    Storage,
    element_offset,
    known_alignment,
)
from polysched.codegen.neighbors import (
    ELEMENT_BYTES,
    FEATURE,
    REGISTER_BYTES,
    Contiguous,
    Places,
    from_neighbors,
    moved,
)
from polysched.codegen.streaming import can_stream, stream
from polysched.codegen.subbyte.accesses import PackedAccesses
from polysched.codegen.values import (
    INDEX,
    Value,
    element_type,
    memory_type,
    splat,
    vector_of,
    widened,
)
from polysched.codegen.windows import fits, lane_places, load_window, store_single, store_window
from polysched.errors import LoweringError
from polysched.ir.core.kernel import Access
from polysched.ir.expr.dtypes import DType, NumberKind
from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.linear import LinearForm
from polysched.ir.expr.traversal import loads
from polysched.loops.ir.nodes import Assign


@dataclass(frozen=True, eq=False)
class Lanes:
    """The vector context of a statement.

    Attributes:
        variable: the lane variable.
        count: the number of lanes.
        mask: which of them are active; None: all.
        neighbors: the vectors that are made of others; none under a mask.
    """

    variable: str
    count: int
    mask: Any | None
    neighbors: Places = field(default_factory=dict)


ValueOf: TypeAlias = Callable[[Expression, Lanes | None], Value]
"""The value of an expression for the given lanes."""


class Accesses:
    """Emits loads and stores of arrays in memory."""

    def __init__(
        self,
        builder: ir.IRBuilder,
        addresses: Addresses,
        value_of: ValueOf,
        features: Set[str] = frozenset(),
    ) -> None:
        self.builder = builder
        self.addresses = addresses
        self.value_of = value_of
        self.packed = PackedAccesses(builder, addresses, features)
        self.features = features
        self.loaded = Loaded()

    def with_neighbors(self, storages: Mapping[str, Storage], node: Assign, lanes: Lanes) -> Lanes:
        """The lanes for a statement, of whose vectors those that overlap are made of each other."""
        if lanes.mask is not None or FEATURE not in self.features:
            return lanes
        read = [load for load in loads(node.value) if load.array in storages]
        if len({load.array for load in read}) == len(read):
            return lanes  # no two of one array
        found = []
        for load in read:
            whole = _whole_vector(storages[load.array], load.subscripts, lanes)
            if whole is not None:
                found.append(whole)
        stored = None
        if node.target.array in storages:
            stored = _whole_vector(storages[node.target.array], node.target.subscripts, lanes)
        return replace(lanes, neighbors=from_neighbors(found, stored))

    def load(
        self, storage: Storage, subscripts: tuple[Expression, ...], lanes: Lanes | None
    ) -> Value:
        """The element, or one element a lane; a scalar where all lanes read the same."""
        dtype = storage.array.dtype
        if storage.array.is_packed:
            wide = self.load_wide(storage, subscripts, lanes, dtype.container.bits)
            type_ = vector_of(element_type(dtype), wide.lanes)
            return Value(self.builder.trunc(wide.ir, type_), dtype, wide.lanes)
        offset = element_offset(storage, subscripts, lanes.variable if lanes else None)
        if lanes is None or offset.lane == 0:
            pointer = self.addresses.address(storage, offset)
            loaded = self.builder.load(pointer, typ=memory_type(dtype))
            loaded.align = dtype.bytes
            return Value(from_memory(self.builder, loaded, dtype), dtype)
        if offset.lane == 1:
            loaded = self._load_contiguous(storage, offset, lanes)
        elif offset.lane == -1:
            ahead = self._load_contiguous(storage, *self._turned(offset, lanes))
            loaded = turned(self.builder, ahead)
        else:
            loaded = self._gather(storage, subscripts, lanes)
        return Value(from_memory(self.builder, loaded, dtype), dtype, lanes.count)

    def load_terms(
        self, storage: Storage, subscripts: tuple[Expression, ...], lanes: Lanes, terms: int
    ) -> Any:
        """For each lane so many elements side by side, from these subscripts on; those of the next
        lane follow, or are the same.
        """
        builder, dtype = self.builder, storage.array.dtype
        offset = element_offset(storage, subscripts, lanes.variable)
        assert offset.lane in (0, terms)
        type_ = vector_type(memory_type(dtype), terms * lanes.count)
        active = None if lanes.mask is None else active_lanes(lanes.mask)
        is_literal = offset.lane == 0 or lanes.mask is None or active is not None
        is_kept = is_literal and not offset.is_data_dependent
        which = None if offset.lane == 0 or active is None else tuple(active)
        key = (storage.array.name, offset, type_.count, terms, which)
        found = self.loaded.of(builder.block).get(key) if is_kept else None
        if found is not None:
            return found
        whole = ir.IntType(terms * dtype.bits)
        if offset.lane == 0:
            group = builder.load(self.addresses.address(storage, offset), typ=whole)
            group.align = dtype.bytes
            groups = splat(builder, group, lanes.count)
        else:
            groups = self._load_vector(storage, offset, lanes, whole)
        loaded = builder.bitcast(groups, type_)
        if is_kept:
            self.loaded.of(builder.block)[key] = loaded
        return loaded

    def load_wide(
        self,
        storage: Storage,
        subscripts: tuple[Expression, ...],
        lanes: Lanes | None,
        container: int,
    ) -> Value:
        """The element of a packed array, or one a lane, as signed integers of so many bits."""
        values = functools.partial(self._value_in, lanes)
        loaded, count = self.packed.load(storage, subscripts, lanes, container, values)
        return Value(loaded, DType(NumberKind.SIGNED, container), count)

    def _value_in(self, lanes: Lanes | None, expression: Expression) -> Value:
        return self.value_of(expression, lanes)

    def store(
        self, storage: Storage, target: Access, value: Value, lanes: Lanes | None, statement: str
    ) -> None:
        """Write the element, or one element a lane.

        Raises:
            LoweringError: all lanes write the same element.
        """
        self.loaded.forget()
        dtype = storage.array.dtype
        offset = element_offset(storage, target.subscripts, lanes.variable if lanes else None)
        if lanes is not None and offset.lane == 0 and lanes.mask is None:
            raise LoweringError(
                f"statement '{statement}': all lanes of vector loop '{lanes.variable}' write the "
                f"one element {target}; vectorize another loop"
            )
        if storage.array.is_packed:
            element = widened(self.builder, value, lanes.count if lanes else None)
            values = functools.partial(self._value_in, lanes)
            self.packed.store(storage, target.subscripts, element, lanes, values)
            return
        stored = to_memory(self.builder, value.ir, dtype)
        if lanes is None:
            pointer = self.addresses.address(storage, offset)
            self.builder.store(stored, pointer).align = dtype.bytes
            return
        stored = widened(self.builder, Value(stored, dtype, value.lanes), lanes.count)
        if offset.lane == 1:
            self._store_contiguous(storage, offset, stored, lanes)
        elif offset.lane == -1:
            offset, lanes = self._turned(offset, lanes)
            self._store_contiguous(storage, offset, turned(self.builder, stored), lanes)
        else:
            # To one element for all lanes too: of a legal schedule one lane at most is active then.
            self._scatter(storage, target.subscripts, stored, lanes)

    def _turned(self, offset: Offset, lanes: Lanes) -> tuple[Offset, Lanes]:
        """The same elements from the last lane to the first."""
        first = offset.literal.plus(LinearForm((), 1 - lanes.count))
        mask = lanes.mask
        active = None if mask is None else active_lanes(mask)
        if active is not None:
            mask = mask_of(lanes.count - 1 - lane in active for lane in range(lanes.count))
        elif mask is not None:
            mask = turned(self.builder, mask)
        return replace(offset, literal=first, lane=1), replace(lanes, mask=mask)

    def _load_contiguous(self, storage: Storage, offset: Offset, lanes: Lanes) -> Any:
        group = Contiguous.of(storage.array.name, offset)
        step = lanes.neighbors.get(group, {}).get(offset.literal.constant)
        if step is not None:
            return self._from_neighbor(storage, offset, step, lanes)
        return self._load_vector(storage, offset, lanes, memory_type(storage.array.dtype))

    def _load_vector(self, storage: Storage, offset: Offset, lanes: Lanes, element: Any) -> Any:
        """A vector of such elements from an offset on."""
        pointer = self.addresses.address(storage, offset)
        type_ = vector_type(element, lanes.count)
        alignment, size = known_alignment(storage, offset), storage.array.dtype.bytes
        if lanes.mask is None:
            loaded = self.builder.load(pointer, typ=type_)
            loaded.align = alignment
            return loaded
        if storage.holds(offset, lanes.count * element_bits(element) // (8 * size)):
            loaded = self.builder.load(pointer, typ=type_)
            loaded.align = alignment
            return self.builder.select(lanes.mask, loaded, zeros(type_))
        signature = ir.FunctionType(type_, [pointer.type, lanes.mask.type, type_])
        function = declared(self.builder.module, f"llvm.masked.load.{mangled(type_)}.p0", signature)
        return self._masked_call(function, [pointer, lanes.mask, zeros(type_)], 0, alignment)

    def _from_neighbor(self, storage: Storage, offset: Offset, step: int, lanes: Lanes) -> Any:
        """A whole vector from the one that lies ``step`` elements further."""
        vector = self._load_contiguous(storage, _further(offset, step), lanes)
        single = offset if step == 1 else _further(offset, lanes.count - 1)
        dtype = storage.array.dtype
        element = self.builder.load(self.addresses.address(storage, single), typ=memory_type(dtype))
        element.align = dtype.bytes
        return moved(self.builder, vector, element, step)

    def _masked_call(self, function: Any, operands: list[Any], pointer: int, alignment: int) -> Any:
        return aligned(self.builder.call(function, operands), pointer, alignment)

    def _gather(self, storage: Storage, subscripts: tuple[Expression, ...], lanes: Lanes) -> Any:
        if lanes.mask is None:
            found = lane_places(storage, subscripts, lanes.variable, lanes.count)
            if found is not None and fits(found[1]):
                return load_window(self.builder, self.addresses, storage, *found)
        pointers = self._lane_pointers(storage, subscripts, lanes)
        type_ = vector_type(memory_type(storage.array.dtype), lanes.count)
        mask = lanes.mask if lanes.mask is not None else all_lanes(lanes.count)
        signature = ir.FunctionType(type_, [pointers.type, mask.type, type_])
        name = f"llvm.masked.gather.{mangled(type_)}.v{lanes.count}p0"
        function = declared(self.builder.module, name, signature)
        return self._masked_call(
            function, [pointers, mask, zeros(type_)], 0, storage.array.dtype.bytes
        )

    def _lane_pointers(
        self, storage: Storage, subscripts: tuple[Expression, ...], lanes: Lanes
    ) -> Any:
        """A vector of addresses, one a lane."""
        builder, count = self.builder, lanes.count
        distance: Any = splat(builder, INDEX(0), count)
        for subscript, stride in zip(subscripts, storage.strides, strict=True):
            value = widened(builder, self.value_of(subscript, lanes), count)
            factor = INDEX(stride) if isinstance(stride, int) else stride
            distance = builder.add(distance, builder.mul(value, splat(builder, factor, count)))
        size = splat(builder, INDEX(storage.array.dtype.bytes), count)
        pointers = builder.gep(storage.base, [builder.mul(distance, size)], source_etype=BYTE)
        # llvmlite takes the type of the base for that of the result
        pointers.type = ir.VectorType(ir.PointerType(), count)
        for lane in range(count):  # without such an instruction each is an access by itself
            self.addresses.pace.touch(pointers, lane)
        return pointers

    def _store_contiguous(
        self, storage: Storage, offset: Offset, stored: Any, lanes: Lanes
    ) -> None:
        pointer = self.addresses.address(storage, offset)
        alignment = known_alignment(storage, offset)
        if lanes.mask is None:
            if storage.array.streamed and can_stream(stored):
                stream(self.builder, stored, pointer, alignment)
            else:
                self.builder.store(stored, pointer).align = alignment
            return
        if storage.holds(offset, lanes.count):
            # LLVM makes registers of memory that is read and written whole only.
            before = self.builder.load(pointer, typ=stored.type)
            before.align = alignment
            mixed = self.builder.select(lanes.mask, stored, before)
            self.builder.store(mixed, pointer).align = alignment
            return
        active = active_lanes(lanes.mask)
        if active is not None and len(active) == 1:
            size = storage.array.dtype.bytes
            store_single(self.builder, stored, active[0], pointer, active[0], size)
            return
        signature = ir.FunctionType(ir.VoidType(), [stored.type, pointer.type, lanes.mask.type])
        name = f"llvm.masked.store.{mangled(stored.type)}.p0"
        function = declared(self.builder.module, name, signature)
        self._masked_call(function, [stored, pointer, lanes.mask], 1, alignment)

    def _scatter(
        self, storage: Storage, subscripts: tuple[Expression, ...], stored: Any, lanes: Lanes
    ) -> None:
        if lanes.mask is None:
            found = lane_places(storage, subscripts, lanes.variable, lanes.count)
            if found is not None and fits(found[1]) and len({*found[1]}) == lanes.count:
                store_window(self.builder, self.addresses, storage, *found, stored)
                return
        pointers = self._lane_pointers(storage, subscripts, lanes)
        mask = lanes.mask if lanes.mask is not None else all_lanes(lanes.count)
        signature = ir.FunctionType(ir.VoidType(), [stored.type, pointers.type, mask.type])
        name = f"llvm.masked.scatter.{mangled(stored.type)}.v{lanes.count}p0"
        function = declared(self.builder.module, name, signature)
        self._masked_call(function, [stored, pointers, mask], 1, storage.array.dtype.bytes)


def turned(builder: ir.IRBuilder, vector: Any) -> Any:
    """A vector with its lanes in the opposite order."""
    last = vector.type.count - 1
    return shuffled(builder, vector, vector, range(last, -1, -1))


def _further(offset: Offset, step: int) -> Offset:
    return replace(offset, literal=offset.literal.plus(LinearForm((), step)))


def _whole_vector(
    storage: Storage, subscripts: tuple[Expression, ...], lanes: Lanes
) -> tuple[Contiguous, int, int] | None:
    """Group, literal and known alignment of an access; None if it is no vector of whole registers
    that neighbors can be moved into.
    """
    dtype = storage.array.dtype
    size = dtype.bytes * lanes.count
    if storage.array.is_packed or dtype.bytes not in ELEMENT_BYTES or size % REGISTER_BYTES:
        return None
    offset = element_offset(storage, subscripts, lanes.variable)
    if offset.lane != 1 or offset.is_data_dependent:
        return None
    group = Contiguous.of(storage.array.name, offset)
    return group, offset.literal.constant, known_alignment(storage, offset)


def from_memory(builder: ir.IRBuilder, loaded: Any, dtype: DType) -> Any:
    """A loaded element as a value: a boolean's byte becomes a bit, a container what it holds."""
    if dtype.is_odd_width:
        count = loaded.type.count if isinstance(loaded.type, ir.VectorType) else None
        return builder.trunc(loaded, vector_of(element_type(dtype), count))
    if dtype.kind is not NumberKind.BOOLEAN:
        return loaded
    zero = ir.Constant(loaded.type, None if isinstance(loaded.type, ir.VectorType) else 0)
    return builder.icmp_unsigned("!=", loaded, zero)


def to_memory(builder: ir.IRBuilder, value: Any, dtype: DType) -> Any:
    """A value as it is stored: a boolean's bit becomes a byte, an odd integer its container."""
    if dtype.kind is not NumberKind.BOOLEAN and not dtype.is_odd_width:
        return value
    count = value.type.count if isinstance(value.type, ir.VectorType) else None
    if dtype.is_odd_width:
        extend = builder.sext if dtype.is_signed else builder.zext
        return extend(value, vector_of(memory_type(dtype), count))
    return builder.zext(value, vector_of(BYTE, count))
