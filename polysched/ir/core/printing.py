"""Printer of expressions, arrays and kernels, with minimal parentheses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType

import islpy as isl

from polysched.errors import KernelError
from polysched.ir.core.conditions import context_text
from polysched.ir.core.kernel import Access, Array, Kernel, Statement
from polysched.ir.core.limits import limited
from polysched.ir.expr.expressions import Cast, Constant, Expression, Load, Number, Operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import transform


class Precedence(IntEnum):
    """Operator precedence, as in Python: a higher number binds tighter."""

    WHOLE = 0
    OR = 1
    AND = 2
    NOT = 3
    COMPARISON = 4
    BIT_OR = 5
    BIT_XOR = 6
    BIT_AND = 7
    SHIFT = 8
    SUM = 9
    PRODUCT = 10
    SIGN = 11
    ATOM = 12


INFIX_PRECEDENCE: Mapping[Operator, Precedence] = MappingProxyType(
    {
        Operator.OR: Precedence.OR,
        Operator.AND: Precedence.AND,
        Operator.LESS: Precedence.COMPARISON,
        Operator.LESS_EQUAL: Precedence.COMPARISON,
        Operator.EQUAL: Precedence.COMPARISON,
        Operator.NOT_EQUAL: Precedence.COMPARISON,
        Operator.BIT_OR: Precedence.BIT_OR,
        Operator.BIT_XOR: Precedence.BIT_XOR,
        Operator.BIT_AND: Precedence.BIT_AND,
        Operator.SHIFT_LEFT: Precedence.SHIFT,
        Operator.SHIFT_RIGHT: Precedence.SHIFT,
        Operator.ADD: Precedence.SUM,
        Operator.SUBTRACT: Precedence.SUM,
        Operator.MULTIPLY: Precedence.PRODUCT,
        Operator.DIVIDE: Precedence.PRODUCT,
        Operator.FLOOR_DIVIDE: Precedence.PRODUCT,
        Operator.MODULO: Precedence.PRODUCT,
    }
)

_PREFIX = MappingProxyType(
    {
        Operator.NEGATE: ("-", Precedence.SIGN),
        Operator.NOT: ("not ", Precedence.NOT),
        Operator.BIT_NOT: ("~", Precedence.SIGN),
    }
)


def format_expression(expression: Expression) -> str:
    """Format an expression in Python's syntax, e.g. ``max(0, 2*x[i + 1] - (a - b))``.

    Parsing the text yields the same tree, so floating-point sums keep their order.
    """
    return _format(expression, Precedence.WHOLE)


def _format(expression: Expression, context: Precedence) -> str:
    """Format an expression, in parentheses if its precedence is lower than ``context``."""
    text, precedence = _text(expression)
    return text if precedence >= context else f"({text})"


def _text(expression: Expression) -> tuple[str, Precedence]:
    match expression:
        case Constant(value=value):
            text = format_number(value)
            return text, Precedence.SIGN if text.startswith("-") else Precedence.ATOM
        case Load(array=array, subscripts=subscripts):
            return format_element(array, subscripts), Precedence.ATOM
        case Cast(operand=operand, type=dtype):
            return f"{dtype}({format_expression(operand)})", Precedence.ATOM
        case Operation(operator=operator, operands=(left, right)) if operator in INFIX_PRECEDENCE:
            return infix(operator.value, left, right, INFIX_PRECEDENCE[operator])
        case Operation(operator=operator, operands=(only,)) if operator in _PREFIX:
            sign, precedence = _PREFIX[operator]
            return f"{sign}{_format(only, precedence)}", precedence
        case Operation(operator=operator, operands=operands):
            return f"{operator.value}({_joined(operands)})", Precedence.ATOM
        case _:
            return str(expression), Precedence.ATOM


def infix(
    symbol: str, left: Expression, right: Expression, precedence: Precedence
) -> tuple[str, Precedence]:
    """Format a binary operation; products have no spaces: ``2*i + j``."""
    tighter = Precedence(precedence + 1)
    left_context = tighter if precedence is Precedence.COMPARISON else precedence
    gap = "" if precedence is Precedence.PRODUCT else " "
    text = f"{_format(left, left_context)}{gap}{symbol}{gap}{_format(right, tighter)}"
    return text, precedence


def format_number(value: Number) -> str:
    """Format a literal; integral floats are printed without a fraction."""
    if isinstance(value, bool):
        return str(value)
    text = repr(value)
    return text if text == "-0.0" else text.removesuffix(".0")


def format_element(array: str, subscripts: Sequence[Expression]) -> str:
    """Format an array element, ``a[i, 2*j + 1]``.

    The implicit conversion of an index array's element to 64 bits is not printed.
    """
    shown = [transform(subscript, _without_conversion) for subscript in subscripts]
    return f"{array}[{_joined(shown)}]"


def _without_conversion(node: Expression) -> Expression | None:
    return node.operand if isinstance(node, Cast) and isinstance(node.operand, Load) else None


def format_access(access: Access) -> str:
    """Format an access, ``a[i, 2*j + 1]``."""
    return format_element(access.array, access.subscripts)


def values_text(values: tuple[Expression, Expression]) -> str:
    """Format a declared range of values, ``(0, m)``."""
    return f"({_joined(values)})"


def _joined(expressions: Sequence[Expression]) -> str:
    return ", ".join(map(format_expression, expressions))


def format_array(array: Array) -> str:
    """Format name, type, stored extents and strides: ``a: f32[m, k] strides (lda, 1)``."""
    rows = f" {array.rows.value}" if array.rows is not None and len(array.shape) > 1 else ""
    return f"{array.name}: {array.dtype}[{_joined(array.stored_shape)}]{rows}{strides_text(array)}"


def strides_text(array: Array) -> str:
    """Format declared strides, `` strides (lda, 1)``; empty for a contiguous array."""
    if not array.strides:
        return ""
    comma = "," if len(array.strides) == 1 else ""
    return f" strides ({_joined(array.strides)}{comma})"


def format_declarations(arrays: Sequence[Array]) -> list[str]:
    """Format a line for each array: its role, name, element type, extents and range of values."""
    return [f"{array.role.value} {format_array(array)}{_values(array)}" for array in arrays]


def _values(array: Array) -> str:
    if array.values is None:
        return ""
    lower, upper = map(format_expression, array.values)
    return f" with {lower} <= value < {upper}"


def format_header(parameters: Sequence[str], context: isl.Set) -> list[str]:
    """Format the parameters and the conditions on them; no line if there are no parameters."""
    if not parameters:
        return []
    conditions = context_text(context)
    return [f"parameters {', '.join(parameters)}{f' with {conditions}' if conditions else ''}"]


@limited(KernelError, "the kernel cannot be shown")
def format_kernel(kernel: Kernel) -> str:
    """Format a kernel: parameters, arrays, and the domain and accesses of each statement.

    Raises:
        KernelError: isl gives up on a domain.
    """
    lines = [f"kernel {kernel.name}", *format_header(kernel.parameters, kernel.context)]
    lines += format_declarations(list(kernel.arrays.values()))
    for statement in kernel.statements.values():
        lines += ["", *_statement_lines(statement, kernel.context)]
    return "\n".join(lines) + "\n"


def _statement_lines(statement: Statement, context: isl.Set) -> list[str]:
    value = format_expression(statement.value)
    reads = ", ".join(map(format_access, statement.reads)) or "nothing"
    lines = [
        f"statement {statement.name}: {format_access(statement.target)} = {value}",
        f"  domain {statement.domain.gist_params(context)}",
        f"  writes {format_access(statement.target)}",
        f"  reads {reads}",
    ]
    if statement.reduction is not None:
        reduction = statement.reduction
        lines.append(f"  reduction {reduction.operator.value}, order {reduction.order.value}")
    return lines
