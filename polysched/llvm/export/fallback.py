"""Dispatch at run time between a scheduled kernel and the unscheduled program.

A C function guarantees less than a kernel assumes: its arrays may overlap, its sizes may be outside
the kernel's context, and a size such as LONG_MAX may overflow the arithmetic of the scheduled
loops. The exported function therefore checks the assumptions once, on entry, and runs the
unscheduled program if a check fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import islpy as isl
from llvmlite import ir

from polysched.ir.core.kernel import Array, Kernel
from polysched.ir.expr.dtypes import DType, i64, u64
from polysched.ir.expr.expressions import Expression
from polysched.llvm.emit.evaluation import Evaluator
from polysched.llvm.values.expressions import INDEX
from polysched.loops.ir.nodes import LoopProgram
from polysched.machine.description import Machine
from polysched.vector.lowering import Lowering

_BYTE = ir.IntType(8)
_BIT = ir.IntType(1)


@dataclass(frozen=True)
class Fallback:
    """The program that runs if the arguments of a call violate an assumption of the schedule.

    Attributes:
        kernel: the unscheduled kernel, with the arrays of the scheduled one. It is valid for
            overlapping arrays and for all sizes.
        condition: the constraints on the sizes for the scheduled kernel; None if there are none.
        apart: pairs of arrays that must not overlap for the scheduled kernel. `address_of` a
            parameter or array stands for the memory from which its value or pointer was read.
        read_once: pairs of a written array and `address_of` a parameter or array of ``kernel``
            that must not overlap for ``kernel`` either, because it reads them at the entry only.
    """

    kernel: Kernel
    condition: Expression | None
    apart: tuple[tuple[str, str], ...]
    read_once: tuple[tuple[str, str], ...] = ()


def emit_is_valid(
    builder: ir.IRBuilder,
    program: LoopProgram,
    machine: Machine,
    fallback: Fallback,
    meanings: Mapping[str, Any],
    widths: Mapping[str, int],
) -> Any:
    """Emit the test of whether the scheduled kernel is valid for the arguments of a call (i1).

    Args:
        machine: its instruction sets may be used.
        meanings: the pointers of arrays and the 64-bit values of parameters, by name.
        widths: the bytes that were read from addresses, by `address_of`.
    """
    is_valid = emit_is_apart(builder, program, machine, fallback.apart, meanings, widths)
    if fallback.condition is None:
        return is_valid
    parameters = {name: meanings[name] for name in program.parameters}
    condition = Lowering(program, machine).value(fallback.condition, None)
    holds = Evaluator(builder, parameters, {}, {}).value(condition, None).ir
    return builder.and_(holds, is_valid)


def emit_is_apart(
    builder: ir.IRBuilder,
    program: LoopProgram,
    machine: Machine,
    pairs: Sequence[tuple[str, str]],
    meanings: Mapping[str, Any],
    widths: Mapping[str, int],
) -> Any:
    """Emit the test of whether no pair of arrays or addresses overlaps (i1)."""
    parameters = {name: meanings[name] for name in program.parameters}
    lowering, values = Lowering(program, machine), Evaluator(builder, parameters, {}, {})
    starts, ends = {}, {}
    for name in sorted({name for pair in pairs for name in pair}):
        starts[name] = meanings[name]
        array = program.arrays.get(name)
        if array is None:
            ends[name] = builder.gep(starts[name], [INDEX(widths[name])], source_etype=_BYTE)
            continue
        extents = [values.index(lowering.index(extent)) for extent in array.shape]
        steps = None
        if array.strides is not None:
            steps = [values.index(lowering.index(stride)) for stride in array.strides]
        ends[name] = _end(builder, array, extents, steps, meanings[name])
    checks = []
    for first, second in pairs:
        before = builder.icmp_unsigned("<=", ends[first], starts[second])
        after = builder.icmp_unsigned("<=", ends[second], starts[first])
        checks.append(builder.or_(before, after))
    return reduce(builder.and_, checks, _BIT(1))


def address_of(name: str) -> str:
    """Return the key of the address from which a parameter's value was read."""
    return f"&{name}"


def _end(
    builder: ir.IRBuilder, array: Array, extents: list[Any], steps: list[Any] | None, pointer: Any
) -> Any:
    """Return the address after the last element of an array; a negative extent counts as 0."""
    size: Any = INDEX(array.dtype.bytes)
    if steps is not None:
        distance: Any = INDEX(1)
        for number, step in zip(extents, steps, strict=True):
            last = builder.sub(number, INDEX(1))
            is_empty = builder.icmp_signed("<", last, INDEX(0))
            last = builder.select(is_empty, INDEX(0), last)
            distance = builder.add(distance, builder.mul(last, step))
        return builder.gep(pointer, [builder.mul(distance, size)], source_etype=_BYTE)
    for number in extents:
        is_negative = builder.icmp_signed("<", number, INDEX(0))
        size = builder.mul(size, builder.select(is_negative, INDEX(0), number))
    return builder.gep(pointer, [size], source_etype=_BYTE)


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
