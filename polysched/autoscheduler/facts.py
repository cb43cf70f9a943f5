"""A statement in numbers: the loops around it, the strides of its accesses, its operations.

The cost model and the recipes work on these facts alone. Splitting, reordering or marking a loop
changes facts by arithmetic, so a recipe can compare hundreds of plans without calling isl.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial

import islpy as isl

from polysched.autoscheduler.operations import Operations, count_operations, element_bits
from polysched.autoscheduler.sizes import with_parameters
from polysched.autoscheduler.subscripts import (
    Change,
    Floor,
    Form,
    add_change,
    indices_by_loop,
    slopes_of,
    subscript_by_loop,
)
from polysched.errors import PolyschedError
from polysched.instructions.declaration import Instruction
from polysched.ir.core.kernel import Access, Array, Role, Statement
from polysched.ir.core.strides import concrete_strides
from polysched.ir.core.tree import Loop, LoopKind, path
from polysched.ir.isl.extrema import greatest, least
from polysched.ir.isl.shared_results import remembered
from polysched.ir.semantics.memory import concrete_shape
from polysched.schedule.core.program import Program, prefix_map
from polysched.vector.passes.lookup import is_lookup

NEAR_ITERATIONS = 4
"""Iterations after which a carried value is not waited for any more."""
SAMPLES = 8
"""Iterations at which trip counts are taken where the middle one is not the average."""
INSTANCES_OFF = 1.5
"""Factor between the product of the trip counts and the instances that is still accepted."""


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
    """

    operations: int
    stores: int
    distance: int


@dataclass(frozen=True)
class StatementFacts:
    """A statement with its loops, outermost first.

    Attributes:
        element_bits: the widest type in the statement, which decides how many lanes fit a vector.
        reads_target: whether the statement reads the element that it overwrites.
        carried: the longest chain of operations through statements in the same loops, from one
            iteration of the innermost loop to another.
        waits_in: the loops whose iterations begin with values that the iteration before makes last.
    """

    name: str
    loops: tuple[LoopFacts, ...]
    accesses: tuple[AccessFacts, ...]
    operations: Operations
    element_bits: int
    reads_target: bool
    waits_in: frozenset[str] = frozenset()
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
        """Whether all iterations of a loop update one element, with neighbors of an array."""
        is_contiguous = any(abs(one.stride(loop) or 0) == one.bytes for one in self.accesses[1:])
        return is_contiguous and self.target.stride(loop) == 0

    def is_transposable(self, access: AccessFacts, row: str, copies: float, lanes: int) -> bool:
        """Whether copies along a loop read or write rows, which registers can transpose.

        A tile has at least a quarter as many columns as lanes: on Zen 4 a tile of 4 by 16 takes 5
        cycles a vector, one of 16 by 16 takes 7. An array that the statement both reads and writes
        has no tiles, since a copy may read an element that an earlier copy writes.
        """
        both = {one.array for one in self.accesses[1:]} & {self.target.array}
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


def statement_facts(program: Program, name: str, sizes: Mapping[str, int]) -> StatementFacts:
    """Derive the facts of a statement from a program.

    A loop whose values isl cannot invert, and an access that is not affine, get strides of None.
    """
    around = path(program.tree, name)
    statement = program.statements[name]
    arrays = (program.arrays[access.array] for access in statement.accesses)
    values = (loop.values[name] for loop in around)
    return remembered(
        partial(_derived, program, name, around, sizes),
        statement_facts,
        (program.kernel, statement, sizes, *arrays, *values),
        tuple(
            (loop.name, loop.kind, loop.lanes, loop.transposition, loop.instruction)
            for loop in around
        ),
    )


def _derived(
    program: Program, name: str, around: tuple[Loop, ...], sizes: Mapping[str, int]
) -> StatementFacts:
    statement = program.statements[name]
    times = prefix_map(statement, around, [])
    trips = _trips(times, statement, sizes)
    reached = times.range()
    names = tuple(loop.name for loop in around)
    indices = indices_by_loop(statement, times, names)
    linked = _linked(reached, names, indices)
    loops = tuple(
        LoopFacts(
            loop.name,
            trip,
            loop.kind,
            loop.lanes,
            least(reached, position),
            linked[loop.name],
            reached.get_stride(position).to_python(),
            least(reached, position) is not None and greatest(reached, position) is not None,
            is_transposed=loop.transposition is not None,
        )
        for position, (loop, trip) in enumerate(zip(around, trips, strict=True))
    )
    accesses = tuple(
        _access_facts(
            program.arrays[access.array],
            access,
            [
                subscript_by_loop(statement, access, dimension, times, indices, names)
                for dimension in range(len(access.subscripts))
            ],
            sizes,
            position == 0,
        )
        for position, access in enumerate(statement.accesses)
    )
    facts = StatementFacts(
        name,
        loops,
        accesses,
        count_operations(statement, fp_contract=program.kernel.fp_contract),
        element_bits(program, statement),
        any(access == statement.target for access in statement.reads),
    )
    for loop in around:
        mark = loop.instruction
        if mark is not None and not mark.is_tile and loop.kind is not LoopKind.VECTOR:
            facts = facts.grouped(loop.name, program.instructions[mark.instruction][0])
    return facts


def _trips(times: isl.Map, statement: Statement, sizes: Mapping[str, int]) -> list[float]:
    """Return the average trip count of each loop.

    The middle iteration of a triangular nest has the average trip count, but the middle tile of a
    skewed band may be a partial one: then the trip counts do not make the number of instances, and
    other iterations are looked at too.
    """
    reached = with_parameters(times.range(), sizes)
    middle = _walk(reached, 0)
    instances = remembered(
        partial(_instances, statement.domain, sizes), _instances, (statement.domain, sizes)
    )
    share = math.prod(middle) / instances
    if 1 / INSTANCES_OFF < share < INSTANCES_OFF:
        # Partial vectors and tiles cost more than their instances, but nothing costs less.
        longest = middle.index(max(middle)) if middle else 0
        return [trip / min(1.0, share) if at == longest else trip for at, trip in enumerate(middle)]
    walks = [middle, *(_walk(reached, number) for number in range(1, SAMPLES))]
    trips = []
    for position in range(len(middle)):
        outside = sum(math.prod(walk[:position]) for walk in walks)
        trips.append(sum(math.prod(walk[: position + 1]) for walk in walks) / outside)
    # What is still missing belongs to the loop whose trip count varies most.
    spreads = [max(walk[at] for walk in walks) / trips[at] for at in range(len(trips))]
    widest = spreads.index(max(spreads))
    trips[widest] = max(1.0, trips[widest] * instances / math.prod(trips))
    return trips


def _instances(domain: isl.Set, sizes: Mapping[str, int]) -> float:
    """Return the product of the trip counts of the indices, in the middle of the domain."""
    return math.prod(_walk(with_parameters(domain, sizes), 0))


def _walk(reached: isl.Set, number: int) -> list[float]:
    """Return the trip count of each loop in one iteration of the loops around it.

    Walk 0 takes the middle iteration, the others iterations spread over the range.
    """
    trips = []
    for position in range(reached.dim(isl.dim_type.set)):
        low, high = least(reached, position), greatest(reached, position)
        if low is None or high is None:
            trips.append(1.0)
            continue
        trips.append(float(high - low + 1))
        part = 0.5 if number == 0 else (number * 0.618 + position * 0.414) % 1.0
        chosen = reached.fix_val(
            isl.dim_type.set, position, isl.Val(low + int((high - low) * part))
        )
        if not chosen.is_empty():
            reached = chosen
    return trips


def _linked(
    reached: isl.Set,
    loops: tuple[str, ...],
    indices: Mapping[str, Form],
) -> dict[str, frozenset[str]]:
    """Return the loops that share a bound with each loop, except the parts of one split."""
    together = [set(form[0]) for form in indices.values() if form[0] is not None]
    found: dict[str, set[str]] = {name: set() for name in loops}
    for part in reached.get_basic_sets():
        for constraint in part.get_constraints():
            inside = [
                name
                for position, name in enumerate(loops)
                if constraint.involves_dims(isl.dim_type.set, position, 1)
            ]
            for first in inside:
                for second in inside:
                    if first != second and not any({first, second} <= one for one in together):
                        found[first].add(second)
    return {name: frozenset(others) for name, others in found.items()}


def _access_facts(
    array: Array,
    access: Access,
    subscripts: Sequence[tuple[Change, int]],
    sizes: Mapping[str, int],
    is_write: bool,
) -> AccessFacts:
    strides: Change = {}
    offset = 0
    for (changes, constant), step in zip(subscripts, _steps(array, sizes), strict=True):
        offset += constant * step
        for loop, change in changes.items():
            add_change(strides, loop, None if change is None else change * step)
    known = {atom: stride for atom, stride in strides.items() if stride is not None}
    average = dict.fromkeys(x for x in strides if x not in known and isinstance(x, str))
    whole = {**average, **{x: _whole(s) for x, s in slopes_of(known).items() if x not in average}}
    return AccessFacts(
        array.name,
        is_write,
        max(1, array.dtype.bits // 8),
        {loop: stride for loop, stride in whole.items() if stride != 0},
        offset,
        array.role is not Role.TEMPORARY,
        is_shuffled=any(isinstance(atom, Floor) and stride for atom, stride in known.items()),
        born_in=frozenset(
            loop
            for changes, _ in subscripts[: array.tile]
            for loop in changes
            if isinstance(loop, str)
        ),
        is_lookup=is_lookup(array, access.subscripts),
        is_guarded=array.guarded,
    )


def _whole(stride: Fraction) -> int | None:
    return None if stride.denominator != 1 else stride.numerator


def _steps(array: Array, sizes: Mapping[str, int]) -> list[int]:
    """Return the distance in bytes between consecutive indices of each dimension.

    The dimensions that only number the tiles of a buffer take no memory: their distance is 0.
    """
    width = max(1, array.dtype.bits // 8)
    try:
        shape = concrete_shape(array.stored_shape, sizes)
        steps = concrete_strides(array, shape, sizes)
    except PolyschedError:  # an extent that is a minimum or maximum of loops
        steps = (0,) * (len(array.stored_shape) - 1) + (1,)
    return [*[0] * array.tile, *(step * width for step in steps)]
