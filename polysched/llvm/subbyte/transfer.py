"""Emit loads and stores of any number of packed bytes, which touch no other bytes.

LLVM splits a load of 56 bytes into loads of 32, 16 and 8 bytes and combines the results. With byte
masks, a single masked load of 64 bytes is sufficient, and does not access the inactive bytes.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from llvmlite import ir
from llvmlite.ir.values import ArgumentAttributes

from polysched.llvm.builder.intrinsics import declared, mangled, mask_of
from polysched.llvm.subbyte.conversion import BYTE, selected

MASKS = frozenset({"avx512bw", "avx512vl"})
"""The features for loads and stores with a mask bit for every byte."""

_BIT = ir.IntType(1)


def load_bytes(
    builder: ir.IRBuilder, pointer: Any, count: int, alignment: int, features: Set[str]
) -> Any:
    """Load a vector of ``count`` bytes from an address."""
    size = _register(count)
    if size == count or not features >= MASKS:
        loaded = builder.load(pointer, typ=ir.VectorType(BYTE, count))
        loaded.align = alignment
        return loaded
    mask = first_bytes(count, size)
    return selected(builder, masked_load(builder, pointer, mask, alignment), range(count))


def store_bytes(
    builder: ir.IRBuilder, vector: Any, pointer: Any, alignment: int, features: Set[str]
) -> None:
    """Store a vector of bytes to an address."""
    count = vector.type.count
    size = _register(count)
    if size == count or not features >= MASKS:
        builder.store(vector, pointer).align = alignment
        return
    positions = [byte if byte < count else None for byte in range(size)]
    padded = selected(builder, vector, positions)
    masked_store(builder, padded, pointer, first_bytes(count, size), alignment)


def masked_load(builder: ir.IRBuilder, pointer: Any, mask: Any, alignment: int) -> Any:
    """Load the active bytes; inactive bytes are 0."""
    type_ = ir.VectorType(BYTE, mask.type.count)
    signature = ir.FunctionType(type_, [pointer.type, mask.type, type_])
    name = f"llvm.masked.load.{mangled(type_)}.p0"
    function = declared(builder.module, name, signature)
    call = builder.call(function, [pointer, mask, ir.Constant(type_, None)])
    call.arg_attributes[0] = _aligned(alignment)
    return call


def masked_store(
    builder: ir.IRBuilder, vector: Any, pointer: Any, mask: Any, alignment: int
) -> None:
    """Store the active bytes."""
    signature = ir.FunctionType(ir.VoidType(), [vector.type, pointer.type, mask.type])
    name = f"llvm.masked.store.{mangled(vector.type)}.p0"
    function = declared(builder.module, name, signature)
    call = builder.call(function, [vector, pointer, mask])
    call.arg_attributes[1] = _aligned(alignment)


def first_bytes(count: int, size: int) -> Any:
    """The mask with the first ``count`` of ``size`` bits set."""
    return mask_of(position < count for position in range(size))


def _register(count: int) -> int:
    return 1 << (count - 1).bit_length()


def _aligned(alignment: int) -> Any:
    attributes = ArgumentAttributes()
    attributes.align = alignment
    return attributes
