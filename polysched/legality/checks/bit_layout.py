"""Pairs of packed elements that share a byte, exact for parametric row lengths too.

An element of contiguous rows starts at bit ``bits * (length * row + column)``. The product of a
parameter and an index is not affine, but two facts make the question affine:

- Elements that share a byte are at most ``bound = (bits + 6) // bits`` elements apart. If rows have
  at least that length, only direct neighbors can share a byte, and the distance of two elements is
  ``length * difference + column' - column`` with a difference of -1, 0 or 1. Each smaller length is
  a separate case.
- The bits of a byte that an element occupies depend only on its position modulo
  ``period = 8 / gcd(bits, 8)``. The position modulo the period follows from the length modulo
  the period. Each remainder is a separate case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

import islpy as isl

from polysched.ir.core.kernel import Array
from polysched.ir.core.packing import Rows
from polysched.ir.expr.affine import to_pw_aff
from polysched.ir.expr.expressions import Constant


def sharing_relation(array: Array, context: isl.Set | None = None) -> isl.Map:
    """Return the pairs of elements of a packed array that share a byte.

    If a row length is a parameter, the result is exact only for pairs inside the array.

    Args:
        context: the possible values of the parameters; None if no row length is a parameter.
    """
    bits, rank = array.dtype.bits, len(array.shape)
    outer = rank - 1 if array.rows is Rows.PADDED else 0
    inner = range(outer, rank)
    shape = [array.shape[place] for place in inner]
    lengths = [int(extent.value) if isinstance(extent, Constant) else None for extent in shape]
    bound, period = (bits + 6) // bits, 8 // gcd(bits, 8)
    elements, others = ([f"{side}{place}" for place in range(rank)] for side in "eo")
    sizes = [f"l{place}" for place in inner]
    same_row = [f"e{place} = o{place}" for place in range(outer)]
    known = _with_lengths(array, outer, context)
    possible = known.range().project_out(isl.dim_type.set, len(sizes), rank)
    result = isl.Map.empty(known.get_space().domain().map_from_set())
    for case in _cases(list(zip(inner, lengths, strict=True)), period, bound):
        if case.conditions and possible.is_disjoint(
            isl.Set(f"{{ [{', '.join(sizes)}] : {' and '.join(case.conditions)} }}")
        ):
            continue
        first, second = (
            f"{bits} * ({case.position})",
            f"{bits} * ({case.position} + {case.distance})",
        )
        touched = [
            f"8 * byte <= {start} + {bits - 1} and {start} <= 8 * byte + 7"
            for start in (first, second)
        ]
        conditions = " and ".join([*same_row, *case.conditions, *case.neighbors, *touched])
        piece = isl.Map(
            f"{{ [{', '.join([*sizes, *elements])}] -> [{', '.join(others)}] : "
            f"exists (byte : {conditions}) }}"
        )
        result = result.union(known.apply_range(piece))
    return result


def _with_lengths(array: Array, outer: int, context: isl.Set | None) -> isl.Map:
    """Map an element to the lengths of dimensions ``outer`` and up, followed by the element."""
    rank = len(array.shape)
    space = (
        isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0) if context is None else context.get_space()
    )
    space = space.add_unnamed_tuple_ui(rank)
    result = isl.Map.from_domain(isl.Set.universe(space))
    for place in range(outer, rank):
        # The position of an element does not depend on the length of the first dimension.
        size = Constant(0) if place == outer else array.shape[place]
        result = result.flat_range_product(isl.Map.from_pw_aff(to_pw_aff(size, space)))
    result = result.flat_range_product(isl.Set.universe(space).identity())
    return result if context is None else result.intersect_params(context)


@dataclass(frozen=True)
class _Case:
    """Pairs of elements ``e`` and ``o`` of an array with the lengths ``l``, as isl text.

    Attributes:
        conditions: constraints on the lengths.
        neighbors: constraints on the rows of the two elements.
        position: the position of ``e``, modulo a number.
        distance: the position of ``o`` minus the position of ``e``.
    """

    conditions: tuple[str, ...]
    neighbors: tuple[str, ...]
    position: str
    distance: str


def _cases(
    dimensions: Sequence[tuple[int, int | None]], modulus: int, bound: int
) -> Iterator[_Case]:
    """Yield the pairs of elements at most ``bound`` apart, positions modulo ``modulus``.

    Args:
        dimensions: each dimension's number and length; a parametric length is None.
    """
    *rows, (place, length) = dimensions
    apart = f"(o{place} - e{place})"
    if not rows:
        yield _Case((), (), f"e{place}", apart)
        return
    for literal, remainder, condition in _lengths(f"l{place}", length, modulus, bound):
        distant = 1 + (bound - 1) // literal if literal else 1
        for row in _cases(rows, modulus // gcd(remainder, modulus), distant):
            position = f"({remainder} * {row.position} + e{place})"
            conditions = (*row.conditions, *condition)
            if literal:
                distance = f"({literal} * {row.distance} + {apart})"
                yield _Case(conditions, row.neighbors, position, distance)
                continue
            for step in (-1, 0, 1):
                neighbors = (*row.neighbors, f"{row.distance} = {step}")
                yield _Case(conditions, neighbors, position, f"({step} * l{place} + {apart})")


def _lengths(
    name: str, length: int | None, modulus: int, bound: int
) -> Iterator[tuple[int | None, int, tuple[str, ...]]]:
    """Yield the cases of one length: its value or None, its remainder, and the condition."""
    if length is not None:
        if length > 0:
            yield length, length % modulus, ()
        return
    for value in range(1, bound):
        yield value, value % modulus, (f"{name} = {value}",)
    for remainder in range(modulus):
        yield None, remainder, (f"{name} >= {bound}", f"{name} mod {modulus} = {remainder}")
