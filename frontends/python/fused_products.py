"""Products that a kernel may fuse with sums although each operation is rounded.

The order of ``left @ right``, ``np.sum`` and the like is free, so the last bits of their results
are not numpy's anyway: numpy leaves products of matrices to a BLAS, which fuses. FMAs halve the
arithmetic of such sums. The option holds for a whole kernel, also for its calls of mathematical
functions, so it is taken only where nothing else changes.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.ir.core.kernel import Kernel, Order, Statement
from polysched.ir.expr.expressions import Expression, Operation
from polysched.ir.expr.operators import COMPARISONS, Operator
from polysched.ir.expr.traversal import walk

_UNCHANGED = COMPARISONS | {
    Operator.ADD,
    Operator.SUBTRACT,
    Operator.NEGATE,
    Operator.ABSOLUTE,
    Operator.DIVIDE,
    Operator.MINIMUM,
    Operator.MAXIMUM,
    Operator.SELECT,
}
"""Operations on floats whose results do not depend on the option where no product is near."""


def only_fuses_free_sums(kernel: Kernel) -> bool:
    """Whether FP contraction changes the sums of products whose order is free, and nothing else."""
    statements = kernel.statements.values()
    return any(map(_is_free_product, statements)) and all(
        operation.operator in _UNCHANGED
        for statement in statements
        for operation in _other_operations(statement)
    )


def _is_free_product(statement: Statement) -> bool:
    """Whether a statement adds a product to a sum of floats whose order is free."""
    reduction, value = statement.reduction, statement.value
    return (
        reduction is not None
        and reduction.order is Order.ANY
        and isinstance(value, Operation)
        and value.operator is Operator.ADD
        and _is_float(value)
        and any(
            isinstance(operand, Operation) and operand.operator is Operator.MULTIPLY
            for operand in value.operands
        )
    )


def _other_operations(statement: Statement) -> Iterator[Operation]:
    """Yield the operations on floats of a statement, without a free sum and its product."""
    value = statement.value
    fused: tuple[Expression, ...] = ()
    if isinstance(value, Operation) and _is_free_product(statement):
        fused = (value, *value.operands)
    for part in walk(value):
        if not isinstance(part, Operation) or any(part is known for known in fused):
            continue
        if any(map(_is_float, part.operands)):
            yield part


def _is_float(expression: Expression) -> bool:
    return expression.dtype is not None and expression.dtype.is_float
