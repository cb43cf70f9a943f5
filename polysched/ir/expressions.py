"""Expression trees: what a statement computes, and the affine subscripts and bounds it uses.

One small grammar serves values and subscripts::

    expression = Constant | Index | Parameter | Load(array, subscripts)
               | Operation(operator, operands) | Cast(operand, dtype)

Nodes are frozen values that compare structurally; Python's arithmetic and order operators build
them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import numpy as np

from polysched.errors import KernelError
from polysched.ir.dtypes import DType, boolean, i64
from polysched.ir.numpy_functions import (
    EXCHANGED,
    OF_NUMPY,
    OF_NUMPYS_INTEGERS,
    OF_NUMPYS_OPERATORS,
)
from polysched.ir.operators import (
    BITWISE,
    COMPARISONS,
    FLOAT_ONLY,
    INFIX,
    INTEGER_ONLY,
    LOGICAL,
    SHIFTS,
    Operator,
)
from polysched.ir.source import SourceLocation
from polysched.ir.undecided import Undecided

Number: TypeAlias = int | float | bool
ExpressionT = TypeVar("ExpressionT", bound="Expression")

DEEPEST = 200
"""Operations inside each other in an expression: Python's recursion ends at about five times that.
"""
_ROUNDED_TO_INFINITY = MappingProxyType({32: 2**128 - 2**103 - 2**74, 64: 2**1024 - 2**970})
"""The least numbers that are, by the bits of a floating-point type; f64 comes before f32."""
LARGEST = 10_000
"""Nodes of an expression, those used several times counted as often."""


def _unlike_numbers(node: type[ExpressionT]) -> type[ExpressionT]:
    """Have ``i == 2`` and ``x[i] != 0`` raise: no such node is written as a number is."""
    same = node.__eq__

    def equal(self: ExpressionT, other: object) -> bool:
        result = same(self, other)
        if result is NotImplemented and isinstance(other, int | float | np.generic):
            raise KernelError(
                f"'{self}' is compared with {other} by == or !=, which compare how expressions are "
                "written; write equal(a, b) or not_equal(a, b)"
            )
        return result

    node.__eq__ = equal  # type: ignore[method-assign, assignment]
    return node


@dataclass(frozen=True)
class Expression(Undecided):
    """Base of all nodes. ``dtype`` is None only for a literal that takes its neighbor's type."""

    @property
    def dtype(self) -> DType | None:
        """The element type of the value."""
        raise TypeError(f"{type(self).__name__} has no type")

    def __add__(self, other: Operand) -> Expression:
        return operation(Operator.ADD, self, other)

    def __radd__(self, other: Operand) -> Expression:
        return operation(Operator.ADD, other, self)

    def __sub__(self, other: Operand) -> Expression:
        return operation(Operator.SUBTRACT, self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return operation(Operator.SUBTRACT, other, self)

    def __mul__(self, other: Operand) -> Expression:
        return operation(Operator.MULTIPLY, self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return operation(Operator.MULTIPLY, other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return operation(Operator.DIVIDE, self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return operation(Operator.DIVIDE, other, self)

    def __floordiv__(self, other: Operand) -> Expression:
        return operation(Operator.FLOOR_DIVIDE, self, other)

    def __rfloordiv__(self, other: Operand) -> Expression:
        return operation(Operator.FLOOR_DIVIDE, other, self)

    def __mod__(self, other: Operand) -> Expression:
        return operation(Operator.MODULO, self, other)

    def __rmod__(self, other: Operand) -> Expression:
        return operation(Operator.MODULO, other, self)

    def __divmod__(self, other: Operand) -> tuple[Expression, Expression]:
        return self // other, self % other

    def __rdivmod__(self, other: Operand) -> tuple[Expression, Expression]:
        return other // self, other % self

    def __pow__(self, exponent: object, modulo: object = None) -> Expression:
        if isinstance(exponent, np.ndarray) and exponent.ndim == 0:
            exponent = exponent.item()
        is_square = isinstance(exponent, int | float | np.generic) and exponent == 2
        if is_square and modulo is None:
            return operation(Operator.MULTIPLY, self, self)
        raise KernelError(
            f"'{self}' to the power of {exponent}: there are no powers in a kernel but squares; "
            "write a product, x * x * x, or sqrt(x), or np.power(x, y)"
        )

    def __rpow__(self, base: object) -> Expression:
        raise KernelError(
            f"{base} to the power of '{self}': there are no powers in a kernel but squares; write "
            "np.exp2(x), exp(x), or np.power(x, y)"
        )

    def __neg__(self) -> Expression:
        return operation(Operator.NEGATE, self)

    def __pos__(self) -> Expression:
        return self

    def round(self, decimals: int | None = None, out: object = None) -> Expression:
        """The nearest whole number, of two the even one, as `round` and ``np.round`` ask for it."""
        if decimals or out is not None:
            raise KernelError(
                f"'{self}' rounded to {decimals} digits; expected a whole number, round(x)"
            )
        is_whole = self.dtype is not None and self.dtype.is_integer
        return self if is_whole else operation(Operator.ROUND_TO_EVEN, self)

    __round__ = round

    def __abs__(self) -> Expression:
        return operation(Operator.ABSOLUTE, self)

    def __lt__(self, other: Operand) -> Expression:
        return operation(Operator.LESS, self, other)

    def __le__(self, other: Operand) -> Expression:
        return operation(Operator.LESS_EQUAL, self, other)

    def __gt__(self, other: Operand) -> Expression:
        return operation(Operator.LESS, other, self)

    def __ge__(self, other: Operand) -> Expression:
        return operation(Operator.LESS_EQUAL, other, self)

    def __and__(self, other: Operand) -> Expression:
        return operation(_of_kind(Operator.AND, Operator.BIT_AND, self, other), self, other)

    def __rand__(self, other: Operand) -> Expression:
        return operation(_of_kind(Operator.AND, Operator.BIT_AND, other, self), other, self)

    def __or__(self, other: Operand) -> Expression:
        return operation(_of_kind(Operator.OR, Operator.BIT_OR, self, other), self, other)

    def __ror__(self, other: Operand) -> Expression:
        return operation(_of_kind(Operator.OR, Operator.BIT_OR, other, self), other, self)

    def __xor__(self, other: Operand) -> Expression:
        return operation(Operator.BIT_XOR, self, other)

    def __rxor__(self, other: Operand) -> Expression:
        return operation(Operator.BIT_XOR, other, self)

    def __lshift__(self, other: Operand) -> Expression:
        return operation(Operator.SHIFT_LEFT, self, other)

    def __rlshift__(self, other: Operand) -> Expression:
        return operation(Operator.SHIFT_LEFT, other, self)

    def __rshift__(self, other: Operand) -> Expression:
        return operation(Operator.SHIFT_RIGHT, self, other)

    def __rrshift__(self, other: Operand) -> Expression:
        return operation(Operator.SHIFT_RIGHT, other, self)

    def __invert__(self) -> Expression:
        return operation(_of_kind(Operator.NOT, Operator.BIT_NOT, self), self)

    def __array_ufunc__(
        self, function: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Expression:
        """What one of numpy's functions makes of expressions; its numbers call them too."""
        operands = [as_expression(one) for one in inputs]
        if method == "__call__" and not options:
            if function is np.positive:
                return operands[0]
            if function is np.square:
                return operation(Operator.MULTIPLY, *operands, *operands)
            if function in EXCHANGED:
                return operation(EXCHANGED[function], *reversed(operands))
            meant = _of_numpy(function, operands)
            if meant is not None:
                return operation(meant, *operands)
        shown = ", ".join(map(str, operands))
        raise KernelError(
            f"np.{function.__name__} of {shown} is no operation of kernels; they have those of "
            "numbers such as np.sqrt, np.exp, np.log, np.maximum, without options"
        )


@dataclass(frozen=True)
class Constant(Expression):
    """A literal. Without a type of its own it takes that of the expression it stands in."""

    value: Number
    type: DType | None = None

    @property
    def dtype(self) -> DType | None:
        """The literal's type, None while undecided."""
        return self.type

    def __str__(self) -> str:
        return str(self.value)


@_unlike_numbers
@dataclass(frozen=True)
class Index(Expression):
    """The value of an iteration index of the statement (i64)."""

    name: str

    @property
    def dtype(self) -> DType:
        """Always i64."""
        return i64

    def __str__(self) -> str:
        return self.name


@_unlike_numbers
@dataclass(frozen=True)
class Parameter(Expression):
    """The value of a kernel parameter (i64)."""

    name: str

    @property
    def dtype(self) -> DType:
        """Always i64."""
        return i64

    def __str__(self) -> str:
        return self.name


@_unlike_numbers
@dataclass(frozen=True)
class Load(Expression):
    """The value of one array element: a read access.

    ``values`` is the declared range of the value, from the lower to the upper end, excluded: of an
    array whose elements may stand in subscripts.
    """

    array: str
    subscripts: tuple[Expression, ...]
    type: DType
    location: SourceLocation | None = field(default=None, compare=False)
    values: tuple[Expression, Expression] | None = None

    @property
    def dtype(self) -> DType:
        """The element type of the array."""
        return self.type

    def __str__(self) -> str:
        return f"{self.array}[{', '.join(map(str, self.subscripts))}]"


@_unlike_numbers
@dataclass(frozen=True)
class Operation(Expression):
    """An operator applied to operands of one type."""

    operator: Operator
    operands: tuple[Expression, ...]
    type: DType | None

    @property
    def dtype(self) -> DType | None:
        """The type of the result."""
        return self.type

    def __str__(self) -> str:
        if self.operator in INFIX:
            left, right = self.operands
            return f"({left} {self.operator.value} {right})"
        if self.operator is Operator.NEGATE:
            return f"(-{self.operands[0]})"
        return f"{self.operator.value}({', '.join(map(str, self.operands))})"


@_unlike_numbers
@dataclass(frozen=True)
class Cast(Expression):
    """A value converted to another type: C's rules, and saturation nowhere."""

    operand: Expression
    type: DType

    @property
    def dtype(self) -> DType:
        """The type converted to."""
        return self.type

    def __str__(self) -> str:
        return f"{self.type}({self.operand})"


Operand: TypeAlias = Expression | Number | np.generic


def _of_kind(of_conditions: Operator, of_integers: Operator, *operands: Operand) -> Operator:
    """Which of two operations is meant: that of integers if there is one among the operands."""
    is_integer = any(
        isinstance(one, Expression) and one.dtype is not None and one.dtype.is_integer
        for one in operands
    )
    return of_integers if is_integer else of_conditions


def _of_numpy(function: np.ufunc, operands: list[Expression]) -> Operator | None:
    """The operation that a function of numpy's is, None if it is none."""
    if any(one.dtype is not None and one.dtype.is_integer for one in operands):
        of_integers = OF_NUMPYS_INTEGERS.get(function)
        if of_integers is not None:
            return of_integers
    return OF_NUMPYS_OPERATORS.get(function, OF_NUMPY.get(function))


def as_expression(value: Operand) -> Expression:
    """Wrap a Python number as a literal; return an expression as it is.

    Raises:
        KernelError: ``value`` is neither.
    """
    if isinstance(value, Expression):
        return value
    if isinstance(value, (bool, int, float)):
        return Constant(value, boolean if isinstance(value, bool) else None)
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        number = value.item()
        if not isinstance(number, np.generic):  # as long doubles stay, and what is like them
            return as_expression(number)
    raise KernelError(
        f"{value!r} of type {type(value).__name__} cannot stand in an expression; expected a "
        "number, an index, a parameter or an array element such as A[i, j]"
    )


def typed(expression: Expression, dtype: DType) -> Expression:
    """Give an undecided literal (or an operation on such) the type ``dtype``.

    Raises:
        KernelError: a fractional literal where an integer is expected, or a number that does not
            fit.
    """
    if expression.dtype is not None:
        return expression
    if isinstance(expression, Constant):
        if dtype.is_integer and not expression.value == expression.value // 1:
            raise KernelError(
                f"literal {expression.value} cannot stand beside values of type {dtype}"
            )
        if not _fits(expression.value, dtype):
            meant = "; for infinity write math.inf" if dtype.is_float else ""
            raise KernelError(f"literal {expression.value} does not fit the type {dtype}{meant}")
        value = float(expression.value) if dtype.is_float else int(expression.value)
        return Constant(value, dtype)
    if isinstance(expression, Operation):
        if not (dtype.is_float or dtype.is_integer):
            raise KernelError(f"'{expression}' is a number where a truth value is expected")
        operands = tuple(typed(operand, dtype) for operand in expression.operands)
        return replace(expression, operands=operands, type=dtype)
    return expression


def _fits(value: Number, dtype: DType) -> bool:
    """Whether a type can hold a number, a floating-point type perhaps rounded, but not to infinity.

    Infinity and NaN are numbers of floating-point types.
    """
    if dtype.is_float:
        is_finite = isinstance(value, int) or math.isfinite(value)
        return not is_finite or abs(value) < _ROUNDED_TO_INFINITY[dtype.bits]
    if dtype.is_integer:
        lowest = -(1 << (dtype.bits - 1)) if dtype.is_signed else 0
        return lowest <= value < lowest + (1 << dtype.bits)
    return True


def operation(operator: Operator, *operands: Operand) -> Expression:
    """Build an operation after checking that its operands have one type.

    Raises:
        KernelError: operands of different types, or a type that the operator does not take.
    """
    given = tuple(as_expression(operand) for operand in operands)
    if operator is Operator.SELECT:
        condition, *rest = given
        _require(condition.dtype == boolean, operator, "a condition first", given)
        dtype, branches = _unified(operator, tuple(rest))
        return Operation(operator, (condition, *branches), dtype)
    dtype, given = _unified(operator, given)
    if operator in LOGICAL:
        _require(dtype == boolean, operator, _OF_CONDITIONS[operator], given)
        return Operation(operator, given, boolean)
    if dtype is not None:
        _require(dtype != boolean, operator, "numbers", given)
        if operator in FLOAT_ONLY:
            _require(dtype.is_float, operator, "floating-point operands (for integers: //)", given)
        if operator in INTEGER_ONLY:
            _require(dtype.is_integer, operator, _of_integers(operator), given)
    return Operation(operator, given, boolean if operator in COMPARISONS else dtype)


_OF_CONDITIONS: Mapping[Operator, str] = MappingProxyType(
    {
        Operator.AND: "conditions, or integers as &",
        Operator.OR: "conditions, or integers as |",
        Operator.NOT: "conditions, or integers as ~",
    }
)
"""What logical operations take. Python writes them with the signs of those of bits."""


def _of_integers(operator: Operator) -> str:
    is_of_bits = operator in BITWISE | SHIFTS or operator is Operator.BIT_NOT
    instead = (
        "convert floating-point ones" if is_of_bits else "for floating point: /, np.floor, np.fmod"
    )
    return f"integer operands ({instead})"


def _unified(
    operator: Operator, operands: tuple[Expression, ...]
) -> tuple[DType | None, tuple[Expression, ...]]:
    dtypes = {operand.dtype for operand in operands if operand.dtype is not None}
    if len(dtypes) > 1:
        mixed = " and ".join(sorted(str(dtype) for dtype in dtypes))
        shown = ", ".join(map(str, operands))
        raise KernelError(
            f"'{operator.value}' mixes {mixed} in ({shown}); convert one side with cast(value, "
            f"dtype)"
        )
    if not dtypes:
        return None, operands
    dtype = dtypes.pop()
    return dtype, tuple(typed(operand, dtype) for operand in operands)


def _require(
    condition: bool, operator: Operator, expected: str, operands: tuple[Expression, ...]
) -> None:
    if not condition:
        shown = ", ".join(f"{operand} ({operand.dtype or 'literal'})" for operand in operands)
        raise KernelError(f"'{operator.value}' takes {expected}; got {shown}")
