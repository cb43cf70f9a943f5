"""Loads from tables of 256 elements: permutations of registers that hold the whole table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import constant, declared, element_bits, vector_type
from polysched.llvm.values.masks import Mask

_NAMES: Mapping[int, str] = MappingProxyType({8: "qi", 16: "hi", 32: "d"})
"""The suffix of the intrinsic's name, by the bits of an element."""
_REGISTER_BITS = 512
_ENTRIES = 256


def look_up(
    builder: ir.IRBuilder, part: Callable[[int, Mask], Any], element: Any, index: Any
) -> Any:
    """Look up the elements of a table by a vector of bytes.

    Args:
        part: loads the vector of the table that begins at an element.
        index: the indices of the elements, one byte for each lane.
    """
    bits = element_bits(element)
    count = _REGISTER_BITS // bits
    numbers_type, result_type = vector_type(ir.IntType(bits), count), vector_type(element, count)
    numbers = index if bits == 8 else builder.zext(index, numbers_type)
    parts = [part(start, Mask(count)) for start in range(0, _ENTRIES, count)]
    whole = [builder.bitcast(table_part, numbers_type) for table_part in parts]
    signature = ir.FunctionType(numbers_type, [numbers_type] * 3)
    name = f"llvm.x86.avx512.vpermi2var.{_NAMES[bits]}.512"
    permute = declared(builder.module, name, signature)
    # The instruction uses only the low bits of an index, which select an element of two registers.
    level = [
        builder.call(permute, [low, numbers, high])
        for low, high in zip(whole[::2], whole[1::2], strict=True)
    ]
    bit = 2 * count
    while len(level) > 1:
        chosen = builder.and_(numbers, constant(numbers_type, bit))
        is_high = builder.icmp_unsigned("!=", chosen, constant(numbers_type, 0))
        level = [
            builder.select(is_high, high, low)
            for low, high in zip(level[::2], level[1::2], strict=True)
        ]
        bit *= 2
    return builder.bitcast(level[0], result_type)
