"""Choice at each call between a scheduled kernel and the program as written.

A C function promises less than a kernel relies on: its arrays may overlap, and its sizes may lie
outside the kernel's context. The exported function therefore checks both once, on entry, and runs
the program as written if a check fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from llvmlite import ir

from polysched.ir.core.kernel import Array, Kernel
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
    """Program that runs if the arguments of a call do not satisfy what the schedule relies on.

    Attributes:
        kernel: the unscheduled kernel, with the arrays and parameters of the scheduled one. It is
            valid for overlapping arrays and for all sizes.
        condition: what the sizes must satisfy for the scheduled kernel; None for no condition.
        apart: pairs of arrays that must not overlap for the scheduled kernel.
    """

    kernel: Kernel
    condition: Expression | None
    apart: tuple[tuple[str, str], ...]


def emit_is_valid(
    builder: ir.IRBuilder,
    program: LoopProgram,
    machine: Machine,
    fallback: Fallback,
    meanings: Mapping[str, Any],
) -> Any:
    """Emit whether the scheduled kernel is valid for the arguments of a call (i1).

    Args:
        builder: positioned at the entry of the function.
        program: the scheduled kernel.
        machine: its instruction sets may be used.
        fallback: the conditions.
        meanings: the pointers of arrays and the 64-bit values of parameters, by name.
    """
    parameters = {name: meanings[name] for name in program.parameters}
    lowering = Lowering(program, machine)
    values = Evaluator(builder, parameters, {}, {})
    checks = []
    if fallback.condition is not None:
        checks.append(values.value(lowering.value(fallback.condition, None), None).ir)
    names = sorted({name for pair in fallback.apart for name in pair})
    ends = {}
    for name in names:
        array = program.arrays[name]
        extents = [values.index(lowering.index(extent)) for extent in array.shape]
        ends[name] = _end(builder, array, extents, meanings[name])
    for first, second in fallback.apart:
        before = builder.icmp_unsigned("<=", ends[first], meanings[second])
        after = builder.icmp_unsigned("<=", ends[second], meanings[first])
        checks.append(builder.or_(before, after))
    return reduce(builder.and_, checks) if checks else _BIT(1)


def _end(builder: ir.IRBuilder, array: Array, extents: list[Any], pointer: Any) -> Any:
    """Return the address after the last element of an array; an extent below 0 counts as 0."""
    size: Any = INDEX(array.dtype.bytes)
    for number in extents:
        is_negative = builder.icmp_signed("<", number, INDEX(0))
        size = builder.mul(size, builder.select(is_negative, INDEX(0), number))
    return builder.gep(pointer, [size], source_etype=_BYTE)
