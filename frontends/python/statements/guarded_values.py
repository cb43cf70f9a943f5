"""The value that an element has after an assignment in a branch over data."""

from __future__ import annotations

from polysched.frontends.python.values.value import Value, chosen
from polysched.ir.core.kernel import Access
from polysched.ir.declare.declarations import as_reduction
from polysched.ir.expr.expressions import Constant, Expression, Load, Operation, operation
from polysched.ir.expr.functions import select
from polysched.ir.expr.neutral import neutral_element
from polysched.ir.expr.operators import Operator


def guarded(condition: Value, value: Expression, own: Load) -> Expression:
    """The value of an element after ``if condition: element = value``.

    An update ``own op e`` becomes ``own op (e if condition else neutral)``, which is a reduction.
    ``own op e if condition else own`` is not a reduction. The neutral element keeps all bits.

    Args:
        condition: the condition, over data.
        value: the value that the branch assigns.
        own: the element before the assignment.
    """
    update, reduction = as_reduction(Access(own.array, own.subscripts), value, None)
    if reduction is not None and isinstance(update, Operation) and update.dtype == own.type:
        before, change = update.operands
        neutral = neutral_element(reduction.operator, own.type)
        if update.operator is Operator.SUBTRACT and own.type.is_float:
            neutral = Constant(0.0, own.type)
        if before == own and change.dtype == own.type:
            kept = select(condition.expression, change, neutral)
            return operation(update.operator, before, kept)
    return chosen(condition, Value(value), Value(own)).expression
