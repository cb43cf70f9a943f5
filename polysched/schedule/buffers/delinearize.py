"""Delinearization of loops that count several indices at once, as ``collapse`` makes them.

The value ``12*batch + 3*p(n) + q(m)``, with ``p`` from 0 to 3 and ``q`` from 0 to 2, is a linear
index with strides 12, 3 and 1. Its coordinates are ``batch``, ``p(n)`` and ``q(m)``: each is a
function of one index, and each follows from the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd

import islpy as isl

from polysched.ir.isl.extrema import greatest, least


@dataclass(frozen=True, eq=False)
class Coordinate:
    """A coordinate of an iteration.

    Attributes:
        value: the coordinate as a function of the instances.
        number: the coordinate as a function of the loops' values.
    """

    value: isl.PwAff
    number: isl.Aff


def delinearized(function: isl.PwAff, domain: isl.Set, number: isl.Aff) -> list[Coordinate] | None:
    """Return the coordinates of a linear index, each of one statement index, the outermost first.

    None if the function is not recognized as a linear index of at least two coordinates.

    Args:
        function: the linear index as a function of the instances in ``domain``.
        number: the linear index over the space in which the coordinates are wanted.
    """
    terms = list(_summands(function))
    if len(terms) < 2:
        return None
    lowest: list[int] = []  # the least sum of the terms further inside
    low = high = 0
    for stride, term in reversed(terms):
        if high - low >= stride:
            return None
        lowest.append(low)
        ends = _range(term, domain)
        if ends is None:
            return None
        low, high = low + ends[0], high + ends[1]
    coordinates = []
    for (stride, term), rest in zip(terms, reversed(lowest), strict=True):
        scale = isl.Val(stride)
        coordinate = number.add_constant_val(isl.Val(-rest)).scale_down_val(scale).floor()
        coordinates.append(Coordinate(term.scale_down_val(scale), coordinate))
        number = number.sub(coordinate.scale_val(scale))
    return coordinates


def indices_of(function: isl.PwAff) -> frozenset[int]:
    """Return the positions of the indices that a function of instances depends on."""
    return frozenset(
        index
        for index in range(function.dim(isl.dim_type.in_))
        if function.involves_dims(isl.dim_type.in_, index, 1)
    )


def _summands(function: isl.PwAff) -> Iterator[tuple[int, isl.PwAff]]:
    """Yield the terms of a function as a sum over the indices, the largest stride first.

    A term comes with its stride, the greatest common divisor of its coefficients. A function with
    several pieces, parameters, a constant, or floors of several indices yields nothing.
    """
    pieces = function.get_pieces()
    if len(pieces) != 1:
        return
    affine = pieces[0][1]
    if affine.involves_dims(isl.dim_type.param, 0, affine.dim(isl.dim_type.param)):
        return
    space = affine.get_domain_local_space()
    constant = affine.get_constant_val()
    terms = [
        (isl.Aff.var_on_domain(space, isl.dim_type.set, i), isl.dim_type.in_, i)
        for i in range(affine.dim(isl.dim_type.in_))
    ]
    terms += [
        (affine.get_div(i).floor(), isl.dim_type.div, i)
        for i in range(affine.dim(isl.dim_type.div))
    ]
    sums: dict[int, tuple[int, isl.PwAff]] = {}
    for term, kind, position in terms:
        coefficient = affine.get_coefficient_val(kind, position)
        if coefficient.is_zero():
            continue
        part = isl.PwAff.from_aff(term)
        support = indices_of(part)
        if len(support) != 1 or not coefficient.is_int() or not constant.is_zero():
            return
        (index,) = support
        part = part.scale_val(coefficient)
        stride = abs(int(coefficient.to_python()))
        if index in sums:
            other, before = sums[index]
            stride, part = gcd(stride, other), before.add(part)
        sums[index] = (stride, part)
    yield from sorted(sums.values(), key=lambda term: -term[0])


def _range(function: isl.PwAff, domain: isl.Set) -> tuple[int, int] | None:
    """Return bounds of a function, from the domain's constraints on the function's own indices."""
    own = indices_of(function)
    for index in range(domain.dim(isl.dim_type.set)):
        if index not in own:
            domain = domain.drop_constraints_involving_dims(isl.dim_type.set, index, 1)
            domain = domain.eliminate(isl.dim_type.set, index, 1)
    values = isl.Map.from_pw_aff(function).intersect_domain(domain).range()
    low, high = least(values, 0), greatest(values, 0)
    return None if low is None or high is None else (low, high)
