"""Checks of 64-bit sizes at the entry of a C function.

Loops compute with signed 64-bit integers. They are proved correct for sizes at which no bound,
condition or subscript overflows (:mod:`polysched.loops.analysis.size_limits`). A C caller may pass
any size: an unsigned size of 2**63 would be read as negative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import islpy as isl
from llvmlite import ir

from polysched.ir.expr.dtypes import DType, i64, u64
from polysched.llvm.values.expressions import INDEX
from polysched.loops.ir.nodes import LoopProgram


def emit_exceeds(
    builder: ir.IRBuilder,
    programs: Sequence[LoopProgram],
    types: Mapping[str, DType],
    meanings: Mapping[str, Any],
    dtype: DType,
) -> Any | None:
    """Emit the test of whether a size of type ``dtype`` exceeds the limits of programs (i1).

    Args:
        programs: the loops, with limited sizes.
        types: the types of the sizes in C, by name.
        meanings: the 64-bit values of the sizes, by name.
        dtype: the type of the sizes to check: i64 or u64.

    Returns:
        None if no program limits a size of this type.
    """
    assert dtype in (i64, u64)
    any_exceeds = None
    for name in (name for name, type_ in types.items() if type_ == dtype):
        limits = [limit for program in programs for limit in _limits(program, name)]
        if not limits:
            continue
        value, limit = meanings[name], min(limits)
        if dtype.is_signed:
            value, limit = builder.add(value, INDEX(limit)), 2 * limit
        exceeds = builder.icmp_unsigned(">", value, INDEX(limit))
        any_exceeds = exceeds if any_exceeds is None else builder.or_(any_exceeds, exceeds)
    return any_exceeds


def _limits(program: LoopProgram, name: str) -> list[int]:
    """Return the largest allowed value of a size; empty if the size has no limit."""
    context = program.context.params()
    position = context.find_dim_by_name(isl.dim_type.param, name)
    if position < 0 or context.is_empty():
        return []
    values = context.from_params().move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)
    largest = values.dim_max_val(0)
    return [max(int(largest.to_python()), 0)] if largest.is_int() else []
