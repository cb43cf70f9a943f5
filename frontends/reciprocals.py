"""Divisions as products with reciprocals, and powers as products, which cost less.

A divisor that an inner loop does not change is divided once. For other divisors of single precision
some processors have estimates, which one step of Newton's iteration makes as good::

    for i: r = norm(i)                     for i: r = norm(i)
           for j: y[i, j] = x[i, j] / r  ->       for j: y[i, j] = x[i, j] * (1 / r)

    for i: y[i] = 1 / sqrt(x[i])          ->  for i: y[i] = rsqrt(x[i])

    for i: y[i] = pow(x[i], 2.5)          ->  for i: y[i] = x[i] * x[i] * sqrt(x[i])
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from types import MappingProxyType

from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.core.tree import path
from polysched.ir.expr.dtypes import DType, f32
from polysched.ir.expr.expressions import Constant, Expression, Index, Load, Operation, operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads, transform, walk

LARGEST_POWER = 16
"""Literal exponents up to this magnitude are products."""


def with_reciprocals(kernel: Kernel) -> Kernel:
    """Return the kernel with ``x / d`` as a product of ``x`` and the reciprocal of ``d``.

    If ``d`` is the same along a row, the factor is ``1 / d``; a row is the innermost loop of the
    statement as declared. The code computes it once for each row. If ``d`` varies and is an f32,
    the factor is ``reciprocal(d)``, or ``rsqrt(s)`` for ``d = sqrt(s)``. The product is rounded
    twice, so this is for callers that allow the like of ``-freciprocal-math``.
    """
    statements = {name: _with_reciprocals(kernel, each) for name, each in kernel.statements.items()}
    return replace(kernel, statements=MappingProxyType(statements))


def _with_reciprocals(kernel: Kernel, statement: Statement) -> Statement:
    around = path(kernel.body, statement.name)
    if not around or not statement.indices:
        return statement
    written = frozenset(kernel.statements[name].target.array for name in around[-1].statements)
    rule = partial(_product, last=statement.indices[-1], written=written)
    value = transform(statement.value, rule)
    return statement if value is statement.value else replace(statement, value=value)


def _product(value: Expression, last: str, written: frozenset[str]) -> Expression | None:
    match value:
        case Operation(
            operator=Operator.POWER, operands=(base, Constant(value=exponent)), dtype=dtype
        ) if dtype is not None and dtype.is_float:
            return _power(base, float(exponent), dtype)
        case Operation(operator=Operator.DIVIDE, operands=(dividend, divisor), dtype=dtype) if (
            dtype is not None and dtype.is_float
        ):
            if _is_kept(divisor, last, written):
                if not _is_kept(dividend, last, written):
                    factor = operation(Operator.DIVIDE, 1.0, divisor)
                    return operation(Operator.MULTIPLY, dividend, factor)
            elif dtype == f32 and loads(divisor):
                factor = _reciprocal(divisor)
                is_one = isinstance(dividend, Constant) and dividend.value == 1
                return factor if is_one else operation(Operator.MULTIPLY, dividend, factor)
    return None


def _power(base: Expression, exponent: float, dtype: DType) -> Expression | None:
    """A literal power as products, of a square root if needed; None for other powers."""
    if not (2 * exponent).is_integer() or not 0 < abs(exponent) <= LARGEST_POWER:
        return None
    factors = [] if exponent.is_integer() else [operation(Operator.SQUARE_ROOT, base)]
    whole, square = int(abs(exponent)), base
    while whole:
        factors += [square] * (whole & 1)
        whole >>= 1
        square = operation(Operator.MULTIPLY, square, square) if whole else square
    result = reduce(partial(operation, Operator.MULTIPLY), factors)
    if exponent > 0:
        return result
    if dtype == f32:
        return _reciprocal(result)
    return operation(Operator.DIVIDE, Constant(1.0, dtype), result)


def _reciprocal(divisor: Expression) -> Expression:
    match divisor:
        case Operation(operator=Operator.SQUARE_ROOT, operands=(square,)):
            return operation(Operator.RECIPROCAL_SQUARE_ROOT, square)
        case _:
            return operation(Operator.RECIPROCAL, divisor)


def _is_kept(value: Expression, last: str, written: frozenset[str]) -> bool:
    """Whether a value is the same in all iterations of the innermost loop."""
    return not any(
        (isinstance(node, Index) and node.name == last)
        or (isinstance(node, Load) and node.array in written)
        for node in walk(value)
    )
