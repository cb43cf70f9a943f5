"""Demand of one iteration of the innermost loop on the execution units and ports.

The *body* of an iteration is all copies that unrolled loops write out, each on the lanes of a
vector.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from polysched.autoscheduler.facts.operations import Operations
from polysched.autoscheduler.facts.statement import AccessFacts, LoopFacts, StatementFacts
from polysched.machine.description import Machine
from polysched.vector.passes.lookup import ENTRIES, FEATURES, REGISTER_BITS

LOOKUP_CYCLES = 0.75
"""Cycles of looking a vector up in a table, for each register that holds a part of the table."""
INTERLEAVED_CYCLES = 1.5
"""Cycles of one vector of every second, third or fourth element, for each element of the distance.

Whole vectors are loaded and shuffled. Measured on Zen 4: 2.3 cycles for every second float (a
product of complex numbers), 6.6 cycles for every fourth.
"""
NARROW_CYCLES = 0.6
"""The same for elements of 1 or 2 bytes, whose vectors are shorter or share loads.

Measured on Zen 4: chroma from 2 by 2 pixels of 3 bytes, six bytes apart, takes 25 to 30 cycles for
16 lanes, with 12 such vectors.
"""
JOIN_CYCLES = 0.5
"""Cycles of one shuffle that joins the vectors of several statements to whole stores."""
TRANSPOSE_CYCLES = 1.4
"""Cycles of one stage of a transposition in registers, for each vector.

Measured on Zen 4: a transposed copy of 500 by 500 floats takes 6.9 cycles a vector of 16.
"""
ROW_CYCLES = 1.25
"""Cycles of loading one row of a tile that is transposed in registers, or of inserting it.

Measured on Zen 4: a tile of 4 by 16 floats takes 5 cycles a vector. Rows of bytes are as many.
"""
SHUFFLE_CYCLES = 1.0
"""Cycles of one vector of which lanes repeat elements: a load and a shuffle.

Measured on Zen 4: 400 products of 8 by 8 matrices, 32 FMAs each with two such operands, take 65
cycles each.
"""
SCALAR_UNITS = 2
"""Units for scalar operations, at least, also where two of them make one of full vectors."""
SCALAR_LOADS = 2.0
"""Scalar loads, or broadcasts to a vector, started per cycle. One scalar is stored per cycle."""
SPLIT_LOAD_CYCLES = 0.6
"""Cycles that a vector takes longer if it lies in two cache lines, as a share of a load's.

The arrays of callers are not aligned to vectors, and their rows begin anywhere. Measured on Zen 4
with three vectors of 64 bytes, one float apart, in L1: 1.7 cycles each, and 1.0 if aligned.
"""
STORES_IN_FLIGHT = 32
"""Vectors that wait in the store buffer, before loads find them in the cache."""
STORE_FACTOR = 2.0
"""A vector is stored in this many times the cycles in which one is loaded.

Vector loads wait for the first of these cycles only. Measured on Zen 4 with vectors of 64 bytes in
L1: two loads and one store take 3.0 cycles, four and one 5.1, two and two 4.7, five and two 6.8.
Updates of 4 rows by 2 terms, eight FMAs with six loads and four stores, take 10.5.
"""
MOST_SHARED = 512
"""Accesses of all copies up to which it is counted which of them read the same element."""
ISSUE_WIDTH = 4
"""Instructions of a body that start per cycle."""
SPILL_CYCLES = 8.0
"""Cycles of an iteration for each register that it lacks: a spilled sum is a chain through memory.

Measured: a register tile of 8 rows by 4 vectors, which has 32 sums and lacks 5 registers, takes 7
times as long as 6 rows by 4 vectors for each product.
"""


def arithmetic_cycles(operations: Operations, machine: Machine, units: int = 0) -> float:
    """Return the cycles of the operations of one instance, or of one vector of instances.

    Args:
        units: the execution units; by default those of vectors.
    """
    costs, units = machine.costs, units or machine.fma_units
    # Where two units make one of full vectors, each divides a scalar in half of the time.
    divisions = operations.slow * costs.division * machine.fma_units
    calls = operations.calls * costs.vector_function
    return (operations.arithmetic + divisions) / units + calls


class Body:
    """Demand of one iteration of the innermost loop on each resource."""

    def __init__(
        self,
        facts: StatementFacts,
        rolled: Sequence[LoopFacts],
        copied: Sequence[LoopFacts],
        vectors: Sequence[LoopFacts],
        machine: Machine,
    ) -> None:
        self.facts = facts
        self.rolled = rolled
        self.copied = copied
        self.vectors = vectors
        self.machine = machine
        self.inner = rolled[-1] if rolled else None
        lanes = math.prod(loop.lanes for loop in vectors)
        self.lanes = lanes
        self.masked = max((facts.masked_share(loop) for loop in vectors), default=0.0)
        self.width = max(1, math.ceil(lanes * facts.element_bits / machine.vector_bits))
        self.copies = math.prod(max(1.0, loop.trip) for loop in copied)
        self.registers = sum(
            math.ceil(self.distinct(access) * self.vectors_of(access))
            for access in _elements(facts.accesses)
            if self.is_held(access)
        )

    def distinct(self, access: AccessFacts) -> float:
        """The copies of an access that go to different elements."""
        return math.prod(loop.trip for loop in self.copied if access.stride(loop.name) != 0)

    def vectors_of(self, access: AccessFacts) -> int:
        """Registers of one copy of an access."""
        return self.width if self.along_lanes(access) != 0 else 1

    def along_lanes(self, access: AccessFacts) -> int | None:
        """The distance in bytes between lanes."""
        strides = [access.stride(loop.name) for loop in self.vectors]
        return None if None in strides else sum(stride or 0 for stride in strides)

    def is_held(self, access: AccessFacts) -> bool:
        """Whether registers hold the elements of an access across the innermost loop.

        Lanes that lie apart in memory are gathered and scattered each time.
        """
        if self.inner is None or access.stride(self.inner.name) != 0:
            return False
        stride = self.along_lanes(access)
        return stride is not None and abs(stride) in (0, access.bytes)

    def passes_through_memory(self, access: AccessFacts) -> bool:
        """Whether each unrolled update stores its target and the next one loads it again.

        Lanes that lie apart are stored by shuffles and masks, which LLVM does not forward.
        """
        stride = self.along_lanes(access)
        return (
            self.lanes > 1
            and access.runs_with(self.facts.target)
            and (stride is None or abs(stride) not in (0, access.bytes))
        )

    def resources(self) -> dict[str, float]:
        """Cycles of each resource."""
        units = max(self.machine.fma_units, SCALAR_UNITS if self.lanes == 1 else 1)
        operations = arithmetic_cycles(self.facts.operations, self.machine, units)
        arithmetic = self.copies * self.width * operations
        loads = stores = 0.0
        slots = 0.0
        accesses = _unique(self.facts.accesses)
        for access in accesses:
            copies = self.copies if self.passes_through_memory(access) else self.distinct(access)
            copies *= self.shared_part(access, accesses)
            if self.is_held(access):
                assert self.inner is not None
                copies /= max(1.0, self.inner.trip)
            cycles = copies * self.cycles_of(access)
            # No other instruction starts while lanes are gathered one by one.
            rate = ISSUE_WIDTH if self.is_gathered(access) else 1
            slots += max(copies * self.vectors_of(access), cycles * rate)
            if self.lanes > 1 and access.bytes * 8 < self.facts.element_bits:
                arithmetic += copies * self.vectors_of(access) / units  # it is converted
                if self.is_transposed(access):
                    arithmetic += cycles  # rows are inserted by the units that compute
            if access.is_write:
                stores += cycles * STORE_FACTOR
            else:
                loads += cycles
        spilled = max(0, self.registers + self.passing() - self.machine.vector_registers)
        loads += SPILL_CYCLES * spilled
        return {
            "arithmetic": arithmetic,
            "loads": loads,
            "stores": stores,
            "accesses": loads + stores / STORE_FACTOR if self.lanes > 1 else 0.0,
            "issue": (slots + arithmetic * units) / ISSUE_WIDTH,
        }

    def shared_part(self, access: AccessFacts, accesses: Sequence[AccessFacts]) -> float:
        """Return the part of the reads of a stencil that another copy has not made already."""
        if access.array == self.facts.target.array:
            return 1.0
        offsets = tuple(other.offset for other in accesses if other.runs_with(access))
        steps = tuple(
            (stride, math.ceil(loop.trip))
            for loop in self.copied
            if (stride := access.stride(loop.name)) and loop.trip > 1
        )
        return _distinct_part(offsets, steps) if len(offsets) > 1 and steps else 1.0

    def passing(self) -> int:
        """Registers of one iteration beside the held ones: sums that it loads, and an operand."""
        target = self.facts.target
        if self.is_held(target):
            shared = [
                self.distinct(access) * self.vectors_of(access)
                for access in _elements(self.facts.accesses)
                if not self.is_held(access)
                and self.along_lanes(access) != 0
                and self.distinct(access) < self.copies
            ]
            return 1 + math.ceil(max(shared, default=1.0))
        return 1 + math.ceil(self.distinct(target) * self.vectors_of(target))

    def cycles_of(self, access: AccessFacts) -> float:
        """Cycles of a port for one copy of an access."""
        if access.is_shuffled and self.lanes > 1:
            return self.width * SHUFFLE_CYCLES
        stride = self.along_lanes(access)
        if self.lanes == 1 or stride == 0:
            return 1.0 / SCALAR_LOADS
        if stride is not None and abs(stride) == access.bytes:
            reversal = 0.0 if stride > 0 else 1.0
            # One full vector a cycle for each FMA unit, as on the processors that were measured.
            split = 1.0 + SPLIT_LOAD_CYCLES * self._split_lines(access)
            return self.width * (split / self.machine.fma_units + reversal)
        if stride is not None and access.is_joined and stride > 0:
            return self.width * (1.0 / self.machine.fma_units + JOIN_CYCLES * stride / access.bytes)
        if stride is not None and abs(stride) <= access.farthest:
            each = INTERLEAVED_CYCLES if access.bytes >= 4 else NARROW_CYCLES
            return self.width * each * abs(stride) / access.bytes
        if self.is_transposed(access):
            # A register of half the width is shuffled in half the time.
            part = self.lanes * access.bytes * 8 / (self.width * self.machine.vector_bits)
            stages = 1.0 + math.log2(self.lanes / self.width)
            shuffles = self.width * min(1.0, part) * TRANSPOSE_CYCLES * stages
            return max(shuffles, ROW_CYCLES * self.lanes / self.copies)
        if self.is_table(access):
            return self.width * LOOKUP_CYCLES * ENTRIES * access.bytes * 8 / REGISTER_BITS
        costs = self.machine.costs
        lane = costs.gathered_lane if access.bytes >= 4 else costs.gathered_narrow_lane
        return self.lanes * lane * (2.0 if access.is_write else 1.0)

    def _split_lines(self, access: AccessFacts) -> float:
        """Return the part of the vectors of an access that lie in two cache lines."""
        if not access.is_argument:
            return 0.0
        vector = min(self.lanes * access.bytes, self.machine.vector_bits // 8)
        return min(1.0, vector / self.machine.caches[0].line)

    def is_gathered(self, access: AccessFacts) -> bool:
        """Whether each lane of an access is loaded or stored on its own."""
        stride = self.along_lanes(access)
        return (
            self.lanes > 1
            and (stride is None or abs(stride) > access.farthest)
            and not access.is_shuffled
            and not self.is_transposed(access)
            and not self.is_table(access)
        )

    def is_table(self, access: AccessFacts) -> bool:
        """Whether lanes are looked up in a table that registers hold."""
        return access.is_lookup and FEATURES[8 * access.bytes] in self.machine.enabled_features

    def is_transposed(self, access: AccessFacts) -> bool:
        """Whether the copies of an unrolled loop make tiles, to be transposed in registers."""
        return any(vector.is_transposed for vector in self.vectors) and any(
            self.copies == loop.trip
            and self.facts.is_transposable(access, loop.name, loop.trip, self.lanes)
            for loop in self.copied
        )

    def stalled(self) -> float:
        """Return the vector loads that partly overlap a vector that an earlier copy has stored.

        The iteration before counts as a copy if its stores are still on their way to the cache.
        """
        target, loads = self.facts.target, 0.0
        if self.along_lanes(target) != target.bytes:
            return 0.0
        vector = self.lanes * target.bytes
        rows = [loop for loop in self.copied if abs(target.stride(loop.name) or 0) >= vector]
        side = math.prod(loop.trip for loop in rows if target.stride(loop.name) == vector)
        parts = [(loop, 1.0 - 1.0 / max(1.0, loop.trip)) for loop in rows]
        if self.inner is not None and self.copies * self.width <= STORES_IN_FLIGHT:
            parts.append((self.inner, 1.0))
        for access in _unique(self.facts.accesses[1:]):
            if not access.runs_with(target):
                continue
            for loop, part in parts:
                stride = target.stride(loop.name) or 0
                distance = access.offset + stride - target.offset
                if (
                    abs(stride) >= vector
                    and stride != vector
                    and distance % vector
                    and abs(distance) < side * vector
                ):
                    loads += self.copies * self.width * part
        return loads


@lru_cache(maxsize=2**12)
def _distinct_part(offsets: tuple[int, ...], steps: tuple[tuple[int, int], ...]) -> float:
    """Return the distinct elements among the accesses of all copies, as a part of these accesses.

    Args:
        offsets: the address of each access in the first copy.
        steps: for each unrolled loop the distance between copies, and their number.
    """
    if len(offsets) * math.prod(count for _, count in steps) > MOST_SHARED:
        return 1.0
    elements, accesses = set(offsets), len(offsets)
    for stride, count in steps:
        elements = {at + stride * copy for at in elements for copy in range(count)}
        accesses *= count
    return len(elements) / accesses


def _unique(accesses: Sequence[AccessFacts]) -> list[AccessFacts]:
    """Drop reads that repeat another read of the same elements."""
    seen: dict[tuple[str, bool, int, tuple[tuple[str, int | None], ...]], AccessFacts] = {}
    for access in accesses:
        key = (access.array, access.is_write, access.offset, tuple(sorted(access.strides.items())))
        seen.setdefault(key, access)
    return list(seen.values())


def _elements(accesses: Sequence[AccessFacts]) -> list[AccessFacts]:
    """Drop accesses to the same elements as another, whether they read or write."""
    kept: list[AccessFacts] = []
    for access in accesses:
        if not any(access.runs_with(other) and access.offset == other.offset for other in kept):
            kept.append(access)
    return kept
