"""The parts of a declaration: bounds of loops, conditions, names, and what makes a reduction."""

from __future__ import annotations

from typing import TypeAlias

from polysched.errors import KernelError
from polysched.ir.expressions import (
    DEEPEST,
    LARGEST,
    Expression,
    Load,
    Operand,
    Operation,
    Operator,
    as_expression,
    operation,
)
from polysched.ir.kernel import Access, Order, Reduction
from polysched.ir.traversal import depth, loads, node_count

Bound: TypeAlias = Operand | tuple[Operand, Operand] | tuple[Operand, Operand, int]

_REDUCIBLE = frozenset(
    {Operator.ADD, Operator.MULTIPLY, Operator.MINIMUM, Operator.MAXIMUM, Operator.SUBTRACT}
)


def loop_bounds(name: str, bound: Bound) -> tuple[Expression, Expression, int]:
    """The lower end, the upper end (excluded) and the step that a bound means.

    Raises:
        KernelError: it is no extent, pair or triple, or the step is no positive literal.
    """
    ends = bound if isinstance(bound, tuple) else (0, bound)
    if not 2 <= len(ends) <= 3:
        raise KernelError(
            f"bound of loop '{name}': expected an extent, (lower, upper) or (lower, upper, step)"
        )
    lower, upper = ends[:2]
    step = ends[2] if len(ends) == 3 else 1
    if not isinstance(step, int) or not 1 <= step < 2**63:
        raise KernelError(
            f"step of loop '{name}' is {step}; expected a positive integer literal of 64 bits"
        )
    return as_expression(lower), as_expression(upper), step


def as_reduction(
    target: Access, value: Expression, order: Order
) -> tuple[Expression, Reduction | None]:
    """Recognise ``target = target op e`` (for + * min max also ``e op target``)."""
    if not isinstance(value, Operation) or value.operator not in _REDUCIBLE:
        return value, None
    own = Load(target.array, target.subscripts, value.dtype) if value.dtype else None
    left, right = value.operands
    result: Expression = value
    if left != own:
        if right != own or value.operator is Operator.SUBTRACT:
            return value, None
        result = operation(value.operator, right, left)
        right = left
    if any(load.array == target.array for load in loads(right)):
        return value, None
    operator = Operator.ADD if value.operator is Operator.SUBTRACT else value.operator
    return result, Reduction(operator, order, read=1)


def require_identifier(name: str, what: str) -> None:
    """Check a name.

    Raises:
        KernelError: it is no identifier.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise KernelError(f"{what} name {name!r} is not an identifier")


def as_condition(where: str, condition: Expression) -> Expression:
    """The condition given to ``where`` or ``assume``.

    Raises:
        KernelError: it is no expression, such as the outcome of ``==`` between two.
    """
    if isinstance(condition, Expression):
        return bounded(condition)
    raise KernelError(
        f"{where}({condition!r}): expected a condition such as i < n; '==' between expressions "
        "compares how they are written: use equal(a, b)"
    )


def bounded(expression: Expression) -> Expression:
    """The expression, which must not be too deep or too large for the functions over it.

    Raises:
        KernelError: it is.
    """
    found = depth(expression)
    if found > DEEPEST:
        raise KernelError(
            f"an expression is nested {found} operations deep; expected at most {DEEPEST}: "
            "split it over statements, or write a repeated operation as a loop"
        )
    nodes = node_count(expression)
    if nodes > LARGEST:
        raise KernelError(
            f"an expression has {nodes} nodes; expected at most {LARGEST}: what it uses twice is "
            "computed twice, so store it in a temporary array"
        )
    return expression
