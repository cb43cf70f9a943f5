"""Helper functions in C for operations whose C operators have another meaning.

In C, signed overflow is undefined, integer division rounds toward zero, and the sign of
``fmin(0.0, -0.0)`` is unspecified. These functions wrap around, round down and return -0.0. For
operands that are undefined in C they follow :mod:`polysched.ir.semantics.scalar`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from polysched.ir.expr.dtypes import DType, NumberKind, f64, i64
from polysched.ir.expr.expressions import Cast, Constant, Expression, Index, Operation, Parameter
from polysched.ir.expr.operators import PSEUDO_EXTREMA, RECIPROCALS, Operator
from polysched.ir.expr.traversal import walk
from polysched.loops.printers.c_half import half_conversion

# Literals up to here keep sums of indices within 64 bits.
_SMALL = 2**16

# A count of elements too large for 64 bits becomes the largest number, which no allocation fits.
VECTOR, UNROLLED = "POLYSCHED_VECTOR", "POLYSCHED_UNROLLED"
PRAGMAS = """\
/* gcc makes vectors of loops that it does not unroll before. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 8
#define POLYSCHED_VECTOR _Pragma("GCC unroll 1")
#define POLYSCHED_UNROLLED _Pragma("GCC unroll 64")
#else
#define POLYSCHED_VECTOR
#define POLYSCHED_UNROLLED
#endif
"""
"""Before programs with vectors: a weighted 3 x 3 filter takes gcc 12 a fifth of the time, seven
programs of the gallery take no more. Pragmas of clang 22 speed up some programs and slow others."""

WORKSPACE = """\
static inline int64_t elements(int64_t a, int64_t b)
{
    if (a <= 0 || b <= 0) {
        return 0;
    }
    return a <= INT64_MAX / b ? a * b : INT64_MAX;
}

static inline void *workspace(int64_t count, int64_t bytes)
{
    int64_t total = elements(count, bytes);
    return total < INT64_MAX ? malloc(total > 0 ? (size_t)total : 1) : NULL;
}
"""

_WORDS: Mapping[Operator, str] = MappingProxyType(
    {
        Operator.ADD: "add",
        Operator.SUBTRACT: "subtract",
        Operator.MULTIPLY: "multiply",
        Operator.NEGATE: "negate",
        Operator.ABSOLUTE: "absolute",
        Operator.FLOOR_DIVIDE: "floor_divide",
        Operator.MODULO: "modulo",
        Operator.QUOTIENT: "quotient",
        Operator.REMAINDER: "remainder",
        Operator.MINIMUM: "minimum",
        Operator.MAXIMUM: "maximum",
        Operator.BIT_NOT: "bit_not",
        Operator.SHIFT_LEFT: "shift_left",
        Operator.SHIFT_RIGHT: "shift_right",
        Operator.NUMBER_MINIMUM: "number_minimum",
        Operator.NUMBER_MAXIMUM: "number_maximum",
        Operator.PSEUDO_MINIMUM: "pseudo_minimum",
        Operator.PSEUDO_MAXIMUM: "pseudo_maximum",
        Operator.RECIPROCAL: "reciprocal",
        Operator.RECIPROCAL_SQUARE_ROOT: "reciprocal_square_root",
    }
)

_WRAPPING = frozenset({Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.NEGATE})
_ALWAYS = frozenset(
    {
        Operator.FLOOR_DIVIDE,
        Operator.MODULO,
        Operator.QUOTIENT,
        Operator.REMAINDER,
        Operator.MINIMUM,
        Operator.MAXIMUM,
        Operator.BIT_NOT,
        Operator.SHIFT_LEFT,
        Operator.SHIFT_RIGHT,
        Operator.NUMBER_MINIMUM,
        Operator.NUMBER_MAXIMUM,
    }
    | PSEUDO_EXTREMA
    | RECIPROCALS
)


@dataclass(frozen=True)
class Helper:
    """One C function: an operation on a type, or the conversion ``source -> dtype``."""

    operator: Operator | None
    dtype: DType
    source: DType | None = None

    @property
    def name(self) -> str:
        """The function's name, ``floor_divide_i64``."""
        if self.operator is None:
            return f"{self.source}_to_{self.dtype}"
        return f"{_WORDS[self.operator]}_{self.dtype}"


def c_type(dtype: DType) -> str:
    """The C99 type with the layout of an element; a half type, which C99 lacks, as its bits."""
    if dtype.is_half:
        return "uint16_t"
    match dtype.kind:
        case NumberKind.FLOAT | NumberKind.BRAIN_FLOAT:
            return "float" if dtype.bits == 32 else "double"
        case NumberKind.SIGNED:
            return f"int{dtype.bits}_t"
        case NumberKind.UNSIGNED:
            return f"uint{dtype.bits}_t"
        case NumberKind.BOOLEAN:
            return "bool"


def helper_for(
    node: Expression, *, in_subscript: bool = False, in_value: bool = False
) -> Helper | None:
    """The helper function for a node; None if a C operator has the same meaning.

    The arithmetic of subscripts, bounds and conditions does not overflow at the sizes that a
    program takes (:mod:`polysched.loops.analysis.size_limits`).

    Args:
        in_subscript: whether it is part of a subscript.
        in_value: whether it is part of a value outside of subscripts.
    """
    match node:
        case Cast(operand=operand, type=dtype):
            source = operand.dtype or i64
            has_helper = source.is_float and (dtype.is_integer or dtype.is_half or source.is_half)
            return Helper(None, dtype, source) if has_helper else None
        case Operation(operator=operator, operands=operands):
            dtype = operands[0].dtype or i64
            if operator in _ALWAYS:
                return Helper(operator, dtype)
            if not dtype.is_integer:
                return None
            if operator is Operator.ABSOLUTE:
                return Helper(operator, dtype)
            if operator in _WRAPPING and not (
                in_subscript
                or _is_modular(dtype)
                or (_is_sum_of_indices(node) if in_value else is_index_arithmetic(node))
            ):
                return Helper(operator, dtype)
    return None


def _is_modular(dtype: DType) -> bool:
    """Whether C computes in this very type modulo 2**bits; it promotes narrower ones to `int`."""
    return dtype.kind is NumberKind.UNSIGNED and dtype.bits >= 32


def is_index_arithmetic(node: Expression) -> bool:
    """Whether a value depends on literals, indices and parameters only."""
    leaves = (Constant, Index, Parameter, Operation)
    return (node.dtype or i64) == i64 and all(isinstance(part, leaves) for part in walk(node))


def _is_sum_of_indices(node: Expression) -> bool:
    """Whether a value is index arithmetic that does not overflow, wherever it stands: parameters
    that only values use may be any number, and products may be large.
    """
    parts = list(walk(node))
    return is_index_arithmetic(node) and not any(
        isinstance(part, Parameter)
        or (isinstance(part, Constant) and abs(int(part.value)) > _SMALL)
        or (
            isinstance(part, Operation)
            and part.operator is Operator.MULTIPLY
            and not any(isinstance(factor, Constant) for factor in part.operands)
        )
        for part in parts
    )


def helper_text(helper: Helper) -> str:
    """The definition of the function."""
    if helper.operator is None:
        return _conversion(helper)
    kind = c_type(helper.dtype)
    unary = helper.operator in (
        RECIPROCALS | {Operator.NEGATE, Operator.ABSOLUTE, Operator.BIT_NOT}
    )
    arguments = f"{kind} a" if unary else f"{kind} a, {kind} b"
    bodies = _FLOAT_BODIES if helper.dtype.is_float else _INTEGER_BODIES
    return _function(kind, helper.name, arguments, bodies[helper.operator](helper.dtype))


def _function(kind: str, name: str, arguments: str, body: list[str]) -> str:
    indented = [f"    {line}" for line in body]
    return "\n".join([f"static inline {kind} {name}({arguments})", "{", *indented, "}"]) + "\n"


def _conversion(helper: Helper) -> str:
    """Float to integer: truncated; where the result does not fit, the lowest value."""
    source, target = helper.source or helper.dtype, helper.dtype
    if source.is_half or target.is_half:
        argument = f"{c_type(source)} {'wide' if source == f64 else 'a'}"
        return _function(c_type(target), helper.name, argument, half_conversion(source, target))
    kind, suffix = c_type(target), "f" if source.bits == 32 else ""
    lowest = f"INT{target.bits}_MIN" if target.is_signed else "0"
    lower = f"-0x1p{target.bits - 1}{suffix}" if target.is_signed else f"0.0{suffix}"
    upper = f"0x1p{target.bits - target.is_signed}{suffix}"
    body = [
        f"{c_type(source)} whole = trunc{suffix}(a);",
        f"return whole >= {lower} && whole < {upper} ? ({kind})whole : {lowest};",
    ]
    return _function(kind, helper.name, f"{c_type(source)} a", body)


def _modular(dtype: DType) -> str:
    """The unsigned type in which to compute, so that nothing overflows."""
    return "uint64_t" if dtype.bits == 64 else "uint32_t"


def _wrapping(symbol: str) -> Callable[[DType], list[str]]:
    def body(dtype: DType) -> list[str]:
        wide = _modular(dtype)
        return [f"return ({c_type(dtype)})(({wide})a {symbol} ({wide})b);"]

    return body


def _negated(dtype: DType) -> str:
    return f"({c_type(dtype)})(0 - ({_modular(dtype)})a)"


def _absolute(dtype: DType) -> list[str]:
    return [f"return a < 0 ? {_negated(dtype)} : a;"] if dtype.is_signed else ["return a;"]


def _floor_divide(dtype: DType) -> list[str]:
    kind = c_type(dtype)
    if not dtype.is_signed:
        return [f"return b == 0 ? 0 : ({kind})(a / b);"]
    return [
        "if (b == 0) {",
        "    return 0;",
        "}",
        "if (b == -1) {",
        f"    return {_negated(dtype)};",
        "}",
        f"return ({kind})(a / b - (a % b != 0 && (a < 0) != (b < 0)));",
    ]


def _modulo(dtype: DType) -> list[str]:
    kind = c_type(dtype)
    if not dtype.is_signed:
        return [f"return b == 0 ? 0 : ({kind})(a % b);"]
    return [
        "if (b == 0 || b == -1) {",
        "    return 0;",
        "}",
        f"return ({kind})(a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b);",
    ]


def _quotient(dtype: DType) -> list[str]:
    if not dtype.is_signed:
        return _floor_divide(dtype)
    return [f"return b == 0 ? 0 : b == -1 ? {_negated(dtype)} : ({c_type(dtype)})(a / b);"]


def _remainder(dtype: DType) -> list[str]:
    if not dtype.is_signed:
        return _modulo(dtype)
    return [f"return b == 0 || b == -1 ? 0 : ({c_type(dtype)})(a % b);"]


def _shift_left(dtype: DType) -> list[str]:
    shifted = f"({c_type(dtype)})(({_modular(dtype)})a << b)"
    above = "b >= 0 && " if dtype.is_signed else ""
    return [f"return {above}b < {dtype.bits} ? {shifted} : 0;"]


def _shift_right(dtype: DType) -> list[str]:
    if not dtype.is_signed:
        return [f"return b < {dtype.bits} ? ({c_type(dtype)})(a >> b) : 0;"]
    # In C, the result of a right shift of a negative number depends on the compiler.
    return [
        f"int amount = b >= 0 && b < {dtype.bits} ? (int)b : {dtype.bits - 1};",
        f"return ({c_type(dtype)})(a < 0 ? ~(~a >> amount) : a >> amount);",
    ]


def _smallest(left: str, right: str) -> Callable[[DType], list[str]]:
    return lambda dtype: [f"return a < b ? {left} : {right};"]


def _float_smallest(left: str, right: str) -> Callable[[DType], list[str]]:
    """A NaN operand gives NaN; of two zeros the negative one is the smaller."""
    return lambda dtype: [
        "if (a != a || b != b) {",
        "    return a + b;",
        "}",
        "if (a == b) {",
        f"    return signbit(a) ? {left} : {right};",
        "}",
        f"return a < b ? {left} : {right};",
    ]


_INTEGER_BODIES: Mapping[Operator, Callable[[DType], list[str]]] = MappingProxyType(
    {
        Operator.ADD: _wrapping("+"),
        Operator.SUBTRACT: _wrapping("-"),
        Operator.MULTIPLY: _wrapping("*"),
        Operator.NEGATE: lambda dtype: [f"return {_negated(dtype)};"],
        Operator.ABSOLUTE: _absolute,
        Operator.FLOOR_DIVIDE: _floor_divide,
        Operator.MODULO: _modulo,
        Operator.QUOTIENT: _quotient,
        Operator.REMAINDER: _remainder,
        Operator.BIT_NOT: lambda dtype: [f"return ({c_type(dtype)})~a;"],
        Operator.SHIFT_LEFT: _shift_left,
        Operator.SHIFT_RIGHT: _shift_right,
        Operator.MINIMUM: _smallest("a", "b"),
        Operator.MAXIMUM: _smallest("b", "a"),
    }
)

_FLOAT_BODIES: Mapping[Operator, Callable[[DType], list[str]]] = MappingProxyType(
    {
        Operator.MINIMUM: _float_smallest("a", "b"),
        Operator.MAXIMUM: _float_smallest("b", "a"),
        Operator.NUMBER_MINIMUM: lambda dtype: ["return a < b || b != b ? a : b;"],
        Operator.NUMBER_MAXIMUM: lambda dtype: ["return a > b || b != b ? a : b;"],
        Operator.PSEUDO_MINIMUM: lambda dtype: ["return b < a ? b : a;"],
        Operator.PSEUDO_MAXIMUM: lambda dtype: ["return b > a ? b : a;"],
        Operator.RECIPROCAL: lambda dtype: ["return 1 / a;"],
        Operator.RECIPROCAL_SQUARE_ROOT: lambda dtype: [
            f"return 1 / sqrt{'f' if dtype.bits == 32 else ''}(a);"
        ],
    }
)
