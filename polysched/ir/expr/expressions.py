"""Expression trees: the values of statements, their subscripts and loop bounds.

One grammar serves values and subscripts::

    expression = Constant | Index | Parameter | Load(array, subscripts)
               | Operation(operator, operands) | Cast(operand, dtype)

Nodes are immutable and compare structurally. Python's arithmetic and comparison operators build
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
from polysched.ir.expr.dtypes import DType, bf16, boolean, f16, f32, f64, i64
from polysched.ir.expr.numpy_functions import (
    EXCHANGED,
    NUMPY_FUNCTIONS,
    NUMPY_INTEGERS,
    NUMPY_OPERATORS,
)
from polysched.ir.expr.operators import (
    BITWISE,
    COMPARISONS,
    FLOAT_ONLY,
    INFIX,
    INTEGER_ONLY,
    LOGICAL,
    SHIFTS,
    Operator,
)
from polysched.ir.expr.source import SourceLocation
from polysched.ir.expr.symbolic_number import SymbolicNumber

Number: TypeAlias = int | float | bool
ExpressionT = TypeVar("ExpressionT", bound="Expression")

DEEPEST = 200
"""Maximum nesting depth of an expression; Python's recursion limit is about five times as large."""
_ROUNDED_TO_INFINITY = MappingProxyType(
    {
        f16: 2**16 - 2**4,
        bf16: 2**128 - 2**119,
        f32: 2**128 - 2**103 - 2**74,
        f64: 2**1024 - 2**970,
    }
)
"""The least number that rounds to infinity, by the floating-point type.

For f32 the number is rounded to f64 first.
"""
LARGEST = 10_000
"""Maximum number of nodes of an expression; a shared node counts once for each use."""


def _refuse_equality_with_numbers(node: type[ExpressionT]) -> type[ExpressionT]:
    """Make ``i == 2`` and ``x[i] != 0`` raise an error, because such nodes never equal a number."""
    same = node.__eq__

    def equal(self: ExpressionT, other: object) -> bool:
        if self is other:
            return True
        result = same(self, other)
        if result is NotImplemented and isinstance(other, int | float | np.generic):
            raise KernelError(
                f"'{self}' is compared with {other} by == or !=, which compare how expressions are "
                "written; write ps.equal(a, b) or ps.not_equal(a, b)"
            )
        return result

    node.__eq__ = equal  # type: ignore[method-assign, assignment]
    return node


_CACHED_HASH = "hash"
"""Key in a node's ``__dict__`` that caches the hash of the node, which has many operands below."""


def _remember_hash(node: type[ExpressionT]) -> type[ExpressionT]:
    """Compute the hash of each node once: tables of terms ask for it again and again."""
    compute = node.__hash__

    def cached(self: ExpressionT) -> int:
        known: int | None = self.__dict__.get(_CACHED_HASH)
        if known is None:
            known = self.__dict__[_CACHED_HASH] = compute(self)
        return known

    node.__hash__ = cached  # type: ignore[method-assign, assignment]
    return node


@dataclass(frozen=True)
class Expression(SymbolicNumber):
    """Base class of all nodes.

    ``dtype`` is None only for an untyped literal, which takes the type of the other operands.
    """

    @property
    def dtype(self) -> DType | None:
        """The element type of the value."""
        raise TypeError(f"{type(self).__name__} has no type")

    def __getstate__(self) -> dict[str, Any]:
        # Hashes of names and operators differ between processes.
        return {key: value for key, value in self.__dict__.items() if key != _CACHED_HASH}

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
        """Round to the nearest integer, ties to even; called by `round` and ``np.round``."""
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
        return operation(
            _logical_or_bitwise(Operator.AND, Operator.BIT_AND, self, other), self, other
        )

    def __rand__(self, other: Operand) -> Expression:
        return operation(
            _logical_or_bitwise(Operator.AND, Operator.BIT_AND, other, self), other, self
        )

    def __or__(self, other: Operand) -> Expression:
        return operation(
            _logical_or_bitwise(Operator.OR, Operator.BIT_OR, self, other), self, other
        )

    def __ror__(self, other: Operand) -> Expression:
        return operation(
            _logical_or_bitwise(Operator.OR, Operator.BIT_OR, other, self), other, self
        )

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
        return operation(_logical_or_bitwise(Operator.NOT, Operator.BIT_NOT, self), self)

    def __array_ufunc__(
        self, function: np.ufunc, method: str, *inputs: Any, **options: Any
    ) -> Expression:
        """Build the operation of a numpy function; operators of numpy scalars call it too."""
        operands = [as_expression(operand) for operand in inputs]
        if method == "__call__" and not options:
            if function is np.positive:
                return operands[0]
            if function is np.square:
                return operation(Operator.MULTIPLY, *operands, *operands)
            if function in EXCHANGED:
                return operation(EXCHANGED[function], *reversed(operands))
            operator = _operator_of_ufunc(function, operands)
            if operator is not None:
                return operation(operator, *operands)
        shown = ", ".join(map(str, operands))
        raise KernelError(
            f"np.{function.__name__} of {shown} is not supported in kernels; supported are "
            "elementwise functions such as np.sqrt, np.exp, np.log, np.maximum, without options"
        )


@dataclass(frozen=True)
class Constant(Expression):
    """A literal; an untyped literal takes the type of the enclosing operation."""

    value: Number
    type: DType | None = None

    @property
    def dtype(self) -> DType | None:
        """The literal's type; None if it is untyped."""
        return self.type

    def __str__(self) -> str:
        return str(self.value)


@_refuse_equality_with_numbers
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


@_refuse_equality_with_numbers
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


@_remember_hash
@_refuse_equality_with_numbers
@dataclass(frozen=True)
class Load(Expression):
    """The value of one array element: a read access.

    ``values`` is the declared range (lower, exclusive upper end) of the elements of an index array.
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


@_remember_hash
@_refuse_equality_with_numbers
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


@_refuse_equality_with_numbers
@dataclass(frozen=True)
class Cast(Expression):
    """A conversion to another type by C's rules, without saturation."""

    operand: Expression
    type: DType

    @property
    def dtype(self) -> DType:
        """The target type."""
        return self.type

    def __str__(self) -> str:
        return f"{self.type}({self.operand})"


Operand: TypeAlias = Expression | Number | np.generic


def _logical_or_bitwise(logical: Operator, bitwise: Operator, *operands: Operand) -> Operator:
    """Resolve ``&``, ``|`` or ``~``: bitwise if an operand is an integer, else logical."""
    is_integer = any(
        isinstance(operand, Expression) and operand.dtype is not None and operand.dtype.is_integer
        for operand in operands
    )
    return bitwise if is_integer else logical


def _operator_of_ufunc(function: np.ufunc, operands: list[Expression]) -> Operator | None:
    """The operator of a numpy function for the operands' types; None if it is unsupported."""
    if any(operand.dtype is not None and operand.dtype.is_integer for operand in operands):
        integer_operator = NUMPY_INTEGERS.get(function)
        if integer_operator is not None:
            return integer_operator
    return NUMPY_OPERATORS.get(function, NUMPY_FUNCTIONS.get(function))


def as_expression(value: Operand) -> Expression:
    """Wrap a number as a literal; return an expression unchanged.

    Raises:
        KernelError: ``value`` is neither a number nor an expression.
    """
    if isinstance(value, Expression):
        return value
    if isinstance(value, (bool, int, float)):
        return Constant(value, boolean if isinstance(value, bool) else None)
    if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
        number = value.item()
        if not isinstance(number, np.generic):  # item() returns long doubles unchanged
            return as_expression(number)
    raise KernelError(
        f"{value!r} of type {type(value).__name__} cannot stand in an expression; expected a "
        "number, an index, a parameter or an array element such as A[i, j]"
    )


def typed(expression: Expression, dtype: DType) -> Expression:
    """Give an untyped literal, or an operation on untyped literals, the type ``dtype``.

    Raises:
        KernelError: a literal is fractional where an integer is expected, or does not fit the type.
    """
    if expression.dtype is not None:
        return expression
    if isinstance(expression, Constant):
        if dtype.is_integer and not expression.value == expression.value // 1:
            raise KernelError(
                f"literal {expression.value} cannot be combined with values of type {dtype}"
            )
        if not _fits(expression.value, dtype):
            advice = "; for infinity write math.inf" if dtype.is_float else ""
            raise KernelError(f"literal {expression.value} does not fit the type {dtype}{advice}")
        value = float(expression.value) if dtype.is_float else int(expression.value)
        return Constant(value, dtype)
    if isinstance(expression, Operation):
        if not (dtype.is_float or dtype.is_integer):
            raise KernelError(f"'{expression}' is a number where a truth value is expected")
        if dtype.is_half:
            return Cast(typed(expression, dtype.arithmetic), dtype)
        operands = tuple(typed(operand, dtype) for operand in expression.operands)
        return replace(expression, operands=operands, type=dtype)
    return expression


def _fits(value: Number, dtype: DType) -> bool:
    """Whether a type can represent a number; a float may be rounded, but not to infinity.

    Floating-point types represent infinity and NaN.
    """
    if dtype.is_float:
        is_finite = isinstance(value, int) or math.isfinite(value)
        return not is_finite or abs(value) < _ROUNDED_TO_INFINITY[dtype]
    if dtype.is_integer:
        lowest = -(1 << (dtype.bits - 1)) if dtype.is_signed else 0
        return lowest <= value < lowest + (1 << dtype.bits)
    return True


def operation(operator: Operator, *operands: Operand) -> Expression:
    """Build an operation after checking that its operands have one type.

    Operands of half types are converted to f32; a selection between two values of one half type
    keeps it.

    Raises:
        KernelError: the operands have different types, or a type that the operator does not accept.
    """
    nodes = tuple(as_expression(operand) for operand in operands)
    if operator is Operator.SELECT:
        condition, *rest = nodes
        if len({node.dtype for node in rest}) > 1:
            rest = [in_arithmetic(node) for node in rest]
        _require(condition.dtype == boolean, operator, "a condition first", nodes)
        dtype, branches = _unified(operator, tuple(rest))
        return Operation(operator, (condition, *branches), dtype)
    dtype, nodes = _unified(operator, tuple(map(in_arithmetic, nodes)))
    if operator in LOGICAL:
        _require(dtype == boolean, operator, _EXPECTED_LOGICAL_OPERANDS[operator], nodes)
        return Operation(operator, nodes, boolean)
    if dtype is not None:
        _require(dtype != boolean, operator, "numbers", nodes)
        if operator in FLOAT_ONLY:
            _require(dtype.is_float, operator, "floating-point operands (for integers: //)", nodes)
        if operator in INTEGER_ONLY:
            _require(dtype.is_integer, operator, _expected_integers(operator), nodes)
    return Operation(operator, nodes, boolean if operator in COMPARISONS else dtype)


def in_arithmetic(value: Expression) -> Expression:
    """Return a value in the type in which operators compute with it."""
    if value.dtype is None or not value.dtype.is_half:
        return value
    return Cast(value, value.dtype.arithmetic)


_EXPECTED_LOGICAL_OPERANDS: Mapping[Operator, str] = MappingProxyType(
    {
        Operator.AND: "conditions, or integers as &",
        Operator.OR: "conditions, or integers as |",
        Operator.NOT: "conditions, or integers as ~",
    }
)
"""The expected operands in messages; & | ~ are logical on conditions and bitwise on integers."""


def _expected_integers(operator: Operator) -> str:
    is_bitwise = operator in BITWISE | SHIFTS or operator is Operator.BIT_NOT
    advice = (
        "convert floating-point ones" if is_bitwise else "for floating point: /, np.floor, np.fmod"
    )
    return f"integer operands ({advice})"


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
