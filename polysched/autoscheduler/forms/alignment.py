"""Alignment of loops: shifts and skew factors that make neighboring loops one permutable band.

Loops that follow each other inside common outer loops can be fused, and the result tiled together
with the outer loops, if no dependence runs backwards along the fused loop. With a shift ``s`` for
each loop and a factor ``f`` for each outer loop, a dependence from loop ``a`` to loop ``b`` at the
distances ``D`` along the outer loops and ``d`` along the fused one demands::

    d + s[b] - s[a] + f . D >= 0

For fixed factors these are difference constraints, whose least solution is a longest path
(Cormen et al., "Introduction to Algorithms", section 22.4). The factors are tried from small to
large, as skewing lengthens the loops' prologues.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import islpy as isl

from polysched.dependence.relations import Dependence, timestamp_map
from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Loop
from polysched.ir.isl.quota import QuotaExceededError, operation_quota

LARGEST_FACTORS = (8, 2)
"""Skew factors that are tried for the first outer loop, and for each other one.

Two fused sweeps of a stencil of radius r need 2 r for the time loop, and rarely another factor.
"""
ALIGNMENT_QUOTA = 1_000_000
"""isl operations for one alignment; loops that need more count as not alignable."""


@dataclass(frozen=True)
class Alignment:
    """Shifts of neighboring loops, and factors of the outer loops for skewing the fused loop."""

    shifts: tuple[int, ...]
    factors: tuple[int, ...]


def aligned(
    statements: Mapping[str, Statement],
    dependences: Iterable[Dependence],
    around: Sequence[Loop],
    outer: Sequence[Loop],
    members: Sequence[Loop],
    *,
    in_order: bool = False,
) -> Alignment | None:
    """Return the least alignment of loops that follow each other; None if there is none.

    Args:
        around: the loops around the band; dependences that they carry do not count.
        outer: the loops of the band outside ``members``, outermost first.
        members: the loops to align, in the order of their sequence.
        in_order: a member must not depend on a later one in the same iteration.
    """
    position = {name: at for at, loop in enumerate(members) for name in loop.statements}
    try:
        with operation_quota(ALIGNMENT_QUOTA):
            edges = []
            for dependence in dependences:
                source, sink = dependence.source.statement, dependence.sink.statement
                if source in position and sink in position:
                    ends = (position[source], position[sink])
                    loops = [(*around, *outer, members[end]) for end in ends]
                    distances = _distances(dependence, statements, loops[0], loops[1], len(around))
                    if not distances.is_empty():
                        edges.append((*ends, distances))
            for factors in _factors(len(outer)):
                weighted = _weighted(edges, factors, in_order=in_order)
                shifts = _shifts(len(members), list(weighted))
                if shifts is not None:
                    return Alignment(shifts, factors)
    except (QuotaExceededError, isl.Error):
        pass
    return None


def _factors(count: int) -> Iterator[tuple[int, ...]]:
    """Yield factors, small ones first; skewing by the first loop is preferred to the others."""
    first, other = LARGEST_FACTORS
    ranges = [range(first + 1), *[range(other + 1)] * (count - 1)][:count]
    choices = product(*ranges)
    yield from sorted(choices, key=lambda factors: (sum(factors[1:]), sum(factors), factors))


def _distances(
    dependence: Dependence,
    statements: Mapping[str, Statement],
    source: Sequence[Loop],
    sink: Sequence[Loop],
    around: int,
) -> isl.Set:
    """Return the distances of the pairs that run in one iteration of the loops around the band."""
    times = [
        timestamp_map(statements[name], [loop.values[name] for loop in loops])
        for name, loops in (
            (dependence.source.statement, source),
            (dependence.sink.statement, sink),
        )
    ]
    distances = dependence.relation.apply_domain(times[0]).apply_range(times[1]).deltas()
    for dimension in range(around):
        distances = distances.fix_val(isl.dim_type.set, dimension, isl.Val(0))
    return distances.project_out(isl.dim_type.set, 0, around)


def _weighted(
    edges: Iterable[tuple[int, int, isl.Set]], factors: tuple[int, ...], *, in_order: bool
) -> Iterator[tuple[int, int, int | None]]:
    """Yield for each dependence the least distance along the fused loop, skewed by factors.

    None: the distance has no lower bound. A distance that must not be 0 is given as one less.
    """
    for source, sink, distances in edges:
        space = isl.LocalSpace.from_space(distances.get_space())
        objective = isl.Aff.zero_on_domain(space)
        for dimension, factor in enumerate((*factors, 1)):
            objective = objective.set_coefficient_val(isl.dim_type.in_, dimension, isl.Val(factor))
        least = distances.min_val(objective)
        extra = 1 if in_order and source > sink else 0
        yield source, sink, int(least.to_python()) - extra if least.is_int() else None


def _shifts(count: int, edges: Sequence[tuple[int, int, int | None]]) -> tuple[int, ...] | None:
    """Solve ``s[sink] >= s[source] - least`` with the least shifts from 0; None if impossible."""
    shifts = [0] * count
    for _ in range(count + 1):
        stable = True
        for source, sink, least in edges:
            if least is None or (source == sink and least < 0):
                return None
            if shifts[sink] < shifts[source] - least:
                shifts[sink] = shifts[source] - least
                stable = False
        if stable:
            return tuple(shifts)
    return None
