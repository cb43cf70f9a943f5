"""Translate the stored value of an assignment, with an optional condition on data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pycparser import c_ast

from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.statements.values import (
    SHIFTS,
    Values,
    c_type_of,
    converted,
    selected,
)
from polysched.frontends.scop.types.c_types import common_type, promoted
from polysched.ir.core.kernel import Order
from polysched.ir.expr.dtypes import DType, NumberKind
from polysched.ir.expr.expressions import Constant, Expression, Load
from polysched.ir.expr.neutral import neutral_element
from polysched.ir.expr.operators import Operator

_WITH_NEUTRAL: Mapping[str, Operator] = MappingProxyType(
    {
        "+": Operator.ADD,
        "-": Operator.SUBTRACT,
        "*": Operator.MULTIPLY,
        "&": Operator.BIT_AND,
        "|": Operator.BIT_OR,
        "^": Operator.BIT_XOR,
    }
)
"""Operators of compound assignments that have a neutral right operand."""


@dataclass(frozen=True)
class Store:
    """Assignment to one element.

    Attributes:
        operator: the operator before the ``=``, or empty.
        label: the C label, which names the kernel statement.
        order: the order policy if the statement is a reduction.
        guard: the condition on data under which the assignment takes effect.
        reached: the condition on data under which C performs it. The element may have any value
            where `guard` holds, or is None, and `reached` does not hold.
    """

    node: c_ast.Node
    target: c_ast.Node
    operator: str
    value: c_ast.Node
    label: str | None
    order: Order | None
    guard: Expression | None = None
    reached: Expression | None = None


def stored(store: Store, values: Values, own: Load) -> Expression:
    """Translate the value of an element after an assignment; `own` is its value before."""
    dtype = own.type
    if store.operator in SHIFTS:
        result = values.shifted(store.node, store.operator, own, store.value)
    else:
        result = values.value(store.value)
        guard = _guard(store, result, values.scope)
        if (
            guard is not None
            and not values.scope.reads_guarded(own)
            and _is_exact(store.operator, dtype, c_type_of(result))
        ):
            # x += c ? e : 0 is still a reduction; x = c ? x + e : x is not.
            common = common_type(dtype, c_type_of(result))
            neutral = _neutral(_WITH_NEUTRAL[store.operator], common)
            result = selected(guard, converted(result, common), neutral)
            result = values.combined(store.node, store.operator, own, result)
            return converted(result, dtype)
        if store.operator:
            result = values.combined(store.node, store.operator, own, result)
    result = converted(result, dtype)
    guard = _guard(store, result, values.scope)
    if guard is None:
        return result
    return selected(guard, result, zero(dtype) if store.guard is None else own)


def _guard(store: Store, result: Expression, scope: Scope) -> Expression | None:
    """Return the condition under which a value is computed; None if it always is."""
    is_free = store.guard is None or not scope.reads_guarded(store.guard)
    return store.guard if is_free and not scope.reads_guarded(result) else store.reached


def zero(dtype: DType) -> Constant:
    """Return the number 0 in a type."""
    if dtype.kind is NumberKind.BOOLEAN:
        return Constant(False, dtype)
    return Constant(0.0 if dtype.is_float else 0, dtype)


def _neutral(operator: Operator, dtype: DType) -> Constant:
    if operator is Operator.SUBTRACT:
        return zero(dtype)
    return neutral_element(operator, dtype)


def _is_exact(operator: str, own: DType, other: DType) -> bool:
    """Whether combining an element with the neutral operand keeps its value exactly."""
    if operator not in _WITH_NEUTRAL or not (own.is_integer or own.is_float):
        return False
    common = common_type(own, other)
    return common.is_float == own.is_float and common.bits >= promoted(own).bits
