"""Conditional accesses to arrays whose elements exist only where the kernel accesses them.

C functions receive pointers without extents. In ``if (x[i] > 0) y[i] = 0;`` the data decides how
far ``y`` reaches, so code must not touch ``y[i]`` where the condition is false, not even to store
the old value. Such an array is *guarded* (:attr:`polysched.ir.core.kernel.Array.guarded`). The
kernel's statement is a selection, ``y[i] = select(x[i] > 0, 0, y[i])``; code generation takes it
apart into a condition and a value.

In the value of a statement, a side of a ``select`` that reads a guarded array is evaluated only
where it is chosen. ``and`` and ``or`` evaluate both operands, so frontends write selections in
their place.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from polysched.ir.core.data_dependent import with_values
from polysched.ir.core.kernel import Access, Array
from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Constant, Expression, Load, Operation
from polysched.ir.expr.functions import select
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import children, loads

MOST_NODES = 4000
"""Most nodes of a value in machine code that frontends accept."""

_NEVER = Constant(False, boolean)


def guarded_names(arrays: Mapping[str, Array]) -> frozenset[str]:
    """The names of the guarded arrays."""
    return frozenset(name for name, array in arrays.items() if array.guarded)


def reads_guarded(expression: Expression, guarded: Container[str]) -> bool:
    """Whether an expression reads an array of the given names."""
    return any(load.array in guarded for load in loads(expression))


def lowered_size(expression: Expression, guarded: Container[str], guard: int = 0) -> int:
    """Count the nodes of a value in machine code, up to somewhat more than `MOST_NODES`.

    Each load of a guarded array repeats the conditions under which it is evaluated, whose loads
    repeat theirs. So nested conditions take exponentially many nodes.

    Args:
        guarded: the names of the guarded arrays.
        guard: the nodes of the condition under which the expression is evaluated.
    """
    size = 1 + guard if isinstance(expression, Load) and expression.array in guarded else 1
    is_select = isinstance(expression, Operation) and expression.operator is Operator.SELECT
    for position, operand in enumerate(children(expression)):
        inner = lowered_size(operand, guarded, guard)
        size += inner
        if is_select and position == 0 and reads_guarded(expression, guarded):
            guard += inner
        if size > MOST_NODES:
            break
    return size


def guarded_update(
    target: Access, value: Expression, arrays: Mapping[str, Array]
) -> tuple[Expression, Expression] | None:
    """Split an assignment that keeps the old element of a guarded array under a condition.

    Returns:
        The condition under which the element changes, and its value then; None if the array is not
        guarded, or the element always changes.
    """
    if not arrays[target.array].guarded:
        return None
    condition, changed = _split(target, value)
    if changed is None:
        return _NEVER, value
    return None if condition is None else (condition, changed)


def _split(target: Access, value: Expression) -> tuple[Expression | None, Expression | None]:
    """The condition under which the element changes, None for always; the value, None for never."""
    match value:
        case Load() if reads_target(value, target):
            return _NEVER, None
        case Operation(operator=Operator.SELECT, operands=(holds, first, second)):
            condition, changed = _split(target, first)
            other, otherwise = _split(target, second)
            if condition is None and other is None:
                return None, value
            runs = select(holds, *(_always(each) for each in (condition, other)))
            if condition is None and other == _NEVER:
                runs = holds
            if changed is None or otherwise is None:
                return runs, otherwise if changed is None else changed
            return runs, select(holds, changed, otherwise)
    return None, value


def reads_target(load: Load, target: Access) -> bool:
    """Whether a load reads a target; conversions of loads in subscripts to i64 may be left out."""
    own = tuple(map(with_values, target.subscripts))
    return load.array == target.array and tuple(map(with_values, load.subscripts)) == own


def _always(condition: Expression | None) -> Expression:
    return Constant(True, boolean) if condition is None else condition
