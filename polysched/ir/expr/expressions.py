"""Expression trees: the values of statements, their subscripts and loop bounds.

One grammar serves values and subscripts::

    expression = Constant | Index | Parameter | Load(array, subscripts)
               | Operation(operator, operands) | Cast(operand, dtype)

Nodes are immutable and compare structurally. Python's arithmetic and comparison operators build
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import DType, boolean, i64
from polysched.ir.expr.node_equality import CACHED_HASH, refuse_equality_with_numbers, remember_hash
from polysched.ir.expr.numpy_functions import (
    EXCHANGED,
    NUMPY_FUNCTIONS,
    NUMPY_INTEGERS,
    NUMPY_OPERATORS,
)
from polysched.ir.expr.operand_types import expected_operands
from polysched.ir.expr.operators import COMPARISONS, INFIX, LOGICAL, Operator
from polysched.ir.expr.source import SourceLocation
from polysched.ir.expr.symbolic_number import SymbolicNumber

Number: TypeAlias = int | float | bool

DEEPEST = 200
"""Maximum nesting depth of an expression; Python's recursion limit is about five times as large."""
LARGEST = 10_000
"""Maximum number of nodes of an expression; a shared node counts once for each use."""


_Infix: TypeAlias = Callable[["Expression", "Operand"], "Expression"]


def _infix(operator: Operator, for_integers: Operator | None = None) -> tuple[_Infix, _Infix]:
    """The methods of an infix operator of Python, and of the same with exchanged operands.

    Args:
        for_integers: the operator if one of the operands is an integer.
    """

    def build(left: Operand, right: Operand) -> Expression:
        if for_integers is not None and (_is_integer(left) or _is_integer(right)):
            return operation(for_integers, left, right)
        return operation(operator, left, right)

    return build, lambda right, left: build(left, right)


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
        return {key: value for key, value in self.__dict__.items() if key != CACHED_HASH}

    __add__, __radd__ = _infix(Operator.ADD)
    __sub__, __rsub__ = _infix(Operator.SUBTRACT)
    __mul__, __rmul__ = _infix(Operator.MULTIPLY)
    __truediv__, __rtruediv__ = _infix(Operator.DIVIDE)
    __floordiv__, __rfloordiv__ = _infix(Operator.FLOOR_DIVIDE)
    __mod__, __rmod__ = _infix(Operator.MODULO)
    __lt__, __gt__ = _infix(Operator.LESS)
    __le__, __ge__ = _infix(Operator.LESS_EQUAL)
    __and__, __rand__ = _infix(Operator.AND, Operator.BIT_AND)
    __or__, __ror__ = _infix(Operator.OR, Operator.BIT_OR)
    __xor__, __rxor__ = _infix(Operator.BIT_XOR)
    __lshift__, __rlshift__ = _infix(Operator.SHIFT_LEFT)
    __rshift__, __rrshift__ = _infix(Operator.SHIFT_RIGHT)

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
        return self if _is_integer(self) else operation(Operator.ROUND_TO_EVEN, self)

    __round__ = round

    def __abs__(self) -> Expression:
        return operation(Operator.ABSOLUTE, self)

    def __invert__(self) -> Expression:
        return operation(Operator.BIT_NOT if _is_integer(self) else Operator.NOT, self)

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


@refuse_equality_with_numbers
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


@refuse_equality_with_numbers
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


@remember_hash
@refuse_equality_with_numbers
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


@remember_hash
@refuse_equality_with_numbers
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


@refuse_equality_with_numbers
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


def _is_integer(operand: Operand) -> bool:
    return (
        isinstance(operand, Expression) and operand.dtype is not None and operand.dtype.is_integer
    )


def _operator_of_ufunc(function: np.ufunc, operands: list[Expression]) -> Operator | None:
    """The operator of a numpy function for the operands' types; None if it is unsupported."""
    if any(map(_is_integer, operands)):
        integer_operator = NUMPY_INTEGERS.get(function)
        if integer_operator is not None:
            return integer_operator
    return NUMPY_OPERATORS.get(function, NUMPY_FUNCTIONS.get(function))


def as_expression(value: Operand) -> Expression:
    """Wrap a number as a literal; return an expression unchanged."""
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
    """Give an untyped literal, or an operation on untyped literals, the type ``dtype``."""
    if expression.dtype is not None:
        return expression
    if isinstance(expression, Constant):
        if dtype.is_integer and not expression.value == expression.value // 1:
            raise KernelError(
                f"literal {expression.value} cannot be combined with values of type {dtype}"
            )
        if not dtype.holds(expression.value):
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


def operation(operator: Operator, *operands: Operand) -> Expression:
    """Build an operation after checking that its operands have one type.

    Operands of half types are converted to f32; a selection between two values of one half type
    keeps it.
    """
    nodes = tuple(as_expression(operand) for operand in operands)
    if operator is Operator.SELECT:
        condition, *branches = nodes
        if len({branch.dtype for branch in branches}) > 1:
            branches = [in_arithmetic(branch) for branch in branches]
        if condition.dtype != boolean:
            raise _unexpected(operator, "a condition first", nodes)
        dtype, typed_branches = _unified(operator, tuple(branches))
        return Operation(operator, (condition, *typed_branches), dtype)
    dtype, nodes = _unified(operator, tuple(map(in_arithmetic, nodes)))
    expected = expected_operands(operator, dtype)
    if expected is not None:
        raise _unexpected(operator, expected, nodes)
    is_condition = operator in COMPARISONS or operator in LOGICAL
    return Operation(operator, nodes, boolean if is_condition else dtype)


def in_arithmetic(value: Expression) -> Expression:
    """Return a value in the type in which operators compute with it."""
    if value.dtype is None or not value.dtype.is_half:
        return value
    return Cast(value, value.dtype.arithmetic)


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


def _unexpected(operator: Operator, expected: str, operands: tuple[Expression, ...]) -> KernelError:
    shown = ", ".join(f"{operand} ({operand.dtype or 'literal'})" for operand in operands)
    return KernelError(f"'{operator.value}' takes {expected}; got {shown}")
