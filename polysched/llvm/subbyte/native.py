"""Strategy that leaves the lowering to LLVM: ``bitcast`` between vectors of odd widths."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.llvm.subbyte.conversion import Conversion


def fills_bytes(conversion: Conversion) -> bool:
    """Whether the elements together fill whole bytes, as a bitcast requires."""
    return conversion.lanes * conversion.bits % 8 == 0


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
