"""Print expressions as C99."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from types import MappingProxyType

from polysched.ir.core.data_dependent import optional_indices
from polysched.ir.core.kernel import Array
from polysched.ir.core.printing import INFIX_PRECEDENCE, Precedence
from polysched.ir.expr.dtypes import DType, i64
from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Number,
    Operation,
    Parameter,
)
from polysched.ir.expr.operators import BITWISE, LIBRARY_BINARY, LIBRARY_UNARY, Operator
from polysched.ir.expr.traversal import walk
from polysched.ir.semantics.half import half_bits
from polysched.ir.semantics.scalar import Scalar, as_scalar, evaluate, wrapper
from polysched.loops.printers.c_helpers import c_type, helper_for, is_index_arithmetic

_LIBRARY: Mapping[Operator, str] = MappingProxyType(
    {
        Operator.ABSOLUTE: "fabs",
        Operator.SQUARE_ROOT: "sqrt",
        Operator.EXPONENTIAL: "exp",
        Operator.FMA: "fma",
        Operator.FLOOR: "floor",
        Operator.CEILING: "ceil",
        Operator.TRUNCATE: "trunc",
        Operator.ROUND_TO_EVEN: "rint",
        Operator.ROUND_HALF_AWAY: "round",
        **{operator: operator.value for operator in LIBRARY_UNARY | LIBRARY_BINARY},
    }
)

_SYMBOLS: Mapping[Operator, str] = MappingProxyType({Operator.AND: "&&", Operator.OR: "||"})


@dataclass(frozen=True)
class CExpressions:
    """Prints expressions, given the arrays and their names in C.

    ``in_subscript`` and ``in_value`` say where they stand, as for
    :func:`polysched.loops.printers.c_helpers.helper_for`.
    """

    arrays: Mapping[str, Array]
    array_names: Mapping[str, str]
    variable_names: Mapping[str, str]
    in_subscript: bool = False
    in_value: bool = False

    def text(self, expression: Expression) -> str:
        """The expression."""
        return self._within(expression, Precedence.WHOLE)

    def value(self, expression: Expression) -> str:
        """The expression as an assigned value."""
        return replace(self, in_value=True).text(expression)

    def element(self, array: str, subscripts: Sequence[Expression]) -> str:
        """An element of an array."""
        declared = self.arrays[array]
        flat = (
            flat_index(subscripts, declared.stored_shape)
            if declared.strides is None
            else strided_index(subscripts, declared.strides)
        )
        return f"{self.array_names[array]}[{replace(self, in_subscript=True).text(flat)}]"

    def existence(self, subscripts: Sequence[Expression]) -> str:
        """The condition that an element exists; empty if it always does."""
        indices = [self.text(index) for index in optional_indices(subscripts)]
        return " && ".join(f"{index} >= 0" for index in indices)

    def _within(self, expression: Expression, context: Precedence) -> str:
        text, precedence = self._printed(expression)
        return text if precedence >= context else f"({text})"

    def _printed(self, expression: Expression) -> tuple[str, Precedence]:
        helper = helper_for(expression, in_subscript=self.in_subscript, in_value=self.in_value)
        match expression:
            case Constant(value=value):
                return _signed(c_constant(value, expression.dtype or i64))
            case Index(name=name) | Parameter(name=name):
                return self.variable_names[name], Precedence.ATOM
            case Load(array=array, subscripts=subscripts):
                element = self.element(array, subscripts)
                exists = self.existence(subscripts)
                return f"({exists} ? {element} : 0)" if exists else element, Precedence.ATOM
            case Operation() if _is_literal(expression):
                # Folded: C would compute it in `int`.
                return _signed(c_constant(evaluate(expression, _no_read, {}), i64))
            case Operation(operands=operands) if helper is not None:
                return self._call(helper.name, operands), Precedence.ATOM
            case Cast(operand=operand) if helper is not None:
                return self._call(helper.name, (operand,)), Precedence.ATOM
            case Cast(operand=operand, type=dtype):
                text = f"({c_type(dtype)}){self._within(operand, Precedence.ATOM)}"
                return text, Precedence.SIGN
            case Operation():
                return self._operation(expression)
            case _:
                raise TypeError(f"{type(expression).__name__} is not an expression node")

    def _operation(self, expression: Operation) -> tuple[str, Precedence]:
        operator, operands = expression.operator, expression.operands
        if operator in BITWISE:  # which bind less tightly in C than comparisons
            # Compilers warn of sums inside.
            left, right = (self._within(operand, Precedence.PRODUCT) for operand in operands)
            return f"({left} {operator.value} {right})", Precedence.ATOM
        if operator in INFIX_PRECEDENCE:
            return self._infix(operator, *operands)
        if operator in (Operator.NEGATE, Operator.NOT):
            sign = "-" if operator is Operator.NEGATE else "!"
            return f"{sign}{self._within(operands[0], Precedence.ATOM)}", Precedence.SIGN
        if operator is Operator.SELECT:
            parts = [self._within(operand, Precedence.OR) for operand in operands]
            return "({} ? {} : {})".format(*parts), Precedence.ATOM
        dtype = operands[0].dtype or i64
        suffix = "f" if dtype.bits == 32 else ""
        return self._call(_LIBRARY[operator] + suffix, operands), Precedence.ATOM

    def _infix(
        self, operator: Operator, left: Expression, right: Expression
    ) -> tuple[str, Precedence]:
        precedence = INFIX_PRECEDENCE[operator]
        tighter = Precedence(precedence + 1)
        if operator is Operator.OR:  # compilers warn of `a && b || c`
            tighter = Precedence.NOT
        plain = operator not in (*_SYMBOLS, *_COMPARED)
        first = self._within(left, precedence if plain or operator is Operator.AND else tighter)
        second = self._within(right, tighter)
        gap = "" if precedence is Precedence.PRODUCT else " "
        return f"{first}{gap}{_SYMBOLS.get(operator, operator.value)}{gap}{second}", precedence

    def _call(self, function: str, operands: Sequence[Expression]) -> str:
        return f"{function}({', '.join(map(self.text, operands))})"


_COMPARED = frozenset(
    operator
    for operator, precedence in INFIX_PRECEDENCE.items()
    if precedence is Precedence.COMPARISON
)


def _is_literal(expression: Operation) -> bool:
    return is_index_arithmetic(expression) and not any(
        isinstance(node, Index | Parameter) for node in walk(expression)
    )


def _no_read(name: str, position: tuple[int, ...]) -> Scalar:
    raise TypeError(f"a literal reads {name}{list(position)}")


def _signed(text: str) -> tuple[str, Precedence]:
    return text, Precedence.SIGN if text.startswith("-") else Precedence.ATOM


def flat_index(subscripts: Sequence[Expression], shape: Sequence[Expression]) -> Expression:
    """The position of an element in a row-major array."""
    if not subscripts:
        return Constant(0)
    flat = subscripts[0]
    for subscript, extent in zip(subscripts[1:], shape[1:], strict=True):
        flat = flat * extent + subscript
    return flat


def strided_index(subscripts: Sequence[Expression], strides: Sequence[Expression]) -> Expression:
    """The position of an element in an array with strides."""
    terms = [
        subscript if stride == Constant(1) else subscript * stride
        for subscript, stride in zip(subscripts, strides, strict=True)
    ]
    return reduce(add, terms) if terms else Constant(0)


def c_constant(value: Number, dtype: DType) -> str:
    """A literal of type ``dtype``."""
    if dtype.is_half:
        return f"0x{half_bits(float(value), dtype):04x}"
    if dtype.is_float:
        return _float_constant(float(value), dtype)
    if not dtype.is_integer:
        return "true" if value else "false"
    number = wrapper(dtype)(int(value))
    if dtype.is_signed and number == -(1 << (dtype.bits - 1)):
        return f"INT{dtype.bits}_MIN"
    if dtype.bits == 64 and not (dtype.is_signed and abs(number) < 1 << 31):
        macro = "INT64_C" if dtype.is_signed else "UINT64_C"
        return f"-{macro}({-number})" if number < 0 else f"{macro}({number})"
    return f"{number}u" if dtype.bits == 32 and not dtype.is_signed else str(number)


def _float_constant(value: float, dtype: DType) -> str:
    suffix = "f" if dtype.bits == 32 else ""
    rounded = as_scalar(value, dtype)
    if math.isnan(rounded):
        return "NAN"
    if math.isinf(rounded):
        return "-INFINITY" if rounded < 0 else "INFINITY"
    text = str(rounded)
    return text + suffix if "." in text or "e" in text else f"{text}.0{suffix}"
