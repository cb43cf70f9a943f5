"""Checks of 64-bit sizes at the entry of a C function.

Loops are proved for the sizes at which no bound, condition or subscript leaves 64 bits
(:mod:`polysched.loops.analysis.size_limits`), and compute with signed integers. C passes any size:
an unsigned one of 2**63 would count as negative.
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
    """Emit whether a size of one type is beyond the limits of programs (i1).

    Args:
        builder: positioned at the entry of the function.
        programs: the loops, with limited sizes.
        types: the types of the sizes in C, by name.
        meanings: the 64-bit values of the sizes, by name.
        dtype: the type of the sizes to check: i64 or u64.

    Returns:
        None if no program limits a size of this type.
    """
    assert dtype in (i64, u64)
    found = None
    for name in (name for name, type_ in types.items() if type_ == dtype):
        limits = [limit for program in programs for limit in _limits(program, name)]
        if not limits:
            continue
        value, limit = meanings[name], min(limits)
        if dtype.is_signed:
            value, limit = builder.add(value, INDEX(limit)), 2 * limit
        exceeds = builder.icmp_unsigned(">", value, INDEX(limit))
        found = exceeds if found is None else builder.or_(found, exceeds)
    return found


def _limits(program: LoopProgram, name: str) -> list[int]:
    """Return the largest value of a size; nothing if it is not limited."""
    context = program.context.params()
    position = context.find_dim_by_name(isl.dim_type.param, name)
    if position < 0 or context.is_empty():
        return []
    values = context.from_params().move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)
    largest = values.dim_max_val(0)
    return [max(int(largest.to_python()), 0)] if largest.is_int() else []
