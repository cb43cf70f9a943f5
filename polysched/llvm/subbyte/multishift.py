"""AVX-512 VBMI strategy: extract eight unaligned bytes of every 64 bits (``vpmultishiftqb``).

A permutation of bytes moves the bytes of its elements to every 64-bit lane, one instruction shifts
each element to its position, and a mask clears the bits above the element. Intel 64 and IA-32
Architectures Software Developer's Manual, volume 2, VPMULTISHIFTQB and VPERMB.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import declared
from polysched.llvm.subbyte.conversion import BYTE, Conversion, extended, masked, numbers, selected

FEATURES = frozenset({"avx512vbmi", "avx512vl", "avx512bw"})
"""Features that the strategy requires."""

_REGISTERS = (64, 32, 16)
"""Sizes of vector registers in bytes, the largest first."""


def can_multishift(conversion: Conversion) -> bool:
    """Whether the lanes fill registers, and every 64-bit lane needs at most 8 bytes."""
    size = conversion.lanes * conversion.container // 8
    if not any(size == register for register in _REGISTERS) and size % _REGISTERS[0]:
        return False
    return all(lane * _field(conversion) % 8 + _field(conversion) <= 64 for lane in range(8))


def unpack_multishift(builder: ir.IRBuilder, packed: Any, conversion: Conversion) -> Any:
    """Unpack register by register, all elements of a register at once."""
    size = conversion.lanes * conversion.container // 8
    register = next(bytes_ for bytes_ in _REGISTERS if size % bytes_ == 0)
    parts = [
        _register(builder, packed, conversion, first // 8, register // 8)
        for first in range(0, size, register)
    ]
    value = selected(builder, _joined(builder, parts), range(size))
    value = builder.bitcast(value, conversion.unpacked_type)
    return extended(builder, masked(builder, value, conversion), conversion)


def _field(conversion: Conversion) -> int:
    return 64 // conversion.container * conversion.bits


def _register(
    builder: ir.IRBuilder, packed: Any, conversion: Conversion, first: int, lanes: int
) -> Any:
    """Unpack the elements of ``lanes`` 64-bit lanes; the bits above an element are undefined."""
    field, bits = _field(conversion), conversion.bits
    begins = [lane * field // 8 for lane in range(first, first + lanes)]
    if lanes * field <= 64:  # all lanes read the same 8 bytes, which a load can broadcast
        begins = [min(begins[0], max(conversion.bytes - 8, 0))] * lanes
    last = conversion.bytes - 1
    data = selected(
        builder, packed, [min(begin + byte, last) for begin in begins for byte in range(8)]
    )
    shifts = []
    for lane, begin in enumerate(begins, first):
        for byte in range(8):
            element, within = divmod(8 * byte, conversion.container)
            shifts.append((lane * field - 8 * begin + element * bits + within) % 64)
    size = 8 * lanes
    vector = ir.VectorType(BYTE, size)
    function = declared(
        builder.module,
        f"llvm.x86.avx512.pmultishift.qb.{8 * size}",
        ir.FunctionType(vector, [vector, vector]),
    )
    return builder.call(function, [numbers(8, shifts), data])


def _joined(builder: ir.IRBuilder, parts: list[Any]) -> Any:
    """Concatenate vectors of the same size."""
    while len(parts) > 1:
        if len(parts) % 2:
            parts.append(ir.Constant(parts[-1].type, ir.Undefined))
        count = parts[0].type.count
        parts = [
            selected(builder, left, range(2 * count), right)
            for left, right in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]
