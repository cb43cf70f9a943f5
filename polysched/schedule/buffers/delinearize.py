"""Delinearization of loops that count several indices at once, as ``collapse`` makes them.

The value ``12*batch + 3*p(n) + q(m)``, with ``p`` from 0 to 3 and ``q`` from 0 to 2, is a linear
index with strides 12, 3 and 1. Its coordinates are ``batch``, ``p(n)`` and ``q(m)``: each is a
function of one index, and each follows from the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

import islpy as isl

from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Loop
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
    dimensions = _dimensions([(function, domain)])
    if dimensions is None:
        return None
    coordinates = []
    for dimension in dimensions:
        offset = number.add_constant_val(isl.Val(-dimension.lowest_rest))
        coordinate = offset.scale_down_val(isl.Val(dimension.stride)).floor()
        coordinates.append(Coordinate(dimension.values[0], coordinate))
        number = number.sub(coordinate.scale_val(isl.Val(dimension.stride)))
    return coordinates


def tile_coordinates(
    statements: Sequence[Statement], around: Sequence[Loop]
) -> dict[str, tuple[isl.PwAff, ...]]:
    """Return, for each statement, functions of its instances that identify the tile.

    Two instances are in the same iteration of the loops ``around`` if and only if the functions of
    their statements have the same values.
    """
    coordinates: dict[str, tuple[isl.PwAff, ...]] = {s.name: () for s in statements}
    for loop in around:
        dimensions = _dimensions([(loop.values[s.name], s.domain) for s in statements])
        for position, statement in enumerate(statements):
            coordinates[statement.name] += (
                (loop.values[statement.name],)
                if dimensions is None
                else tuple(dimension.values[position] for dimension in dimensions)
            )
    return coordinates


@dataclass(frozen=True, eq=False)
class _Dimension:
    """A dimension of linear indices: its stride, and the coordinate of each linear index.

    The dimensions inside it add at least ``lowest_rest`` and less than ``lowest_rest + stride``.
    """

    stride: int
    lowest_rest: int
    values: tuple[isl.PwAff, ...]


def _dimensions(functions: Sequence[tuple[isl.PwAff, isl.Set]]) -> list[_Dimension] | None:
    """Return the dimensions that linear indices, each with its domain, share, outermost first.

    None if there are fewer than two dimensions, or if the strides differ.
    """
    if not functions or len(list(_summands(functions[0][0]))) < 2:
        return None
    sums = [list(_summands(function)) for function, _ in functions]
    strides = [[stride for stride, _ in terms] for terms in sums]
    if any(other != strides[0] for other in strides):
        return None
    dimensions: list[_Dimension] = []
    low = high = 0  # the range of the sum of all terms further inside
    for position in reversed(range(len(strides[0]))):
        stride = strides[0][position]
        if high - low >= stride:
            return None
        terms = [summands[position][1] for summands in sums]
        values = tuple(term.scale_down_val(isl.Val(stride)) for term in terms)
        dimensions.append(_Dimension(stride, low, values))
        ranges = [_range(term, domain) for term, (_, domain) in zip(terms, functions, strict=True)]
        known = [ends for ends in ranges if ends is not None]
        if len(known) < len(ranges):
            return None
        low += min(least for least, _ in known)
        high += max(greatest for _, greatest in known)
    return dimensions[::-1]


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
