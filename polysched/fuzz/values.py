"""What the statements of random kernels compute, and how it is brought into an array's type.

A statement computes in one type, which need not be that of its target: integers are computed in
their own type, in i32 or as floats. Floats that may be rounded in any order are never subtracted:
of positive numbers every order and rounding of sums, products, minima and maxima gives the same,
but for a relative error that stays small. (:meth:`Limits.types` lets no integer depend on them.)
"""

from __future__ import annotations

from collections.abc import Callable

from polysched.fuzz.drafting import Draft, Target, element
from polysched.fuzz.randomness import chance, choose
from polysched.fuzz.sketch import AssignSketch
from polysched.ir.dtypes import DType, i32
from polysched.ir.expressions import Constant, Expression, Index, Load
from polysched.ir.functions import absolute, cast, maximum, minimum, select
from polysched.ir.kernel import Order
from polysched.ir.saturation import saturate
from polysched.ir.scalar import wrapper


def value(
    draft: Draft,
    arrays: list[Target],
    dtype: DType,
    pick: Callable[[Draft, Target], Load] = element,
) -> Expression:
    """A value of a type from up to two reads.

    Args:
        pick: which element of an array is read.
    """
    integers = draft.integers
    if not arrays and not draft.scope:
        return number(1, dtype)
    used = choose(integers, _types_to_compute_in(draft, dtype))
    index = converted(draft, choose(integers, draft.scope or [number(1, used)]), used)
    one, other = (
        converted(draft, pick(draft, choose(integers, arrays)), used) if arrays else index
        for _ in range(2)
    )
    return _stored(draft, _computed(draft, one, other, index, used), dtype)


def _computed(
    draft: Draft, one: Expression, other: Expression, index: Expression, dtype: DType
) -> Expression:
    if dtype.is_integer:
        options = [
            number(3, dtype) * one - other + number(draft.integers(0, 5), dtype),
            one + number(1, dtype),
            maximum(one, other) - number(1, dtype),
            number(2, dtype) * one + index,
            index - one * other,
        ]
        if draft.limits.others:
            options += [select(one < other, index, one), minimum(absolute(one), other)]
            options += [(one & other) ^ index, one | number(5, dtype), ~one, one << index]
            options += [one >> number(draft.integers(0, dtype.bits - 1), dtype), one >> other]
    elif draft.limits.exact:
        options = [0.5 * one - 0.25 * other, one * other + 0.125, maximum(one, other) - index]
        options += [minimum(one, -other), one / other, select(one < other, index, 3.0 * one)]
    else:
        options = [0.5 * one + 0.25 * other + 0.125, 0.5 * one + 0.5, maximum(one, other)]
        options += [minimum(one, 0.125 * index), 0.25 * one + 0.75 * other]
    return choose(draft.integers, options)


def _types_to_compute_in(draft: Draft, dtype: DType) -> list[DType]:
    others = draft.limits.others
    if dtype.is_float or not others:
        return [dtype]
    floats = [one for one in others if one.is_float and draft.limits.exact]
    return [dtype, i32, *floats]


def number(integer: int, dtype: DType) -> Expression:
    """A literal of a type; of an integer type that is too narrow for it, what it wraps to."""
    return Constant(wrapper(dtype)(integer) if dtype.is_integer else integer)


def converted(draft: Draft, given: Expression, dtype: DType) -> Expression:
    """A read or an index as a value of a type; as a float that has to be positive, it is."""
    result = cast(given, dtype)
    if draft.limits.exact or not dtype.is_float or isinstance(given, Index):
        return result
    return absolute(result) if given.dtype is not None and given.dtype.is_signed else result


def _stored(draft: Draft, result: Expression, dtype: DType) -> Expression:
    """A computed value as one of the target's type: wrapped or saturated."""
    if result.dtype in (dtype, None):
        return result
    if dtype.is_integer and chance(draft.integers, 1, 2):
        return saturate(result, dtype)
    return cast(result, dtype)


def reduction(
    draft: Draft, name: str, target: Load, contribution: Expression, order: Order
) -> AssignSketch:
    """``target = target op contribution`` for an operator that reductions may have.

    Its order is the given one; but sums and products of floats that are to be exact keep theirs.
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
