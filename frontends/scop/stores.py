"""What an assignment stores: everywhere, or where conditions on data hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pycparser import c_ast

from polysched.frontends.scop.types import common_type, promoted
from polysched.frontends.scop.values import SHIFTS, Values, c_type_of, converted, selected
from polysched.ir.dtypes import DType
from polysched.ir.expressions import Constant, Expression, Load
from polysched.ir.kernel import Order
from polysched.ir.neutral import neutral_element
from polysched.ir.operators import Operator

_KEEPING: Mapping[str, Operator] = MappingProxyType(
    {
        "+": Operator.ADD,
        "-": Operator.SUBTRACT,
        "*": Operator.MULTIPLY,
        "&": Operator.BIT_AND,
        "|": Operator.BIT_OR,
        "^": Operator.BIT_XOR,
    }
)
"""By the operator before the ``=``, those that some number changes no number by."""


@dataclass(frozen=True)
class Store:
    """An assignment: its target, the operator before the ``=``, if any, and its right side.

    ``guard``: where it does not hold, the element stays as it is.
    """

    node: c_ast.Node
    target: c_ast.Node
    operator: str
    value: c_ast.Node
    label: str | None
    order: Order | None
    guard: Expression | None = None


def stored(store: Store, values: Values, own: Load) -> Expression:
    """The value that an element has after an assignment.

    Raises:
        FrontendError: it is none that a kernel can compute.
    """
    dtype = own.type
    if store.operator in SHIFTS:
        result = values.shifted(store.node, store.operator, own, store.value)
    else:
        result = values.value(store.value)
        if store.guard is not None and _is_exact(store.operator, dtype, c_type_of(result)):
            # So it is still a reduction.
            common = common_type(dtype, c_type_of(result))
            nothing = _without_effect(_KEEPING[store.operator], common)
            result = selected(store.guard, converted(result, common), nothing)
            result = values.combined(store.node, store.operator, own, result)
            return converted(result, dtype)
        if store.operator:
            result = values.combined(store.node, store.operator, own, result)
    result = converted(result, dtype)
    return result if store.guard is None else selected(store.guard, result, own)


def _without_effect(operator: Operator, dtype: DType) -> Constant:
    if operator is Operator.SUBTRACT:
        return Constant(0.0 if dtype.is_float else 0, dtype)
    return neutral_element(operator, dtype)


def _is_exact(operator: str, own: DType, other: DType) -> bool:
    """Whether an element is itself after an assignment of the number without effect."""
    if operator not in _KEEPING or not (own.is_integer or own.is_float):
        return False
    common = common_type(own, other)
    return common.is_float == own.is_float and common.bits >= promoted(own).bits
