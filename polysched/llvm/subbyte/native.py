"""Strategy that leaves the lowering to LLVM: ``bitcast`` between bytes and vectors of bits."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.llvm.subbyte.conversion import Conversion


def can_bitcast(conversion: Conversion) -> bool:
    """Whether LLVM lowers the bitcast right: single bits that fill whole bytes.

    LLVM 22 unpacks 48 elements of 6 bits to zeros with AVX2: it goes through memory, where it lays
    out a vector of such elements in another way.
    """
    return conversion.bits == 1 and conversion.lanes % 8 == 0


def pack_native(builder: ir.IRBuilder, unpacked: Any, conversion: Conversion) -> Any:
    """Emit ``bitcast(trunc(x))``."""
    narrow = builder.trunc(unpacked, _narrow(conversion))
    return builder.bitcast(narrow, conversion.packed_type)


def unpack_native(builder: ir.IRBuilder, packed: Any, conversion: Conversion) -> Any:
    """Emit ``ext(bitcast(x))``."""
    narrow = builder.bitcast(packed, _narrow(conversion))
    extend = builder.sext if conversion.is_signed else builder.zext
    return extend(narrow, conversion.unpacked_type)


def _narrow(conversion: Conversion) -> Any:
    return ir.VectorType(ir.IntType(conversion.bits), conversion.lanes)
