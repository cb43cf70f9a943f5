"""Find data races: an iteration of a parallel loop touches an element that another one writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from polysched.ir.core.tree import LoopKind
from polysched.loops.interpret.execution import Around

Strand: TypeAlias = tuple[tuple[tuple[int, ...], int], ...]
"""The iterations of parallel loops around: ((number of the loop, values outside of it), value)."""


@dataclass(frozen=True)
class Threads:
    """The parallel loops around an assignment.

    ``loops`` holds for each of them its number, the variables of the loops outside of it, and its
    own variable.
    """

    loops: tuple[tuple[int, tuple[str, ...], str], ...]

    def strand(self, variables: Mapping[str, int]) -> Strand:
        """The iterations of the parallel loops that an instance belongs to."""
        return tuple(
            ((number, *(variables[name] for name in outside)), variables[variable])
            for number, outside, variable in self.loops
        )


@dataclass
class _Touches:
    """The strands of an element's last write and of the reads since."""

    write: Strand | None = None
    reads: set[Strand] = field(default_factory=set)


@dataclass
class Races:
    """The accesses of the threads of one run so far."""

    numbers: dict[int, int] = field(default_factory=dict)
    touches: dict[str, dict[tuple[int, ...], _Touches]] = field(default_factory=dict)

    def threads(self, around: Around) -> Threads:
        """The parallel loops among the loops around an assignment."""
        return Threads(
            tuple(
                (
                    self.numbers.setdefault(id(loop), len(self.numbers)),
                    tuple(other.variable for other in around[:depth]),
                    loop.variable,
                )
                for depth, loop in enumerate(around)
                if loop.kind is LoopKind.PARALLEL
            )
        )

    def forget(self, array: str) -> None:
        """Forget the accesses to an array whose lifetime begins anew."""
        self.touches.pop(array, None)

    def touch(
        self, array: str, element: tuple[int, ...], strand: Strand, *, is_write: bool
    ) -> bool:
        """Record an access; return whether it races with an access of another thread."""
        touches = self.touches.setdefault(array, {}).setdefault(element, _Touches())
        others = set() if touches.write is None else {touches.write}
        if is_write:
            others |= touches.reads
            touches.write, touches.reads = strand, set()
        else:
            touches.reads.add(strand)
        return any(_at_once(strand, other) for other in others)


def _at_once(strand: Strand, other: Strand) -> bool:
    """Whether two strands are different iterations of one run of a parallel loop."""
    return any(
        loop == its_loop and value != its_value
        for loop, value in strand
        for its_loop, its_value in other
    )
