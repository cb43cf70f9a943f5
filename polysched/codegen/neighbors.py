"""Vectors that overlap, from one load and single elements.

A load of a whole vector that crosses a cache line costs several times what one within a line costs,
and of the vectors ``x[i - 1]``, ``x[i]`` and ``x[i + 1]`` of a stencil two at least cross one. A
statement that reads a vector and the one an element further gets the second from the first::

    x[i + 1..i + 9] = rotated(x[i..i + 8]) with x[i + 8] in its last lane

which takes the load of one element, which crosses nothing, and one shuffle. No element is read that
the statement does not read itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from llvmlite import ir

from polysched.codegen.intrinsics import shuffled
from polysched.codegen.memory import Offset

REGISTER_BYTES = 64
"""Only vectors of whole cache lines are put together: shorter ones cross a line less often."""

ELEMENT_BYTES = (4, 8)
"""Sizes of elements that one shuffle moves between all the lanes of two registers."""

FEATURE = "avx512f"
"""The instruction set that has such a shuffle (``valignd``, ``valignq``)."""


@dataclass(frozen=True)
class Contiguous:
    """Whole vectors at places that differ in a literal only."""

    array: str
    place: tuple[Any, ...]
    """What decides the place besides the literal."""

    @staticmethod
    def of(array: str, offset: Offset) -> Contiguous:
        """The group of a contiguous vector."""
        return Contiguous(array, (offset.literal.terms, offset.scaled))


Places: TypeAlias = Mapping[Contiguous, Mapping[int, int]]
"""For the places of vectors that are not loaded: how far the vector they are made of is, 1 or -1.
"""


def from_neighbors(
    loaded: Iterable[tuple[Contiguous, int, int]], stored: tuple[Contiguous, int, int] | None
) -> Places:
    """Which of the vectors that a statement reads are made of which.

    Of each run of neighboring places one is loaded: the one best aligned as far as is known, else
    the one at the place in its row where the statement stores, else the middle one.

    Args:
        loaded: group, literal part of the place in elements, and known alignment of each vector.
        stored: the same of the vector that is stored, if it is contiguous too.
    """
    groups: dict[Contiguous, dict[int, int]] = {}
    for group, literal, alignment in loaded:
        groups.setdefault(group, {})[literal] = alignment
    made: dict[Contiguous, dict[int, int]] = {}
    for group, alignments in groups.items():
        for run in _runs(sorted(alignments)):
            middle = run[len(run) // 2]
            beside = stored is not None and stored[0].place == group.place and stored[1] in run
            aim = stored[1] if stored is not None and beside else middle
            base = max(run, key=lambda at: (alignments[at], -abs(at - aim)))
            steps = {at: 1 if at < base else -1 for at in run if at != base}
            if steps:
                made.setdefault(group, {}).update(steps)
    return made


def _runs(places: list[int]) -> list[list[int]]:
    """Ascending places cut into runs of neighbors."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def moved(builder: ir.IRBuilder, vector: Any, element: Any, step: int) -> Any:
    """The vector whose lanes are those of ``vector`` moved by one, and ``element`` in the free one.

    Args:
        step: 1 if ``vector`` lies one element further than the result, -1 if one before it.
    """
    count = vector.type.count
    index = ir.IntType(32)
    free = ir.Constant(vector.type, ir.Undefined)
    single = builder.insert_element(free, element, index(0))
    lanes = [count, *range(count - 1)] if step == 1 else [*range(1, count), count]
    return shuffled(builder, vector, single, lanes)
