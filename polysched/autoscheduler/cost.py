"""The cost model: predicted cycles of a statement, from its facts and the machine.

The innermost sequential loop runs a *body*: the copies that unrolled loops write out, each on the
lanes of a vector. The model counts what one iteration of the body needs of each resource and takes
the scarcest: arithmetic units, load and store ports, the latency of carried chains. Traffic between
caches is counted from footprints. Nothing is timed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from polysched.autoscheduler.facts import AccessFacts, LoopFacts, StatementFacts
from polysched.autoscheduler.operations import Operations
from polysched.autoscheduler.traffic import iterations, memory_cycles
from polysched.ir.core.tree import LoopKind
from polysched.machine.description import Machine
from polysched.vector.passes.lookup import ENTRIES, FEATURES, REGISTER_BITS

LOOP_CYCLES = 1.5
"""Cycles of one iteration of a loop: increment, comparison, branch."""
ENTRY_CYCLES = 6.0
"""Cycles of entering and leaving a loop: bounds, masks, a branch predicted wrong now and then."""
LOOKUP_CYCLES = 0.75
"""Cycles of looking a vector up in a table, for each register that holds a part of the table."""
INTERLEAVED_CYCLES = 1.5
"""Cycles of one vector of every second, third or fourth element, for each element of the distance.

Whole vectors are loaded and shuffled. Measured on Zen 4: 2.3 cycles for every second float (a
product of complex numbers), 6.6 cycles for every fourth.
"""
JOIN_CYCLES = 0.5
"""Cycles of one shuffle that joins the vectors of several statements to whole stores."""
TRANSPOSE_CYCLES = 1.4
"""Cycles of one stage of a transposition in registers, for each vector.

Measured on Zen 4: a transposed copy of 500 by 500 floats takes 6.9 cycles a vector of 16.
"""
SHUFFLE_CYCLES = 1.0
"""Cycles of one vector of which lanes repeat elements: a load and a shuffle.

Measured on Zen 4: 400 products of 8 by 8 matrices, 32 FMAs each with two such operands, take 65
cycles each.
"""
FARTHEST_INTERLEAVED = 4
"""Elements between lanes up to which whole vectors are loaded instead of a gather."""
STORE_FORWARDING_CYCLES = 5.0
"""Cycles from a store to a load of the same element in the next iteration."""
SHORT_CYCLES = 1.0
"""Cycles of a sum or an extremum of integers in a recurrence (`vector/passes/scalar_chains.py`)."""
STRADDLING_CYCLES = 20.0
"""Cycles that a vector load waits if it takes parts of two vectors that were just stored.

No processor forwards such a load. Measured on Zen 5 with ``u[i] -= c*(u[i] - u[i - 1])``: two time
steps written out take 82 cycles for 8 vectors, one time step after the other 31.
"""
SCALAR_LOADS = 2.0
"""Scalar loads, or broadcasts to a vector, started per cycle."""
STALL_CYCLES = 12.0
"""Cycles of a vector load of bytes that two stores of the same iteration have just written.

The processor forwards a store to a load only if it holds all its bytes; else the load waits for the
cache. Measured on Zen 4: a knapsack whose rows of 80 KB run four at a time, each read 16 bytes
beside what the row before has stored, takes 240 us; row by row it takes 180 us.
"""
STORES_IN_FLIGHT = 32
"""Vectors that wait in the store buffer, before loads find them in the cache."""
COPIES_IN_FLIGHT = 50.0
"""Vector updates whose iterations overlap, if each iteration updates other elements in memory.

The processor looks ahead about 100 instructions, and an update takes two: a load and an FMA.
"""
STORE_FACTOR = 2.0
"""A vector is stored in this many times the cycles in which one is loaded."""
SPILL_CYCLES = 8.0
"""Cycles of an iteration for each register that it lacks: a spilled sum is a chain through memory.

Measured: a register tile of 8 rows by 4 vectors, which has 32 sums and lacks 5 registers, takes 7
times as long as 6 rows by 4 vectors for each product.
"""
PARTIAL_TILE_FACTOR = 4.0
"""A tile at the edge of a triangle takes this many times longer than a whole one.

Measured on Zen 4 with a triangular product of 150 rows: tiles of 32 by 8 make it 0.7 times as fast
as scalar code, rows of one vector make it twice as fast.
"""


@dataclass(frozen=True)
class Cost:
    """Predicted cycles of a statement, or of several.

    Attributes:
        cycles: the prediction.
        compute: cycles of the scarcest resource in the core.
        memory: cycles of traffic between the caches.
        bound: the resource that decides: ``"arithmetic"``, ``"loads"``, ``"stores"``, ``"chain"``,
            ``"L1"``, ``"L2"`` or ``"memory"``.
        registers: vector registers that hold values across the innermost loop.
    """

    cycles: float
    compute: float = 0.0
    memory: float = 0.0
    bound: str = ""
    registers: int = 0


def statement_cost(
    facts: StatementFacts, machine: Machine, beside: Sequence[StatementFacts] = ()
) -> Cost:
    """Predict the cost of all instances of a statement.

    Args:
        beside: the statements before it in the same loops. They have paid for the loops, and chains
            of different statements overlap.
    """
    return with_traffic(core_cost(facts, machine, beside), facts, machine, beside)


def with_traffic(
    core: Cost, facts: StatementFacts, machine: Machine, beside: Sequence[StatementFacts] = ()
) -> Cost:
    """Add the traffic between the caches to the cost of a statement in the core."""
    level, memory = memory_cycles(facts, machine, beside)
    stalls = core.cycles - core.compute
    cycles = overlapped(core.compute, memory) + stalls
    bound = core.bound if core.compute >= memory else level
    return Cost(cycles, core.compute, memory, bound, core.registers)


def overlapped(compute: float, memory: float) -> float:
    """Return the cycles of computation and traffic together, which overlap for the most part."""
    return max(compute, memory) + 0.2 * min(compute, memory)


def least_arithmetic(facts: StatementFacts, machine: Machine) -> float:
    """Return the cycles of the operations of a statement if all lanes of all vectors are used."""
    lanes = max(1, machine.vector_bits // facts.element_bits)
    return facts.instances * _arithmetic(facts.operations, machine) / lanes


def _arithmetic(operations: Operations, machine: Machine) -> float:
    """Return the cycles of the operations of one instance, or of one vector of instances."""
    costs = machine.costs
    slow = operations.slow * costs.division + operations.calls * costs.vector_function
    return operations.arithmetic / machine.fma_units + slow


def core_cost(
    facts: StatementFacts, machine: Machine, beside: Sequence[StatementFacts] = ()
) -> Cost:
    """Predict the cost of a statement if all data are in the first cache: a lower bound."""
    # A loop of one iteration is no loop in the code.
    loops = [loop for loop in facts.loops if loop.kind is not LoopKind.VECTOR and loop.trip != 1]
    vectors = [loop for loop in facts.loops if loop.kind is LoopKind.VECTOR]
    inner = _innermost(loops)
    copied = loops[inner + 1 :]
    rolled = loops[: inner + 1]
    body = _Body(facts, rolled, copied, vectors, machine)
    visits = math.prod(loop.trip for loop in rolled)
    used: dict[str, float] = {}
    for other in beside:
        used = _together(used, _Body(other, rolled, copied, vectors, machine).resources())
    resources = _together(used, body.resources())
    bound = max(resources, key=lambda name: resources[name])
    needed = resources[bound] - max(used.values(), default=0.0)
    overhead, runs = 0.0, 1.0
    for loop in rolled if not beside else ():
        overhead += runs * ENTRY_CYCLES
        runs *= loop.trip
        overhead += runs * LOOP_CYCLES
    compute = visits * needed * _raggedness(facts) * _sparseness(facts) + overhead
    stalls = visits * body.stalled() * STALL_CYCLES
    return Cost(compute + stalls, compute, 0.0, bound, body.registers)


def _together(used: dict[str, float], more: dict[str, float]) -> dict[str, float]:
    """Return what two statements in one body need of each resource."""
    return {
        name: max(used.get(name, 0.0), cycles) if name == "chain" else used.get(name, 0.0) + cycles
        for name, cycles in more.items()
    }


def _raggedness(facts: StatementFacts) -> float:
    """Return the factor by which partial tiles slow a statement down.

    Where a tile crosses the edge of a triangle, its copies have conditions and its vectors masks.
    """
    whole = 1.0
    for loop in facts.loops:
        if loop.kind.is_loop_in_code:
            continue
        for other in facts.loops:
            if other.name in loop.bounded_by and other.kind.is_loop_in_code:
                whole *= 1.0 - min(0.9, iterations(loop) / max(1.0, 2 * other.trip))
    return 1.0 + PARTIAL_TILE_FACTOR * (1.0 - whole)


def _sparseness(facts: StatementFacts) -> float:
    """Return the lanes and copies of a body for each one that runs, along loops with a stride."""
    return math.prod(loop.stride for loop in facts.loops if not loop.kind.is_loop_in_code)


def _innermost(loops: Sequence[LoopFacts]) -> int:
    """Return the position of the innermost loop that is a loop in the code; -1 if there is none."""
    positions = [at for at, loop in enumerate(loops) if loop.kind.is_loop_in_code]
    return positions[-1] if positions else -1


class _Body:
    """What one iteration of the innermost loop needs."""

    def __init__(
        self,
        facts: StatementFacts,
        rolled: Sequence[LoopFacts],
        copied: Sequence[LoopFacts],
        vectors: Sequence[LoopFacts],
        machine: Machine,
    ) -> None:
        self.facts = facts
        self.copied = copied
        self.vectors = vectors
        self.machine = machine
        self.inner = rolled[-1] if rolled else None
        lanes = math.prod(loop.lanes for loop in vectors)
        self.lanes = lanes
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
        units = self.machine.fma_units
        arithmetic = self.copies * self.width * _arithmetic(self.facts.operations, self.machine)
        loads = stores = 0.0
        for access in _unique(self.facts.accesses):
            copies = self.copies if self.passes_through_memory(access) else self.distinct(access)
            cycles = copies * self.cycles_of(access)
            if self.is_held(access):
                assert self.inner is not None
                cycles /= max(1.0, self.inner.trip)
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
            "chain": self.chain(),
            "issue": (loads * units + stores + arithmetic * units) / 4,
        }

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
            return 1.0 / SCALAR_LOADS if not access.is_write else 1.0
        if stride is not None and abs(stride) == access.bytes:
            turned = 0.0 if stride > 0 else 1.0
            # One full vector a cycle for each FMA unit, as on the processors that were measured.
            return self.width * (1.0 / self.machine.fma_units + turned)
        if stride is not None and access.is_joined and stride > 0:
            return self.width * (1.0 / self.machine.fma_units + JOIN_CYCLES * stride / access.bytes)
        if stride is not None and abs(stride) <= FARTHEST_INTERLEAVED * access.bytes:
            return self.width * INTERLEAVED_CYCLES * abs(stride) / access.bytes
        if self.is_transposed(access):
            # A register of half the width is shuffled in half the time.
            part = self.lanes * access.bytes * 8 / (self.width * self.machine.vector_bits)
            stages = 1.0 + math.log2(self.lanes / self.width)
            return self.width * min(1.0, part) * TRANSPOSE_CYCLES * stages
        if access.is_lookup and FEATURES[8 * access.bytes] in self.machine.enabled_features:
            return self.width * LOOKUP_CYCLES * ENTRIES * access.bytes * 8 / REGISTER_BITS
        costs = self.machine.costs
        lane = costs.gathered_lane if access.bytes >= 4 else costs.gathered_narrow_lane
        return self.lanes * lane * (2.0 if access.is_write else 1.0)

    def is_transposed(self, access: AccessFacts) -> bool:
        """Whether the copies of an unrolled loop make tiles, to be transposed in registers."""
        return any(
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

    def chain(self) -> float:
        """Cycles of the longest chain of operations that an iteration waits for."""
        facts, target = self.facts, self.facts.target
        latency = float(self.machine.fma_latency)
        operations = facts.operations
        registers = self.copies * self.width
        longest = 0.0
        if self.inner is not None and facts.reads_target and self.is_held(target):
            longest = latency * self.copies / max(1.0, self.distinct(target))
        if self.inner is None or self.inner.name in target.born_in:
            # Iterations whose results are their own do not wait for each other.
            return longest if self.inner is None else 0.0
        if facts.reads_target and not self.is_held(target):
            again = self.copies / max(1.0, self.distinct(target))
            if again > 1:
                longest = latency * again / max(1.0, COPIES_IN_FLIGHT / registers)
            if again > 1 and self.passes_through_memory(target):
                longest = max(longest, again * (latency + STORE_FORWARDING_CYCLES))
        each = SHORT_CYCLES if operations.are_short else latency
        depth = each * max(1, min(operations.arithmetic, 2)) + operations.slow * 13.0
        for distance in facts.distances(self.inner.name):
            longest = max(longest, (depth + STORE_FORWARDING_CYCLES) / distance)
        for loop in self.copied:
            # Between copies the value stays in a register; it passes through memory once.
            if self.inner.trip == 1 or target.stride(self.inner.name) == 0:
                continue
            for distance in facts.distances(loop.name):
                links = max(1.0, loop.trip / distance)
                longest = max(longest, depth * links + STORE_FORWARDING_CYCLES)
        straddling = sum(loop.trip - 1 for loop in self.copied if self.straddles(loop))
        return max(longest, STRADDLING_CYCLES * straddling)

    def straddles(self, loop: LoopFacts) -> bool:
        """Whether a copy loads vectors that take parts of two vectors of an earlier copy."""
        target, others = self.facts.target, [one for one in self.copied if one is not loop]
        vector, step = self.lanes * target.bytes, target.stride(loop.name)
        if self.lanes == 1 or step is None:
            return False
        span = max([vector, *(abs(target.stride(one.name) or 0) * one.trip for one in others)])
        apart = [
            access.offset - target.offset
            for access in self.facts.accesses
            if not access.is_write and access.runs_with(target)
        ]
        return any(distance % vector and abs(step + distance) < span for distance in apart)


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
