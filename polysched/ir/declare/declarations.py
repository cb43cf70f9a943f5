"""Validation of declarations: loop bounds, conditions, names, extents and reductions."""

from __future__ import annotations

import math
from typing import TypeAlias

import islpy as isl

from polysched.errors import KernelError
from polysched.integers import as_integer
from polysched.ir.core.kernel import Access, Order, Reduction
from polysched.ir.expr.affine import to_pw_aff
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import (
    DEEPEST,
    LARGEST,
    Cast,
    Constant,
    Expression,
    Load,
    Operand,
    Operation,
    as_expression,
    in_arithmetic,
    operation,
)
from polysched.ir.expr.operators import BITWISE, PSEUDO_EXTREMA, Operator
from polysched.ir.expr.traversal import depth, loads, node_count

Bound: TypeAlias = Operand | tuple[Operand, Operand] | tuple[Operand, Operand, int]

_REDUCIBLE = frozenset(
    {Operator.ADD, Operator.MULTIPLY, Operator.MINIMUM, Operator.MAXIMUM, Operator.SUBTRACT}
    | BITWISE
    | PSEUDO_EXTREMA
)

_MODULAR = frozenset({Operator.ADD, Operator.MULTIPLY, Operator.SUBTRACT} | BITWISE)
"""Operators whose low bits depend on the low bits of the operands only."""

_EXTREMA = frozenset({Operator.MINIMUM, Operator.MAXIMUM})


def loop_bounds(name: str, bound: Bound) -> tuple[Expression, Expression, int]:
    """Convert a loop bound to (start, exclusive end, step), as of Python's `range`."""
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
    for side, end in (("lower", lower), ("upper", upper)):
        if end is None or (isinstance(end, float) and math.isinf(end)):
            raise KernelError(
                f"loop '{name}' does not end: its {side} bound is {end}; expected an integer or an "
                "affine expression of parameters and of indices around it"
            )
    try:
        return as_expression(lower), as_expression(upper), number
    except KernelError as error:
        raise KernelError(f"bound of loop '{name}': {error}") from None


def as_reduction(
    target: Access, value: Expression, order: Order | None
) -> tuple[Expression, Reduction | None]:
    """Recognize a reduction: ``target = target op e`` (for + * min max & | ^ also ``e op target``).

    In an array of a half type, ``target`` is converted to f32 and the result is rounded.
    ``pmin`` and ``pmax`` of ``e`` and ``target`` are reductions if their order is free.

    Args:
        order: the order policy. The default is ``any`` for integers, because wrapping arithmetic
            gives the same bits in any order, and ``exact`` for floating point.

    Returns:
        the value in the form ``target op e``, and the reduction; the value unchanged and None if
        the statement is not a reduction.
    """
    if isinstance(value, Cast) and value.type.is_half:
        inner, reduction = _as_reduction(target, value.operand, order, value.type)
        return (Cast(inner, value.type), reduction) if reduction else (value, None)
    value = _narrow_update(target, value)
    return _as_reduction(target, value, order, value.dtype)


def _as_reduction(
    target: Access, value: Expression, order: Order | None, stored: DType | None
) -> tuple[Expression, Reduction | None]:
    if not isinstance(value, Operation) or value.operator not in _REDUCIBLE or stored is None:
        return value, None
    own = in_arithmetic(Load(target.array, target.subscripts, stored))
    left, right = value.operands
    result: Expression = value
    if left != own:
        if right != own or value.operator is Operator.SUBTRACT:
            return value, None
        if value.operator in PSEUDO_EXTREMA and order is not Order.ANY:
            return value, None  # which operand is NaN, or the zero that remains, depends on sides
        result = operation(value.operator, right, left)
        right = left
    if any(load.array == target.array for load in loads(right)):
        return value, None
    operator = Operator.ADD if value.operator is Operator.SUBTRACT else value.operator
    index_loads = sum(len(loads(subscript)) for subscript in target.subscripts)
    if order is None:
        is_free = value.dtype is not None and value.dtype.is_integer
        order = Order.ANY if is_free else Order.EXACT
    return result, Reduction(operator, order, read=1 + index_loads)


def _narrow_update(target: Access, value: Expression) -> Expression:
    """Compute an update of a narrow integer in its own type.

    ``v ^= x`` of bytes is ``(uint8_t)((int)v ^ (int)x)`` in C. The low bits of the result depend on
    the low bits of the operands only, so it equals ``v ^ x`` in 8 bits. An extremum of values of
    the type is a value of the type.
    """
    if not isinstance(value, Cast) or not value.type.is_integer:
        return value
    inner, dtype = value.operand, value.type
    if not isinstance(inner, Operation):
        return value
    is_extremum = inner.operator in _EXTREMA and all(
        _fits(operand, dtype) for operand in inner.operands
    )
    if inner.operator not in _MODULAR and not is_extremum:
        return value
    is_wider = inner.type is not None and inner.type.is_integer and inner.type.bits >= dtype.bits
    own = Load(target.array, target.subscripts, dtype)
    before = [isinstance(operand, Cast) and operand.operand == own for operand in inner.operands]
    if not is_wider or not any(before):
        return value
    operands = [
        operand.operand
        if isinstance(operand, Cast) and operand.operand.dtype == dtype
        else Cast(operand, dtype)
        for operand in inner.operands
    ]
    return operation(inner.operator, *operands)


def _fits(value: Expression, dtype: DType) -> bool:
    """Whether a value that is converted from another type, or a literal, is a value of a type."""
    if isinstance(value, Constant):
        return isinstance(value.value, int) and dtype.lowest <= value.value <= dtype.highest
    narrow = value.operand.dtype if isinstance(value, Cast) else None
    if narrow is None or not narrow.is_integer:
        return False
    assert isinstance(value, Cast)  # its type has to keep the value: -1 as u32 is another number
    return all(
        type_.lowest <= narrow.lowest and narrow.highest <= type_.highest
        for type_ in (dtype, value.type)
    )


def as_extent(extent: Operand, space: isl.Space) -> Expression:
    """Convert one extent of an array's shape."""
    expression = bounded(as_expression(extent))
    function = to_pw_aff(expression, space)
    if function.is_cst() and function.max_val().is_neg():
        raise KernelError(f"an extent is {expression}; expected at least 0")
    return expression


def dimension_names(array: str, dimensions: str | None, count: int) -> tuple[str, ...]:
    """Split the names of an array's dimensions; the defaults are ``d0``, ``d1``, ..."""
    if dimensions is not None and not isinstance(dimensions, str):
        raise KernelError(
            f"dimensions={dimensions!r} of array '{array}'; expected one text with all the names, "
            "such as 'row column'"
        )
    names = tuple(dimensions.split()) if dimensions else tuple(f"d{i}" for i in range(count))
    if len(names) != count or len(set(names)) != count:
        raise KernelError(
            f"array '{array}' has {count} dimensions; dimensions={dimensions!r} must give each a "
            "name of its own"
        )
    for name in names:
        require_identifier(name, f"array '{array}': dimension")
    return names


LONGEST_NAME = 200
"""Maximum number of characters of a name."""


def require_identifier(name: str, kind: str) -> None:
    """Check that a name is an identifier.

    Args:
        kind: the kind of the named object, for the message: ``array``.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise KernelError(
            f"{kind} name {name!r} is not an identifier: expected letters, digits and '_', no "
            "digit first"
        )
    if len(name) > LONGEST_NAME:
        raise KernelError(
            f"{kind} name '{name[:20]}...' has {len(name)} characters; expected at most "
            f"{LONGEST_NAME}"
        )


def require_limit(parameter: str, side: str, limit: int | None) -> None:
    """Check the minimum or the maximum of a parameter.

    Args:
        side: ``minimum`` or ``maximum``, for the message.
    """
    if limit is None:
        return
    number = as_integer(limit)
    if number is None or not -(2**63) <= number < 2**63:
        raise KernelError(
            f"the {side} of parameter '{parameter}' is {limit!r}; expected an integer of 64 bits, "
            "or None for no limit"
        )


def as_condition(function: str, condition: Expression) -> Expression:
    """Check the condition passed to ``where`` or ``assume``.

    Args:
        function: the name of the called function, for the message.
    """
    if isinstance(condition, Expression):
        return bounded(condition)
    raise KernelError(
        f"{function}({condition!r}): expected a condition such as i < n; '==' between expressions "
        "compares how they are written: use ps.equal(a, b)"
    )


def bounded(expression: Expression) -> Expression:
    """Check that an expression is within the limits on depth and size; return it."""
    levels = depth(expression)
    if levels > DEEPEST:
        raise KernelError(
            f"an expression is nested {levels} operations deep; expected at most {DEEPEST}: "
            "split it over statements, or write a repeated operation as a loop"
        )
    nodes = node_count(expression)
    if nodes > LARGEST:
        raise KernelError(
            f"an expression has {nodes} nodes; expected at most {LARGEST}: a shared subexpression "
            "is computed at each use, so store it in a temporary array"
        )
    return expression
