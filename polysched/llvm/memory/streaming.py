"""Streaming stores: whole vectors bypass the caches, and a fence orders them.

A non-temporal store does not read the cache line that it overwrites, which saves a third of the
memory traffic of a copy, and does not evict other data from the caches. The instructions require
aligned addresses, and other threads see the stores in no particular order until a fence (Intel's
manual, volume 1, section 10.4.6.2; AMD's, volume 2, section 7.4).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import declared, element_bits

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)


def stream(builder: ir.IRBuilder, vector: Any, pointer: Any, alignment: int) -> None:
    """Store a vector with a non-temporal store if its address is a multiple of its size.

    Unless the alignment is known, the emitted code tests each address, and uses an ordinary store
    if the address is not aligned.
    """
    size = element_bits(vector.type) * int(vector.type.count) // 8
    if alignment >= size:
        _stream_aligned(builder, vector, pointer, size)
        return
    address = builder.ptrtoint(pointer, _INT64)
    rest = builder.and_(address, _INT64(size - 1))
    is_aligned = builder.icmp_unsigned("==", rest, _INT64(0))
    with builder.if_else(is_aligned, likely=True) as (aligned, unaligned):
        with aligned:
            _stream_aligned(builder, vector, pointer, size)
        with unaligned:
            builder.store(vector, pointer).align = alignment


def emit_fence(builder: ir.IRBuilder) -> None:
    """Order all earlier streaming stores before all later accesses."""
    signature = ir.FunctionType(ir.VoidType(), [])
    builder.call(declared(builder.module, "llvm.x86.sse.sfence", signature), [])


def _stream_aligned(builder: ir.IRBuilder, vector: Any, pointer: Any, size: int) -> None:
    store = builder.store(vector, pointer)
    store.align = size
    store.set_metadata("nontemporal", builder.module.add_metadata([_INT32(1)]))
