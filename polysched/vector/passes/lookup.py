"""Pass: turn gathers from a table of 256 elements into lookups in registers.

A table of 256 bytes, shorts or floats fits in 4, 8 or 16 registers, which most loops load once.
Then ``y[i] = table[x[i]]`` with bytes ``x`` becomes permutations of pairs of registers and
selections by the high bits of ``x`` (Intel's manual, `VPERMI2B`, `VPERMI2D`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.dtypes import u8
from polysched.ir.expr.expressions import Cast, Constant, Expression
from polysched.vector.ir import Assign, Statement, VectorProgram
from polysched.vector.rewrite import map_statements, map_value
from polysched.vector.values import Convert, Gather, Load, Lookup, Value, dtype_of

ENTRIES = 256
"""Elements of a table: the values of a byte."""
REGISTER_BITS = 512
FEATURES = {8: "avx512vbmi", 16: "avx512bw", 32: "avx512f"}
"""The instruction set that permutes two registers, by the bits of an element."""


def form_lookups(program: VectorProgram, features: Set[str]) -> VectorProgram:
    """Turn gathers from tables of 256 elements into lookups in registers.

    Args:
        features: LLVM's names of the machine's instruction sets.
    """

    def rewritten(node: Statement) -> Statement:
        if not isinstance(node, Assign) or node.lanes is None:
            return node
        count = node.lanes.count
        value = map_value(
            node.value, lambda operand: _lookup(operand, program.arrays, features, count)
        )
        return node if value is node.value else replace(node, value=value)

    return replace(program, body=map_statements(program.body, rewritten))


def is_lookup(array: Array, subscripts: Sequence[Expression]) -> bool:
    """Whether an access is a lookup by a byte in a table that fits in registers."""
    (index, *_) = (*subscripts, None)
    return is_byte_table(array) and isinstance(index, Cast) and index.operand.dtype == u8


def is_byte_table(array: Array) -> bool:
    """Whether an array is a read-only argument of 256 elements."""
    return (
        array.role is Role.INPUT
        and array.shape == (Constant(ENTRIES),)
        and array.strides is None
        and not array.is_packed
        and not array.guarded
        and array.dtype.bits in FEATURES
    )


def _lookup(value: Value, arrays: Mapping[str, Array], features: Set[str], count: int) -> Value:
    if not isinstance(value, Load) or not isinstance(value.access.movement, Gather):
        return value
    array = arrays[value.access.address.array]
    (index, *more_subscripts) = value.access.movement.subscripts
    is_byte = isinstance(index, Convert) and dtype_of(index.operand) == u8
    if more_subscripts or not is_byte or not is_byte_table(array):
        return value
    if count * array.dtype.bits != REGISTER_BITS or FEATURES[array.dtype.bits] not in features:
        return value
    movement = Lookup(value.access.movement.subscripts)
    return replace(value, access=replace(value.access, movement=movement))
