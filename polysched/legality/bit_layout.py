"""Which elements of a packed array lie in one byte: exact, also where row lengths are parameters.

An element of contiguous rows starts at bit ``bits * (length * row + column)``. The product of a
parameter and an index is not affine, but two facts make the question affine:

- Elements that share a byte are at most ``bound = (bits + 6) // bits`` elements apart. If rows have
  at least that length, only direct neighbors can share a byte, and the distance of two elements is
  ``length * difference + column' - column`` with a difference of -1, 0 or 1. Each smaller length is
  a case of its own.
- Which bits of which byte an element takes depends on its position modulo
  ``period = 8 / gcd(bits, 8)`` only. The position modulo the period follows from the length modulo
  the period. Each remainder is a case of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import gcd

import islpy as isl

from polysched.ir.affine import to_pw_aff
from polysched.ir.expressions import Constant
from polysched.ir.kernel import Array
from polysched.ir.packing import Rows


def sharing_relation(array: Array, context: isl.Set | None = None) -> isl.Map:
    """Pairs of elements of a packed array that have a byte in common.

    Both elements must lie inside the array: of others nothing is said where the length of a row is
    a parameter.

    Args:
        context: the values of the parameters; None if no length of a row is a parameter.
    """
    bits, rank = array.dtype.bits, len(array.shape)
    outer = rank - 1 if array.rows is Rows.PADDED else 0
    inner = range(outer, rank)
    shape = [array.shape[place] for place in inner]
    lengths = [int(one.value) if isinstance(one, Constant) else None for one in shape]
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
    """From elements to the lengths of the dimensions from ``outer`` on, followed by the element."""
    rank = len(array.shape)
    space = (
        isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0) if context is None else context.get_space()
    )
    space = space.add_unnamed_tuple_ui(rank)
    result = isl.Map.from_domain(isl.Set.universe(space))
    for place in range(outer, rank):
        # The first length says nothing about where an element lies.
        size = Constant(0) if place == outer else array.shape[place]
        result = result.flat_range_product(isl.Map.from_pw_aff(to_pw_aff(size, space)))
    result = result.flat_range_product(isl.Set.universe(space).identity())
    return result if context is None else result.intersect_params(context)


@dataclass(frozen=True)
class _Case:
    """Pairs of an element ``e`` and another one ``o`` in an array with the lengths ``l``.

    Attributes:
        conditions: what holds of the lengths.
        neighbors: what holds of the rows.
        position: the position of the element, modulo a number.
        distance: the position of the other element minus that of the element.
    """

    conditions: tuple[str, ...]
    neighbors: tuple[str, ...]
    position: str
    distance: str


def _cases(
    dimensions: Sequence[tuple[int, int | None]], modulus: int, bound: int
) -> Iterator[_Case]:
    """All pairs of elements at most ``bound`` apart, positions modulo ``modulus``.

    Args:
        dimensions: the place of each dimension and its length, None if that is a parameter.
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
    """The cases of one length: its value if that is known, its remainder, and the condition."""
    if length is not None:
        if length > 0:
            yield length, length % modulus, ()
        return
    for value in range(1, bound):
        yield value, value % modulus, (f"{name} = {value}",)
    for remainder in range(modulus):
        yield None, remainder, (f"{name} >= {bound}", f"{name} mod {modulus} = {remainder}")
