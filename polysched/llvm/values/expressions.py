"""Emit expressions as scalars, which all lanes share, or as vectors.

To add an operation, add its name to :class:`polysched.ir.expr.expressions.Operator` and a line to
the tables here, in the C printer and in the scalar evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias

from llvmlite import ir

from polysched.errors import LoweringError
from polysched.ir.expr.dtypes import DType, NumberKind
from polysched.ir.expr.operators import LIBRARY_BINARY, LIBRARY_UNARY, Operator
from polysched.llvm.builder.c_library import library_call
from polysched.llvm.builder.intrinsics import (
    Splat,
    constant,
    free,
    intrinsic,
    shuffled,
    vector_type,
)
from polysched.llvm.math.arc_tangent import arc_tangent
from polysched.llvm.math.exponentials import exponential, exponential_2
from polysched.llvm.math.extrema import maximum, minimum
from polysched.llvm.math.hyperbolic import hyperbolic_cosine, hyperbolic_sine, hyperbolic_tangent
from polysched.llvm.math.logarithms import logarithm, logarithm_2, logarithm_10
from polysched.llvm.math.powers import power
from polysched.llvm.math.reciprocals import reciprocal, reciprocal_square_root
from polysched.llvm.math.trigonometric import cosine, sine, tangent

CONTRACT = ("contract",)
"""Fast-math flags: only contraction of a * b + c to an FMA, unless the kernel forbids it."""
REASSOCIATE = ("reassoc",)
"""The flag of a reduction's update in a program without a schedule."""

INDEX = ir.IntType(64)
BIT = ir.IntType(1)

Emission: TypeAlias = Callable[[ir.IRBuilder, list[Any]], Any]
_Binary: TypeAlias = Callable[[ir.IRBuilder, Any, Any], Any]


@dataclass(frozen=True, eq=False)
class Value:
    """An LLVM value with its element type; ``lanes`` is None for a scalar shared by all lanes."""

    ir: Any
    dtype: DType
    lanes: int | None = None


def element_type(dtype: DType) -> Any:
    """The LLVM type of a value of ``dtype``.

    A boolean value is one bit; in memory it takes a byte. A half type is an integer of 16 bits.
    """
    if dtype.is_float and not dtype.is_half:
        return ir.FloatType() if dtype.bits == 32 else ir.DoubleType()
    return ir.IntType(dtype.bits)


def memory_type(dtype: DType) -> Any:
    """The LLVM type of an element of ``dtype`` in an array that is not packed."""
    return ir.IntType(8) if dtype.kind is NumberKind.BOOLEAN else element_type(dtype.container)


def vector_of(type_: Any, lanes: int | None) -> Any:
    """The vector type, or the type itself for a scalar."""
    return type_ if lanes is None else vector_type(type_, lanes)


def splat(builder: ir.IRBuilder, scalar: Any, lanes: int) -> Any:
    """A vector with a scalar in every lane."""
    if isinstance(scalar, ir.Constant):
        return Splat(scalar, lanes)
    anything = free(vector_type(scalar.type, lanes))
    vector = builder.insert_element(anything, scalar, ir.IntType(32)(0))
    return shuffled(builder, vector, anything, [0] * lanes)


def widened(builder: ir.IRBuilder, value: Value, lanes: int | None) -> Any:
    """The LLVM value, broadcast to ``lanes`` lanes if it is a scalar."""
    if lanes is None or value.lanes is not None:
        return value.ir
    return splat(builder, value.ir, lanes)


def stack_slot(builder: ir.IRBuilder, type_: Any) -> Any:
    """Memory on the stack; ``allocated_type`` of the result is its type."""
    slot = builder.alloca(type_)
    # llvmlite's alloca still returns typed pointers; LLVM reads only opaque pointers.
    slot.type = ir.PointerType()
    return slot


def _float_compare(predicate: str) -> Emission:
    return lambda b, v: b.fcmp_ordered(predicate, v[0], v[1])


def _number_minimum(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    """Select the right one of two zeros, like glibc on x86; C allows either."""
    is_left = builder.fcmp_ordered("<", left, right)
    return _unless_nan(builder, is_left, left, right)


def _number_maximum(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    is_left = builder.fcmp_ordered(">", left, right)
    return _unless_nan(builder, is_left, left, right)


def _compared(builder: ir.IRBuilder, predicate: str, first: Any, second: Any) -> Any:
    return builder.select(builder.fcmp_ordered(predicate, first, second), first, second)


def _unless_nan(builder: ir.IRBuilder, is_left: Any, left: Any, right: Any) -> Any:
    is_nan = builder.fcmp_unordered("uno", right, right)
    return builder.select(builder.or_(is_left, is_nan), left, right)


def _call(operator: Operator) -> Emission:
    return lambda b, v: library_call(b, operator.value, v)


def _own(function: Callable[[ir.IRBuilder, Any], Any]) -> Emission:
    return lambda b, v: function(b, v[0])


_BY_FEATURES: Mapping[Operator, Callable[[ir.IRBuilder, Any, Set[str]], Any]] = MappingProxyType(
    {
        Operator.EXPONENTIAL: exponential,
        Operator.EXPONENTIAL_2: exponential_2,
        Operator.RECIPROCAL: reciprocal,
        Operator.RECIPROCAL_SQUARE_ROOT: reciprocal_square_root,
    }
)
"""Functions that have instructions of their own on some processors."""

_OWN: Mapping[Operator, Callable[[ir.IRBuilder, Any], Any]] = MappingProxyType(
    {
        Operator.LOGARITHM: logarithm,
        Operator.LOGARITHM_2: logarithm_2,
        Operator.LOGARITHM_10: logarithm_10,
        Operator.SINE: sine,
        Operator.COSINE: cosine,
        Operator.TANGENT: tangent,
        Operator.ARC_TANGENT: arc_tangent,
        Operator.HYPERBOLIC_SINE: hyperbolic_sine,
        Operator.HYPERBOLIC_COSINE: hyperbolic_cosine,
        Operator.HYPERBOLIC_TANGENT: hyperbolic_tangent,
    }
)
"""Functions computed inline on whole vectors, instead of library calls."""

_FLOAT: Mapping[Operator, Emission] = MappingProxyType(
    {
        Operator.ADD: lambda b, v: b.fadd(v[0], v[1], flags=CONTRACT),
        Operator.SUBTRACT: lambda b, v: b.fsub(v[0], v[1], flags=CONTRACT),
        Operator.MULTIPLY: lambda b, v: b.fmul(v[0], v[1], flags=CONTRACT),
        Operator.DIVIDE: lambda b, v: b.fdiv(v[0], v[1]),
        Operator.NEGATE: lambda b, v: b.fneg(v[0]),
        Operator.MINIMUM: lambda b, v: minimum(b, v[0], v[1]),
        Operator.MAXIMUM: lambda b, v: maximum(b, v[0], v[1]),
        Operator.FMA: lambda b, v: intrinsic(b, "fma", v),
        Operator.ABSOLUTE: lambda b, v: intrinsic(b, "fabs", v),
        Operator.SQUARE_ROOT: lambda b, v: intrinsic(b, "sqrt", v),
        Operator.NUMBER_MINIMUM: lambda b, v: _number_minimum(b, v[0], v[1]),
        Operator.NUMBER_MAXIMUM: lambda b, v: _number_maximum(b, v[0], v[1]),
        # One instruction on x86: MINPS and MAXPS return the second operand for NaN and equal zeros.
        Operator.PSEUDO_MINIMUM: lambda b, v: _compared(b, "<", v[1], v[0]),
        Operator.PSEUDO_MAXIMUM: lambda b, v: _compared(b, ">", v[1], v[0]),
        Operator.FLOOR: lambda b, v: intrinsic(b, "floor", v),
        Operator.CEILING: lambda b, v: intrinsic(b, "ceil", v),
        Operator.TRUNCATE: lambda b, v: intrinsic(b, "trunc", v),
        Operator.ROUND_TO_EVEN: lambda b, v: intrinsic(b, "rint", v),
        Operator.ROUND_HALF_AWAY: lambda b, v: intrinsic(b, "round", v),
        **{operator: _call(operator) for operator in LIBRARY_UNARY | LIBRARY_BINARY},
        **{operator: _own(function) for operator, function in _OWN.items()},
        Operator.LESS: _float_compare("<"),
        Operator.LESS_EQUAL: _float_compare("<="),
        Operator.EQUAL: _float_compare("=="),
        Operator.NOT_EQUAL: lambda b, v: b.fcmp_unordered("!=", v[0], v[1]),
    }
)

_REASSOCIATED: Mapping[Operator, Callable[[ir.IRBuilder], Callable[..., Any]]] = MappingProxyType(
    {
        Operator.ADD: lambda b: b.fadd,
        Operator.SUBTRACT: lambda b: b.fsub,
        Operator.MULTIPLY: lambda b: b.fmul,
    }
)
"""Operations on floats that LLVM may reassociate in an update of a reduction."""
# A kernel that forbids contraction gets the bits of the C library's functions too.
_UNCONTRACTED: Mapping[Operator, Emission] = MappingProxyType(
    {
        **_FLOAT,
        **{operator: _call(operator) for operator in LIBRARY_UNARY},
        Operator.ADD: lambda b, v: b.fadd(v[0], v[1]),
        Operator.SUBTRACT: lambda b, v: b.fsub(v[0], v[1]),
        Operator.MULTIPLY: lambda b, v: b.fmul(v[0], v[1]),
    }
)


def _safe_divisor(builder: ir.IRBuilder, divisor: Any) -> tuple[Any, Any]:
    """Whether a divisor is 0, and a nonzero divisor: division by 0 traps, but must return 0."""
    is_zero = builder.icmp_unsigned("==", divisor, constant(divisor.type, 0))
    return is_zero, builder.select(is_zero, constant(divisor.type, 1), divisor)


def _floor_divide(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    literal = _positive_literal(right)
    if literal is not None and literal.bit_count() == 1:
        # LLVM does not simplify a division with its correction to this shift.
        return builder.ashr(left, constant(left.type, literal.bit_length() - 1))
    return _signed(_floor_quotient, builder, left, right)


def _quotient(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    return _signed(lambda b, x, y: b.sdiv(x, y), builder, left, right)


def _signed(divide: _Binary, builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    """Divide by any divisor: 0 as the divisor gives 0, and -1 negates."""
    if _positive_literal(right) is not None:
        return divide(builder, left, right)
    is_zero, divisor = _safe_divisor(builder, right)
    # The smallest integer divided by -1 traps as well; negating wraps around.
    is_minus_one = builder.icmp_signed("==", divisor, constant(left.type, -1))
    divisor = builder.select(is_minus_one, constant(left.type, 1), divisor)
    quotient = builder.select(is_minus_one, builder.neg(left), divide(builder, left, divisor))
    return builder.select(is_zero, constant(left.type, 0), quotient)


def _rest(divide: _Binary, builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    """The rest of a division of signed integers; 0 if the divisor is 0."""
    rest = builder.sub(left, builder.mul(divide(builder, left, right), right))
    if _positive_literal(right) is not None:
        return rest
    is_zero, _ = _safe_divisor(builder, right)
    return builder.select(is_zero, constant(left.type, 0), rest)


def _unsigned(
    divide: Callable[[Any, Any], Any], builder: ir.IRBuilder, left: Any, right: Any
) -> Any:
    is_zero, divisor = _safe_divisor(builder, right)
    return builder.select(is_zero, constant(left.type, 0), divide(left, divisor))


def _floor_quotient(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    quotient = builder.sdiv(left, right)
    remainder = builder.sub(left, builder.mul(quotient, right))
    inexact = builder.icmp_signed("!=", remainder, constant(left.type, 0))
    opposite = builder.icmp_signed("<", builder.xor(remainder, right), constant(left.type, 0))
    lower = builder.sub(quotient, constant(left.type, 1))
    return builder.select(builder.and_(inexact, opposite), lower, quotient)


def _positive_literal(value: Any) -> int | None:
    """The value of a positive literal, or of a vector of equal positive literals; else None."""
    lane = value.lane if isinstance(value, Splat) else value
    number = lane.constant if isinstance(lane, ir.Constant) else None
    return number if isinstance(number, int) and number > 0 else None


def _absolute(builder: ir.IRBuilder, operand: Any) -> Any:
    negative = builder.icmp_signed("<", operand, constant(operand.type, 0))
    return builder.select(negative, builder.neg(operand), operand)


def _in_range(builder: ir.IRBuilder, amount: Any) -> Any:
    """Whether a shift amount is in range; negative amounts are large as unsigned integers."""
    bits = getattr(amount.type, "element", amount.type).width
    return builder.icmp_unsigned("<", amount, constant(amount.type, bits))


def _shift_left(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    shifted = builder.shl(left, right)
    return builder.select(_in_range(builder, right), shifted, constant(left.type, 0))


def _signed_shift_right(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    bits = getattr(left.type, "element", left.type).width
    last = constant(right.type, bits - 1)
    return builder.ashr(left, builder.select(_in_range(builder, right), right, last))


def _unsigned_shift_right(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    shifted = builder.lshr(left, right)
    return builder.select(_in_range(builder, right), shifted, constant(left.type, 0))


_SHARED_INTEGER: Mapping[Operator, Emission] = MappingProxyType(
    {
        Operator.ADD: lambda b, v: b.add(v[0], v[1]),
        Operator.SUBTRACT: lambda b, v: b.sub(v[0], v[1]),
        Operator.MULTIPLY: lambda b, v: b.mul(v[0], v[1]),
        Operator.NEGATE: lambda b, v: b.neg(v[0]),
        Operator.EQUAL: lambda b, v: b.icmp_unsigned("==", v[0], v[1]),
        Operator.NOT_EQUAL: lambda b, v: b.icmp_unsigned("!=", v[0], v[1]),
        Operator.AND: lambda b, v: b.and_(v[0], v[1]),
        Operator.OR: lambda b, v: b.or_(v[0], v[1]),
        Operator.NOT: lambda b, v: b.not_(v[0]),
        Operator.BIT_AND: lambda b, v: b.and_(v[0], v[1]),
        Operator.BIT_OR: lambda b, v: b.or_(v[0], v[1]),
        Operator.BIT_XOR: lambda b, v: b.xor(v[0], v[1]),
        Operator.BIT_NOT: lambda b, v: b.not_(v[0]),
        Operator.SHIFT_LEFT: lambda b, v: _shift_left(b, v[0], v[1]),
    }
)

_SIGNED: Mapping[Operator, Emission] = MappingProxyType(
    {
        **_SHARED_INTEGER,
        Operator.FLOOR_DIVIDE: lambda b, v: _floor_divide(b, v[0], v[1]),
        Operator.MODULO: lambda b, v: _rest(_floor_divide, b, v[0], v[1]),
        Operator.QUOTIENT: lambda b, v: _quotient(b, v[0], v[1]),
        Operator.REMAINDER: lambda b, v: _rest(_quotient, b, v[0], v[1]),
        Operator.SHIFT_RIGHT: lambda b, v: _signed_shift_right(b, v[0], v[1]),
        Operator.MINIMUM: lambda b, v: intrinsic(b, "smin", v),
        Operator.MAXIMUM: lambda b, v: intrinsic(b, "smax", v),
        Operator.ABSOLUTE: lambda b, v: _absolute(b, v[0]),
        Operator.LESS: lambda b, v: b.icmp_signed("<", v[0], v[1]),
        Operator.LESS_EQUAL: lambda b, v: b.icmp_signed("<=", v[0], v[1]),
    }
)

_UNSIGNED: Mapping[Operator, Emission] = MappingProxyType(
    {
        **_SHARED_INTEGER,
        Operator.FLOOR_DIVIDE: lambda b, v: _unsigned(b.udiv, b, v[0], v[1]),
        Operator.MODULO: lambda b, v: _unsigned(b.urem, b, v[0], v[1]),
        Operator.QUOTIENT: lambda b, v: _unsigned(b.udiv, b, v[0], v[1]),
        Operator.REMAINDER: lambda b, v: _unsigned(b.urem, b, v[0], v[1]),
        Operator.SHIFT_RIGHT: lambda b, v: _unsigned_shift_right(b, v[0], v[1]),
        Operator.MINIMUM: lambda b, v: intrinsic(b, "umin", v),
        Operator.MAXIMUM: lambda b, v: intrinsic(b, "umax", v),
        Operator.ABSOLUTE: lambda b, v: v[0],
        Operator.LESS: lambda b, v: b.icmp_unsigned("<", v[0], v[1]),
        Operator.LESS_EQUAL: lambda b, v: b.icmp_unsigned("<=", v[0], v[1]),
    }
)


def emit_operator(
    builder: ir.IRBuilder,
    operator: Operator,
    dtype: DType,
    operands: list[Any],
    *,
    fp_contract: bool = True,
    reassociates: bool = False,
    features: Set[str] = frozenset(),
) -> Any:
    """Emit an operator on operands of element type ``dtype`` and equal numbers of lanes.

    Args:
        fp_contract: whether a * b + c may be contracted to an FMA.
        reassociates: whether LLVM may reassociate a sum or a product of floats.
        features: LLVM's names of the instruction sets that explicit intrinsics may use.
    """
    if operator is Operator.SELECT:
        return builder.select(*operands)
    own = _BY_FEATURES.get(operator)
    if own is not None and dtype.is_float and (fp_contract or operator not in LIBRARY_UNARY):
        return own(builder, operands[0], features)
    if operator is Operator.POWER and dtype.is_float:
        return power(builder, operands, features)
    if reassociates and dtype.is_float and operator in _REASSOCIATED:
        flags = (*REASSOCIATE, *(CONTRACT if fp_contract else ()))
        return _REASSOCIATED[operator](builder)(*operands, flags=flags)
    floats = _FLOAT if fp_contract else _UNCONTRACTED
    table = floats if dtype.is_float else _SIGNED if dtype.is_signed else _UNSIGNED
    if operator not in table:
        raise LoweringError(f"'{operator.value}' has no machine code for values of type {dtype}")
    return table[operator](builder, operands)
