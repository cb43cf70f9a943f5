"""Generate the expressions of random statements, and convert them to the array's type.

A statement computes in one type, which may differ from the type of its target: integers are
computed in their own type, in i32 or as floats. Floats that may be reassociated are positive and
never subtracted: then sums, products, minima and maxima of any order and rounding differ only by a
small relative error. (:meth:`Limits.types` ensures that no integer depends on such floats.)
"""

from __future__ import annotations

from collections.abc import Callable

from polysched.fuzz.generate.drafting import Draft, Target, element
from polysched.fuzz.generate.randomness import chance, choose
from polysched.fuzz.generate.sketch import AssignSketch
from polysched.ir.core.kernel import Order
from polysched.ir.expr.dtypes import DType, i32
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.functions import absolute, cast, maximum, minimum, select
from polysched.ir.expr.saturation import saturate
from polysched.ir.semantics.scalar import wrapper


def value(
    draft: Draft,
    arrays: list[Target],
    dtype: DType,
    pick: Callable[[Draft, Target], Load] = element,
) -> Expression:
    """Generate an expression of a type from up to two reads.

    Args:
        pick: chooses the element of an array to read.
    """
    integers = draft.integers
    if not arrays and not draft.scope:
        return number(1, dtype)
    used = choose(integers, _types_to_compute_in(draft, dtype))
    index = converted(draft, choose(integers, draft.scope or [number(1, used)]), used)
    first, second = (
        converted(draft, pick(draft, choose(integers, arrays)), used) if arrays else index
        for _ in range(2)
    )
    return _stored(draft, _computed(draft, first, second, index, used), dtype)


def _computed(
    draft: Draft, first: Expression, second: Expression, index: Expression, dtype: DType
) -> Expression:
    if dtype.is_integer:
        options = [
            number(3, dtype) * first - second + number(draft.integers(0, 5), dtype),
            first + number(1, dtype),
            maximum(first, second) - number(1, dtype),
            number(2, dtype) * first + index,
            index - first * second,
        ]
        if draft.limits.others:
            options += [select(first < second, index, first), minimum(absolute(first), second)]
            options += [(first & second) ^ index, first | number(5, dtype), ~first, first << index]
            options += [first >> number(draft.integers(0, dtype.bits - 1), dtype), first >> second]
    elif draft.limits.exact:
        options = [
            0.5 * first - 0.25 * second,
            first * second + 0.125,
            maximum(first, second) - index,
        ]
        options += [
            minimum(first, -second),
            first / second,
            select(first < second, index, 3.0 * first),
        ]
    else:
        options = [0.5 * first + 0.25 * second + 0.125, 0.5 * first + 0.5, maximum(first, second)]
        options += [minimum(first, 0.125 * index), 0.25 * first + 0.75 * second]
    return choose(draft.integers, options)


def _types_to_compute_in(draft: Draft, dtype: DType) -> list[DType]:
    others = draft.limits.others
    if dtype.is_float or not others:
        return [dtype]
    floats = [other for other in others if other.is_float and draft.limits.exact]
    return [dtype, i32, *floats]


def number(integer: int, dtype: DType) -> Expression:
    """Make a literal of a type; wrap the integer if the type is too narrow."""
    return Constant(wrapper(dtype)(integer) if dtype.is_integer else integer)


def converted(draft: Draft, source: Expression, dtype: DType) -> Expression:
    """Convert a read or an index to a type; make a float positive unless floats are exact."""
    result = cast(source, dtype)
    if draft.limits.exact or not dtype.is_float or isinstance(source, Index):
        return result
    return absolute(result) if source.dtype is not None and source.dtype.is_signed else result


def _stored(draft: Draft, result: Expression, dtype: DType) -> Expression:
    """Convert a computed value to the target's type by wrapping or saturation."""
    if result.dtype in (dtype, None):
        return result
    if dtype.is_integer and chance(draft.integers, 1, 2):
        return saturate(result, dtype)
    return cast(result, dtype)


def reduction(
    draft: Draft, name: str, target: Load, contribution: Expression, order: Order
) -> AssignSketch:
    """Generate ``target = target op contribution`` with a reduction operator.

    The order policy is ``order``; exact float sums always keep the program's order.
    """
    options = [target + contribution] * 3
    options += [maximum(target, contribution), minimum(contribution, target)]
    if target.dtype.is_integer:
        options += [target - contribution, target * contribution]
        options += [target ^ contribution, target | contribution, contribution & target]
    chosen = draft.integers(0, len(options) - 1)
    if draft.limits.exact and target.dtype.is_float and chosen < 3:
        order = Order.EXACT
    return AssignSketch(name, target, options[chosen], order)
