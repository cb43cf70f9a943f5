"""Operators of expressions, and sets of operators with common properties."""

from __future__ import annotations

from enum import Enum


class Operator(Enum):
    """The operators of expressions; the value is the spelling in messages and printed text."""

    # Members are singletons, so identity hashing is correct. Enum's own hash is a slow Python
    # method, and dictionary lookups of expressions call it often.
    __hash__ = object.__hash__

    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    FLOOR_DIVIDE = "//"
    MODULO = "%"
    NEGATE = "neg"
    MINIMUM = "min"
    MAXIMUM = "max"
    FMA = "fma"
    ABSOLUTE = "abs"
    SQUARE_ROOT = "sqrt"
    RECIPROCAL = "reciprocal"
    RECIPROCAL_SQUARE_ROOT = "rsqrt"
    EXPONENTIAL = "exp"
    QUOTIENT = "quotient"
    REMAINDER = "remainder"
    NUMBER_MINIMUM = "fmin"
    NUMBER_MAXIMUM = "fmax"
    PSEUDO_MINIMUM = "pmin"
    PSEUDO_MAXIMUM = "pmax"
    FLOOR = "floor"
    CEILING = "ceil"
    TRUNCATE = "trunc"
    ROUND_TO_EVEN = "rint"
    ROUND_HALF_AWAY = "round"
    LOGARITHM = "log"
    LOGARITHM_2 = "log2"
    LOGARITHM_10 = "log10"
    EXPONENTIAL_2 = "exp2"
    SINE = "sin"
    COSINE = "cos"
    TANGENT = "tan"
    ARC_SINE = "asin"
    ARC_COSINE = "acos"
    ARC_TANGENT = "atan"
    HYPERBOLIC_SINE = "sinh"
    HYPERBOLIC_COSINE = "cosh"
    HYPERBOLIC_TANGENT = "tanh"
    INVERSE_HYPERBOLIC_SINE = "asinh"
    INVERSE_HYPERBOLIC_COSINE = "acosh"
    INVERSE_HYPERBOLIC_TANGENT = "atanh"
    CUBE_ROOT = "cbrt"
    ERROR_FUNCTION = "erf"
    COMPLEMENTARY_ERROR_FUNCTION = "erfc"
    EXPONENTIAL_MINUS_1 = "expm1"
    LOGARITHM_1_PLUS = "log1p"
    POWER = "pow"
    ARC_TANGENT_2 = "atan2"
    HYPOTENUSE = "hypot"
    FLOAT_REMAINDER = "fmod"
    LESS = "<"
    LESS_EQUAL = "<="
    EQUAL = "=="
    NOT_EQUAL = "!="
    AND = "and"
    OR = "or"
    NOT = "not"
    BIT_AND = "&"
    BIT_OR = "|"
    BIT_XOR = "^"
    BIT_NOT = "~"
    SHIFT_LEFT = "<<"
    SHIFT_RIGHT = ">>"
    SELECT = "select"


COMPARISONS = frozenset({Operator.LESS, Operator.LESS_EQUAL, Operator.EQUAL, Operator.NOT_EQUAL})
LOGICAL = frozenset({Operator.AND, Operator.OR, Operator.NOT})
LIBRARY_BINARY = frozenset(
    {Operator.POWER, Operator.ARC_TANGENT_2, Operator.HYPOTENUSE, Operator.FLOAT_REMAINDER}
)
"""Functions of two operands that call the C library; the value is the C name."""
LIBRARY_UNARY = frozenset(
    {
        Operator.LOGARITHM,
        Operator.LOGARITHM_2,
        Operator.LOGARITHM_10,
        Operator.EXPONENTIAL_2,
        Operator.SINE,
        Operator.COSINE,
        Operator.TANGENT,
        Operator.ARC_SINE,
        Operator.ARC_COSINE,
        Operator.ARC_TANGENT,
        Operator.HYPERBOLIC_SINE,
        Operator.HYPERBOLIC_COSINE,
        Operator.HYPERBOLIC_TANGENT,
        Operator.INVERSE_HYPERBOLIC_SINE,
        Operator.INVERSE_HYPERBOLIC_COSINE,
        Operator.INVERSE_HYPERBOLIC_TANGENT,
        Operator.CUBE_ROOT,
        Operator.ERROR_FUNCTION,
        Operator.COMPLEMENTARY_ERROR_FUNCTION,
        Operator.EXPONENTIAL_MINUS_1,
        Operator.LOGARITHM_1_PLUS,
    }
)
"""Functions of one operand that the C library has; the value is the C name.

Most are computed inline by vector code (`polysched/llvm/math`); the others call the library.
"""
PSEUDO_EXTREMA = frozenset({Operator.PSEUDO_MINIMUM, Operator.PSEUDO_MAXIMUM})
"""Extrema by one comparison: ``pmin(a, b)`` is ``b < a ? b : a``, ``pmax(a, b)`` ``b > a ? b : a``.

Named as in WebAssembly. They do not commute: if a comparison with NaN or of two zeros fails, the
result is ``a``.
"""
RECIPROCALS = frozenset({Operator.RECIPROCAL, Operator.RECIPROCAL_SQUARE_ROOT})
"""``1 / x`` and ``1 / sqrt(x)``, within 2 units in the last place: for ``--fast-math`` only."""
FLOAT_ONLY = (
    frozenset(
        {
            Operator.SQUARE_ROOT,
            Operator.EXPONENTIAL,
            Operator.FMA,
            Operator.DIVIDE,
            Operator.NUMBER_MINIMUM,
            Operator.NUMBER_MAXIMUM,
            Operator.FLOOR,
            Operator.CEILING,
            Operator.TRUNCATE,
            Operator.ROUND_TO_EVEN,
            Operator.ROUND_HALF_AWAY,
        }
    )
    | PSEUDO_EXTREMA
    | RECIPROCALS
    | LIBRARY_UNARY
    | LIBRARY_BINARY
)
SHIFTS = frozenset({Operator.SHIFT_LEFT, Operator.SHIFT_RIGHT})
BITWISE = frozenset({Operator.BIT_AND, Operator.BIT_OR, Operator.BIT_XOR})
"""Bitwise operators on two integers; the operators on conditions are in `LOGICAL`."""
INTEGER_ONLY = (
    frozenset(
        {
            Operator.FLOOR_DIVIDE,
            Operator.MODULO,
            Operator.QUOTIENT,
            Operator.REMAINDER,
            Operator.BIT_NOT,
        }
    )
    | BITWISE
    | SHIFTS
)
INFIX = frozenset(
    {
        Operator.ADD,
        Operator.SUBTRACT,
        Operator.MULTIPLY,
        Operator.DIVIDE,
        Operator.FLOOR_DIVIDE,
        Operator.MODULO,
        Operator.AND,
        Operator.OR,
    }
    | COMPARISONS
    | BITWISE
    | SHIFTS
)
