"""The parts of a declaration: bounds of loops, conditions, names, and what makes a reduction."""

from __future__ import annotations

import math
from typing import TypeAlias

import islpy as isl

from polysched.errors import KernelError
from polysched.ir.affine import to_pw_aff
from polysched.ir.expressions import (
    DEEPEST,
    LARGEST,
    Expression,
    Load,
    Operand,
    Operation,
    as_expression,
    operation,
)
from polysched.ir.integers import as_integer
from polysched.ir.kernel import Access, Order, Reduction
from polysched.ir.operators import BITWISE, Operator
from polysched.ir.traversal import depth, loads, node_count

Bound: TypeAlias = Operand | tuple[Operand, Operand] | tuple[Operand, Operand, int]

_REDUCIBLE = frozenset(
    {Operator.ADD, Operator.MULTIPLY, Operator.MINIMUM, Operator.MAXIMUM, Operator.SUBTRACT}
    | BITWISE
)


def loop_bounds(name: str, bound: Bound) -> tuple[Expression, Expression, int]:
    """The first value, the end (excluded) and the step that a bound means, as of Python's `range`.

    Raises:
        KernelError: it is no extent, pair or triple, or the step is no literal other than 0.
    """
    ends = bound if isinstance(bound, tuple) else (0, bound)
    if not 2 <= len(ends) <= 3:
        raise KernelError(
            f"bound of loop '{name}': expected an extent, (lower, upper) or (lower, upper, step)"
        )
    lower, upper = ends[:2]
    step = ends[2] if len(ends) == 3 else 1
    number = as_integer(step)
    if number is None or not 1 <= abs(number) < 2**63:
        raise KernelError(
            f"step of loop '{name}' is {step}; expected an integer literal of 64 bits, not 0"
        )
    for what, end in (("lower", lower), ("upper", upper)):
        if end is None or (isinstance(end, float) and math.isinf(end)):
            raise KernelError(
                f"loop '{name}' does not end: its {what} bound is {end}; expected an integer or an "
                "affine expression of parameters and of indices around it"
            )
    try:
        return as_expression(lower), as_expression(upper), number
    except KernelError as error:
        raise KernelError(f"bound of loop '{name}': {error}") from None


def as_reduction(
    target: Access, value: Expression, order: Order | None
) -> tuple[Expression, Reduction | None]:
    """Recognize ``target = target op e`` (for + * min max & | ^ also ``e op target``).

    Args:
        order: by default any for integers, which give the same bits in any order, since sums and
            products wrap around; exact for floating point.
    """
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
    within = sum(len(loads(subscript)) for subscript in target.subscripts)
    if order is None:
        is_free = value.dtype is not None and value.dtype.is_integer
        order = Order.ANY if is_free else Order.EXACT
    return result, Reduction(operator, order, read=1 + within)


def as_extent(extent: Operand, space: isl.Space) -> Expression:
    """One extent of an array's shape, affine in the parameters of ``space``.

    Raises:
        KernelError: it is not, or it is negative.
    """
    expression = bounded(as_expression(extent))
    function = to_pw_aff(expression, space)
    if function.is_cst() and function.max_val().is_neg():
        raise KernelError(f"an extent is {expression}; expected at least 0")
    return expression


def dimension_names(array: str, given: str | None, count: int) -> tuple[str, ...]:
    """The names of an array's dimensions; without given ones ``d0``, ``d1``, ...

    Raises:
        KernelError: they are no identifiers, or not one for each dimension.
    """
    if given is not None and not isinstance(given, str):
        raise KernelError(
            f"dimensions={given!r} of array '{array}'; expected one text with all the names, such "
            "as 'row column'"
        )
    names = tuple(given.split()) if given else tuple(f"d{i}" for i in range(count))
    if len(names) != count or len(set(names)) != count:
        raise KernelError(
            f"array '{array}' has {count} dimensions; dimensions={given!r} must give each a name "
            "of its own"
        )
    for name in names:
        require_identifier(name, f"array '{array}': dimension")
    return names


LONGEST_NAME = 200
"""Characters: a name beyond this is no name that anyone wrote."""


def require_identifier(name: str, what: str) -> None:
    """Check a name.

    Raises:
        KernelError: it is no identifier, or too long for one.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise KernelError(
            f"{what} name {name!r} is not an identifier: expected letters, digits and '_', no "
            "digit first"
        )
    if len(name) > LONGEST_NAME:
        raise KernelError(
            f"{what} name '{name[:20]}...' has {len(name)} characters; expected at most "
            f"{LONGEST_NAME}"
        )


def require_limit(parameter: str, what: str, limit: int | None) -> None:
    """Check the smallest or the largest value of a parameter.

    Raises:
        KernelError: it is no integer of 64 bits.
    """
    if limit is None:
        return
    number = as_integer(limit)
    if number is None or not -(2**63) <= number < 2**63:
        raise KernelError(
            f"the {what} of parameter '{parameter}' is {limit!r}; expected an integer of 64 bits, "
            "or None for no limit"
        )


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
