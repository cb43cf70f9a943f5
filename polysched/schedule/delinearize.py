"""Loops that count several indices at once, as ``collapse`` makes them, and what they count.

``12*batch + 3*p(n) + q(m)``, with ``p`` from 0 to 3 and ``q`` from 0 to 2, is a number of three
digits: each is a function of one index, and follows from the number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

import islpy as isl

from polysched.ir.extrema import greatest, least
from polysched.ir.kernel import Statement
from polysched.ir.tree import Loop


@dataclass(frozen=True, eq=False)
class Digit:
    """A digit of a loop's value.

    Attributes:
        value: of the instances.
        number: the same as a function of the loop's value.
    """

    value: isl.PwAff
    number: isl.Aff


def digits(function: isl.PwAff, domain: isl.Set, number: isl.Aff) -> list[Digit] | None:
    """The digits of a function, the highest first, each of one index; None if they are not seen.

    Args:
        function: of the instances in ``domain``.
        number: the function itself, over whatever space its digits are wanted.
    """
    places = _places([(function, domain)])
    if places is None:
        return None
    found = []
    for place in places:
        offset = number.add_constant_val(isl.Val(-place.lowest_rest))
        digit = offset.scale_down_val(isl.Val(place.weight)).floor()
        found.append(Digit(place.values[0], digit))
        number = number.sub(digit.scale_val(isl.Val(place.weight)))
    return found


def tile_columns(
    statements: Sequence[Statement], around: Sequence[Loop]
) -> dict[str, tuple[isl.PwAff, ...]]:
    """For each statement, functions of its instances that together say in which tile one is.

    Two instances are in one iteration of the loops ``around`` if and only if the functions of their
    statements have the same values.
    """
    columns: dict[str, tuple[isl.PwAff, ...]] = {one.name: () for one in statements}
    for loop in around:
        places = _places([(loop.values[one.name], one.domain) for one in statements])
        for number, one in enumerate(statements):
            own = (
                (loop.values[one.name],)
                if places is None
                else tuple(place.values[number] for place in places)
            )
            columns[one.name] += own
    return columns


@dataclass(frozen=True, eq=False)
class _Place:
    """A place of numbers that are sums: what it counts for, and the digit that each number has.

    What is right of it is at least ``lowest_rest``, and less than that and ``weight``.
    """

    weight: int
    lowest_rest: int
    values: tuple[isl.PwAff, ...]


def _places(functions: Sequence[tuple[isl.PwAff, isl.Set]]) -> list[_Place] | None:
    """The places that the functions, each with its domain, have in common, the highest first.

    None where there is one only, or where they are not alike.
    """
    sums = [list(_summands(function)) for function, _ in functions]
    weights = [[weight for weight, _ in parts] for parts in sums]
    if not weights or len(weights[0]) < 2 or any(other != weights[0] for other in weights):
        return None
    found: list[_Place] = []
    low = high = 0
    for place in reversed(range(len(weights[0]))):
        weight = weights[0][place]
        if high - low >= weight:
            return None
        parts = [one[place][1] for one in sums]
        found.append(
            _Place(weight, low, tuple(one.scale_down_val(isl.Val(weight)) for one in parts))
        )
        ranges = [_range(part, domain) for part, (_, domain) in zip(parts, functions, strict=True)]
        known = [one for one in ranges if one is not None]
        if len(known) < len(ranges):
            return None
        low += min(one[0] for one in known)
        high += max(one[1] for one in known)
    return found[::-1]


def indices_of(function: isl.PwAff) -> frozenset[int]:
    """The positions of the indices that a function of instances depends on."""
    return frozenset(
        index
        for index in range(function.dim(isl.dim_type.in_))
        if function.involves_dims(isl.dim_type.in_, index, 1)
    )


def _summands(function: isl.PwAff) -> Iterator[tuple[int, isl.PwAff]]:
    """The function as a sum, one summand for each index, that with the greatest factor first.

    Each comes with the greatest literal that all its coefficients are multiples of. Nothing where
    there are several cases, parameters, or floors of several indices.
    """
    pieces = function.get_pieces()
    if len(pieces) != 1:
        return
    whole = pieces[0][1]
    if whole.involves_dims(isl.dim_type.param, 0, whole.dim(isl.dim_type.param)):
        return
    space = whole.get_domain_local_space()
    constant = whole.get_constant_val()
    terms = [
        (isl.Aff.var_on_domain(space, isl.dim_type.set, i), isl.dim_type.in_, i)
        for i in range(whole.dim(isl.dim_type.in_))
    ]
    terms += [
        (whole.get_div(i).floor(), isl.dim_type.div, i) for i in range(whole.dim(isl.dim_type.div))
    ]
    sums: dict[int, tuple[int, isl.PwAff]] = {}
    for term, kind, position in terms:
        coefficient = whole.get_coefficient_val(kind, position)
        if coefficient.is_zero():
            continue
        part = isl.PwAff.from_aff(term)
        support = indices_of(part)
        if len(support) != 1 or not coefficient.is_int() or not constant.is_zero():
            return
        (index,) = support
        part = part.scale_val(coefficient)
        weight = abs(int(coefficient.to_python()))
        if index in sums:
            other, before = sums[index]
            weight, part = gcd(weight, other), before.add(part)
        sums[index] = (weight, part)
    yield from sorted(sums.values(), key=lambda one: -one[0])


def _range(function: isl.PwAff, domain: isl.Set) -> tuple[int, int] | None:
    """The least and the greatest value, by what the domain says of the function's indices alone."""
    own = indices_of(function)
    for index in range(domain.dim(isl.dim_type.set)):
        if index not in own:
            domain = domain.drop_constraints_involving_dims(isl.dim_type.set, index, 1)
            domain = domain.eliminate(isl.dim_type.set, index, 1)
    values = isl.Map.from_pw_aff(function).intersect_domain(domain).range()
    low, high = least(values, 0), greatest(values, 0)
    return None if low is None or high is None else (low, high)
