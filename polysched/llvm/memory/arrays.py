"""Arrays in memory and the addresses of their elements.

An address is the sum of a variable part and a literal displacement. The variable part depends only
on loop variables and parameters; it is computed once and shared by all accesses that differ only in
the displacement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from llvmlite import ir

from polysched.ir.core.data_dependent import FARTHEST
from polysched.ir.core.kernel import Array
from polysched.llvm.builder.pacing import Pace
from polysched.llvm.values.expressions import INDEX
from polysched.vector.values import Address, Unit, Value

BYTE = ir.IntType(8)

Evaluate: TypeAlias = Callable[[Value], ir.Value]
"""Emit an integer expression over loop variables and parameters as an i64."""


@dataclass(frozen=True, eq=False)
class Storage:
    """The memory of an array.

    Attributes:
        base: LLVM pointer to the first element.
        strides: elements between consecutive indices of each dimension, each a literal or an i64;
            bits if the array is packed (:mod:`polysched.llvm.memory.packed_layout`).
    """

    array: Array
    base: ir.Value
    strides: tuple[Any, ...]


class Addresses:
    """Emit addresses, with a cache of the variable parts computed in the open scopes."""

    def __init__(self, builder: ir.IRBuilder, evaluate: Evaluate) -> None:
        self.builder = builder
        self.evaluate = evaluate
        self.scopes: list[dict[Any, ir.Value]] = [{}]
        self.pace = Pace(builder)

    def enter(self) -> None:
        """Open a scope: :meth:`leave` drops the variable parts computed in it."""
        self.scopes.append({})

    def leave(self) -> None:
        """Close the innermost scope."""
        self.scopes.pop()

    def address(
        self, storage: Storage, address: Address, displacement: int = 0, *, is_accessed: bool = True
    ) -> ir.Value:
        """The pointer to an element, or to the first byte of a packed element.

        Args:
            address: the address of the element, not in bits.
            displacement: a literal to add, in the units of the address.
            is_accessed: whether the next instruction accesses memory at the pointer.
        """
        assert not address.is_optional, "an optional element has an address of its own"
        size = storage.array.dtype.bytes if address.unit is Unit.ELEMENT else 1
        key = (address.array, address.terms, address.scaled)
        pointer = next((scope[key] for scope in self.scopes if key in scope), None)
        if pointer is None:
            pointer = self._variable_part(storage, address, size)
            if not address.is_data_dependent:  # a cached subscript may be overwritten
                self.scopes[-1][key] = pointer
        distance = (address.constant + displacement) * size
        if is_accessed:
            self.pace.touch(id(pointer), distance)
        return self._moved(pointer, INDEX(distance)) if distance else pointer

    def optional(self, storage: Storage, address: Address, nowhere: ir.Value) -> ir.Value:
        """The pointer to an optional element, or `nowhere` if there is none."""
        builder, size = self.builder, storage.array.dtype.bytes
        total: ir.Value = INDEX(address.constant)
        for dimension, index in address.scaled:
            total = builder.add(
                total, builder.mul(self.evaluate(index), storage.strides[dimension])
            )
        for value, coefficient in address.terms:
            total = builder.add(total, builder.mul(self.evaluate(value), INDEX(coefficient)))
        pointer = self._moved(storage.base, builder.mul(total, INDEX(size)))
        exists = builder.icmp_signed(">=", total, INDEX(FARTHEST))
        return builder.select(exists, pointer, nowhere)

    def _variable_part(self, storage: Storage, address: Address, size: int) -> ir.Value:
        builder, pointer = self.builder, storage.base
        for dimension, index in address.scaled:
            stride = storage.strides[dimension]
            if address.unit is Unit.BYTE:
                stride = builder.ashr(stride, INDEX(3))
            distance = builder.mul(self.evaluate(index), stride)
            pointer = self._moved(pointer, builder.mul(distance, INDEX(size)))
        for value, coefficient in address.terms:
            distance = builder.mul(self.evaluate(value), INDEX(coefficient * size))
            pointer = self._moved(pointer, distance)
        return pointer

    def _moved(self, pointer: ir.Value, distance: ir.Value) -> ir.Value:
        # Not ``inbounds``: lane 0 of a masked access may be outside of the array.
        return self.builder.gep(pointer, [distance], source_etype=BYTE)


_BYTES = 16
"""Size of the largest element."""


def absent_element(module: ir.Module, *, is_stored: bool) -> Any:
    """Return the pointer to zeros, or to memory for stores that have no effect."""
    name = "absent.stored" if is_stored else "absent.read"
    if name not in module.globals:
        type_ = ir.ArrayType(ir.IntType(8), _BYTES)
        variable = ir.GlobalVariable(module, type_, name)
        variable.initializer = ir.Constant(type_, bytearray(_BYTES))
        variable.global_constant = not is_stored
        variable.linkage = "internal"
        variable.align = _BYTES
    return module.globals[name]
