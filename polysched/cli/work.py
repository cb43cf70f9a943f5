"""Count the statement instances and floating-point operations of a kernel."""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.expressions import Expression, Operation
from polysched.ir.expr.operators import (
    LIBRARY_BINARY,
    LIBRARY_UNARY,
    PSEUDO_EXTREMA,
    RECIPROCALS,
    Operator,
)
from polysched.ir.expr.traversal import walk
from polysched.ir.isl.extrema import greatest, least
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.ir.semantics.points import at_parameters, points

ENUMERATION_LIMIT = 10_000_000
"""Limit on the bounding box, in points, of domains that are not boxes and so are enumerated."""

COUNTING_QUOTA = 1_000_000
"""Limit on isl's operations for counting the instances of one statement."""

# Floating-point operations per operator; comparisons, selects, conversions and negations are free.
FLOPS = {
    Operator.ADD: 1,
    Operator.SUBTRACT: 1,
    Operator.MULTIPLY: 1,
    Operator.DIVIDE: 1,
    Operator.MINIMUM: 1,
    Operator.MAXIMUM: 1,
    Operator.SQUARE_ROOT: 1,
    Operator.EXPONENTIAL: 1,
    Operator.FMA: 2,
    Operator.NUMBER_MINIMUM: 1,
    Operator.NUMBER_MAXIMUM: 1,
    **dict.fromkeys(PSEUDO_EXTREMA | RECIPROCALS | LIBRARY_UNARY | LIBRARY_BINARY, 1),
}


def instance_counts(kernel: Kernel, parameters: Mapping[str, int]) -> dict[str, int] | None:
    """The number of instances of each statement; None if counting takes too long."""
    counts = {
        name: _cardinality(statement.domain, parameters)
        for name, statement in kernel.statements.items()
    }
    known = {name: count for name, count in counts.items() if count is not None}
    return known if len(known) == len(counts) else None


def floating_point_operations(kernel: Kernel, counts: Mapping[str, int]) -> int:
    """Floating-point operations of the kernel as declared, for counts of `instance_counts`."""
    return sum(
        count * _flops(kernel.statements[statement].value) for statement, count in counts.items()
    )


def _flops(expression: Expression) -> int:
    return sum(
        FLOPS.get(node.operator, 0)
        for node in walk(expression)
        if isinstance(node, Operation) and node.dtype is not None and node.dtype.is_float
    )


def _cardinality(domain: isl.Set, parameters: Mapping[str, int]) -> int | None:
    """The number of points of a set; None if counting takes too long."""
    try:
        with operation_quota(COUNTING_QUOTA):
            fixed = at_parameters(domain, parameters).coalesce()
            if fixed.is_empty():
                return 0
            positions = range(fixed.dim(isl.dim_type.set))
            bounds = [(least(fixed, at), greatest(fixed, at)) for at in positions]
            size = 1
            for smallest, largest in bounds:
                if smallest is None or largest is None:
                    return None
                size *= largest - smallest + 1
            if fixed.is_box():
                return size
            return len(points(fixed, {})) if size <= ENUMERATION_LIMIT else None
    except (QuotaExceededError, isl.Error):
        return None
