"""A statement in numbers: the loops around it, the strides of its accesses, its operations.

The cost model and the recipes work on these facts alone. Splitting, reordering or marking a loop
changes facts by arithmetic, so a recipe can compare hundreds of plans without calling isl.
:mod:`polysched.autoscheduler.facts.derive` derives them from a program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from polysched.autoscheduler.facts.operations import Operations
from polysched.instructions.declaration import Instruction
from polysched.ir.core.tree import LoopKind

NEAR_ITERATIONS = 4
"""Iterations after which a carried value is not waited for any more."""

FARTHEST_INTERLEAVED = 4
"""Elements between lanes up to which whole vectors are loaded instead of a gather."""
FARTHEST_NARROW = 8
"""The same for elements of 1 or 2 bytes."""


@dataclass(frozen=True)
class LoopFacts:
    """One loop around a statement.

    Attributes:
        trip: the average number of values from the first to the last, also those between strides.
        lanes: of a vector loop.
        start: the least value that the loop takes in any program run; None if there is none.
        bounded_by: loops whose values decide where this loop starts or ends, or the reverse, as in
            a triangle.
        stride: the distance between the values of consecutive iterations: 2 for ``j += 2``. Lanes
            and copies in between are empty.
        is_constant: whether the trip count is the same in all program runs.
        partial: of copies, the part of all iterations that stand in tiles which are not full.
        masked: of lanes, the part of all vector iterations that have masks.
        is_transposed: of lanes, whether tiles of them are transposed in registers.
    """

    name: str
    trip: float
    kind: LoopKind = LoopKind.SEQUENTIAL
    lanes: int = 1
    start: int | None = 0
    bounded_by: frozenset[str] = frozenset()
    stride: int = 1
    is_constant: bool = False
    partial: float = 0.0
    masked: float = 0.0
    is_transposed: bool = False

    @property
    def iterations(self) -> float:
        """The average trip count."""
        return max(1.0, math.ceil(self.trip / self.stride)) if self.stride > 1 else self.trip

    def partial_share(self, factor: int) -> float:
        """Return the part of the iterations that remains after full tiles of some iterations.

        The copies of a constant trip count need no conditions, so no tile counts as partial.
        """
        if self.is_constant or self.bounded_by:
            return 0.0
        return self.trip % factor / self.trip

    def masked_share(self, factor: int) -> float:
        """Return the part of the tiles of some iterations that is not full."""
        is_ragged = self.trip % factor or self.bounded_by
        return 1.0 / math.ceil(self.trip / factor) if is_ragged else 0.0


@dataclass(frozen=True)
class AccessFacts:
    """One access of a statement.

    Attributes:
        bytes: of one element.
        strides: the distance in bytes between consecutive iterations of each loop, by its name;
            None if it is not constant.
        offset: the constant part of the address in bytes.
        is_argument: whether the memory is the caller's; else a temporary or a buffer.
        left_behind: the bytes that a cache must hold so that the access finds what an earlier
            statement has used, in the same iteration of common loops.
        born_in: the loops of which each iteration has a buffer of its own, or a value of its own.
        is_lookup: whether a byte numbers one of 256 elements.
        is_guarded: whether elements may only exist where they are accessed.
        is_joined: whether the writes of statements in the same loops fill whole vectors together.
        is_shuffled: whether strides are averages over the rows of a collapsed loop: lanes repeat or
            skip elements.
    """

    array: str
    is_write: bool
    bytes: int
    strides: Mapping[str, int | None]
    offset: int
    is_argument: bool
    left_behind: float = math.inf
    born_in: frozenset[str] = frozenset()
    is_lookup: bool = False
    is_guarded: bool = False
    is_joined: bool = False
    is_shuffled: bool = False

    @property
    def farthest(self) -> int:
        """The distance in bytes between lanes up to which whole vectors are loaded."""
        is_narrow = self.bytes < 4 and not self.is_write
        return (FARTHEST_NARROW if is_narrow else FARTHEST_INTERLEAVED) * self.bytes

    def stride(self, loop: str) -> int | None:
        """The stride along a loop; 0 along a loop that the access does not depend on."""
        return self.strides.get(loop, 0)

    def runs_with(self, other: AccessFacts) -> bool:
        """Whether two accesses move through one array in the same way, at a constant distance."""
        return self.array == other.array and self.strides == other.strides


@dataclass(frozen=True)
class CarriedChain:
    """Operations that wait for one another, from one iteration to a later one.

    Attributes:
        operations: operations one after the other.
        stores: values that pass through memory.
        distance: the iterations between the first and the last of them.
        loop: the loop of these iterations.
    """

    operations: int
    stores: int
    distance: int
    loop: str


@dataclass(frozen=True)
class StatementFacts:
    """A statement with its loops, outermost first.

    Attributes:
        element_bits: the widest type in the statement, which decides how many lanes fit a vector.
        reads_target: whether the statement reads the element that it overwrites.
        carried: the longest chain of operations through statements in the same loops, from one
            iteration of the innermost loop, or of a loop written out inside of it, to another.
        waits_in: the loops whose iterations begin with values that the iteration before makes last.
        stalls_in: the loops in each iteration of which a vector is loaded while an element of it,
            which the iteration before has stored, is on its way to the cache.
    """

    name: str
    loops: tuple[LoopFacts, ...]
    accesses: tuple[AccessFacts, ...]
    operations: Operations
    element_bits: int
    reads_target: bool
    waits_in: frozenset[str] = frozenset()
    stalls_in: frozenset[str] = frozenset()
    carried: CarriedChain | None = None

    @cached_property
    def target(self) -> AccessFacts:
        """The write."""
        return self.accesses[0]

    @property
    def instances(self) -> float:
        """The number of instances."""
        return math.prod(loop.trip for loop in self.loops)

    def loop(self, name: str) -> LoopFacts:
        """The loop of a name."""
        return next(loop for loop in self.loops if loop.name == name)

    def masked_share(self, vector: LoopFacts) -> float:
        """Return the part of the vectors along a loop that have masks.

        In a triangle, one vector of each row is not full; the average row is half the longest.
        """
        edges = [
            2 * vector.lanes / max(1.0, other.trip)
            for other in self.loops
            if other.name in vector.bounded_by and other.kind.is_loop_in_code
        ]
        return min(1.0, max(vector.masked, *edges, 0.0))

    def distances(self, loop: str) -> list[int]:
        """Return after how many iterations of a loop reads see what the statement wrote."""
        step = self.target.stride(loop) or 0
        step *= self.loop(loop).stride
        found = []
        for access in self.accesses[1:]:
            if step and access.runs_with(self.target):
                distance, rest = divmod(self.target.offset - access.offset, step)
                if distance >= 1 and rest == 0:
                    found.append(distance)
        return found

    def is_recurrence(self, loop: str) -> bool:
        """Whether an iteration of a loop reads what one of the few before it has written."""
        return any(distance <= NEAR_ITERATIONS for distance in self.distances(loop))

    def is_sum_along(self, loop: str) -> bool:
        """Whether all iterations of a loop update one element, with near elements of an array."""
        is_near = any(
            0 < abs(access.stride(loop) or 0) <= access.farthest for access in self.accesses[1:]
        )
        return is_near and self.target.stride(loop) == 0

    def is_transposable(self, access: AccessFacts, row: str, copies: float, lanes: int) -> bool:
        """Whether copies along a loop read or write rows, which registers can transpose.

        A tile has at least a quarter as many columns as lanes: on Zen 4 a tile of 4 by 16 takes 5
        cycles a vector, one of 16 by 16 takes 7. An array that the statement both reads and writes
        has no tiles, since a copy may read an element that an earlier copy writes.
        """
        both = {access.array for access in self.accesses[1:]} & {self.target.array}
        is_row = access.stride(row) == access.bytes and 4 * copies >= lanes
        return is_row and not access.is_guarded and access.array not in both

    def split(self, name: str, factor: int, outer: str, inner: str) -> StatementFacts:
        """The facts after ``split(name, factor, (outer, inner))``."""
        loops: list[LoopFacts] = []
        for loop in self.loops:
            if loop.name == name:
                inside = min(float(factor), loop.trip)
                outside = max(1.0, math.ceil(loop.trip / factor - 1e-9))
                loops += [
                    LoopFacts(outer, outside, start=None, bounded_by=loop.bounded_by),
                    LoopFacts(
                        inner, inside, start=0, bounded_by=loop.bounded_by, stride=loop.stride
                    ),
                ]
            else:
                loops.append(loop)
        return replace(
            self,
            loops=tuple(loops),
            accesses=tuple(_split(a, name, factor, outer, inner) for a in self.accesses),
        )

    def grouped(self, name: str, form: Instruction) -> StatementFacts:
        """The facts if one instruction adds all iterations of a loop to each lane's sum."""
        accesses = tuple(
            replace(
                access,
                bytes=access.bytes * form.terms,
                strides={loop: step for loop, step in access.strides.items() if loop != name},
            )
            if access.stride(name)
            else access
            for access in self.accesses
        )
        # The instruction, and the sum if it is not part of it.
        is_added = self.target.array not in form.operands
        return replace(
            self,
            loops=tuple(loop for loop in self.loops if loop.name != name),
            accesses=accesses,
            operations=Operations(1 + is_added, 0, 0, are_integer_sums=is_added),
            element_bits=8 * max(access.bytes for access in accesses),
        )

    def ordered(self, order: Sequence[str]) -> StatementFacts:
        """The facts with the loops in another order."""
        return replace(self, loops=tuple(self.loop(name) for name in order))

    def marked(self, name: str, kind: LoopKind, lanes: int = 1) -> StatementFacts:
        """The facts with a loop of another kind."""
        loops = tuple(
            replace(loop, kind=kind, lanes=lanes) if loop.name == name else loop
            for loop in self.loops
        )
        return replace(self, loops=loops)


def _split(access: AccessFacts, name: str, factor: int, outer: str, inner: str) -> AccessFacts:
    stride = access.stride(name)
    if stride == 0:
        return access
    strides = {loop: value for loop, value in access.strides.items() if loop != name}
    strides[outer] = None if stride is None else stride * factor
    strides[inner] = stride
    return replace(access, strides=strides)
