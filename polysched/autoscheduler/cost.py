"""The cost model: predicted cycles of a statement, from its facts and the machine.

The innermost sequential loop runs a *body*: the copies that unrolled loops write out, each on the
lanes of a vector. The model counts what one iteration of the body needs of each resource and takes
the scarcest: arithmetic units, load and store ports, the latency of carried chains. Traffic between
caches is counted from footprints. Nothing is timed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from polysched.autoscheduler.facts import AccessFacts, LoopFacts, StatementFacts, statement_facts
from polysched.ir.core.tree import LoopKind
from polysched.machine.description import Cache, Machine
from polysched.schedule.core.program import Program

LOOP_CYCLES = 1.5
"""Cycles of one iteration of a loop: increment, comparison, branch."""
ENTRY_CYCLES = 6.0
"""Cycles of entering and leaving a loop: bounds, masks, a branch predicted wrong now and then."""
SLOW_CYCLES = 8.0
"""Cycles between the starts of two vector divisions or square roots."""
CALL_CYCLES = 25.0
"""Cycles of one vector function such as ``exp``."""
GATHER_CYCLES = 2.0
"""Cycles of one lane of a gather; a scatter takes twice as long."""
STORE_FORWARDING_CYCLES = 5.0
"""Cycles from a store to a load of the same element in the next iteration."""
SCALAR_LOADS = 2.0
"""Scalar loads, or broadcasts to a vector, started per cycle."""
LINE_CYCLES = {1: 2.0, 2: 5.0, 3: 12.0}
"""Cycles to bring a line into the cache of a level, from the level behind it, in a stream."""
LEAP_FACTOR = 2.0
"""A line that is not fetched in sequence costs this many times the cycles of one in a stream."""


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


def program_costs(
    program: Program, statements: Iterable[str], machine: Machine, sizes: Mapping[str, int]
) -> dict[str, Cost]:
    """Predict the cost of each of some statements of a program."""
    return {
        name: statement_cost(statement_facts(program, name, sizes), machine) for name in statements
    }


def statement_cost(facts: StatementFacts, machine: Machine) -> Cost:
    """Predict the cost of all instances of a statement."""
    loops = [loop for loop in facts.loops if loop.kind is not LoopKind.VECTOR]
    vectors = [loop for loop in facts.loops if loop.kind is LoopKind.VECTOR]
    inner = _innermost(loops)
    copied = loops[inner + 1 :]
    rolled = loops[: inner + 1]
    body = _Body(facts, rolled, copied, vectors, machine)
    iterations = math.prod(loop.trip for loop in rolled)
    resources = body.resources()
    bound = max(resources, key=lambda name: resources[name])
    overhead, runs = 0.0, 1.0
    for loop in rolled:
        overhead += runs * ENTRY_CYCLES
        runs *= loop.trip
        overhead += runs * LOOP_CYCLES
    compute = iterations * resources[bound] + overhead
    level, memory = memory_cycles(facts, machine)
    cycles = max(compute, memory) + 0.2 * min(compute, memory)
    return Cost(cycles, compute, memory, bound if compute >= memory else level, body.registers)


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
            for access in _unique(facts.accesses)
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
        """Whether registers hold the elements of an access across the innermost loop."""
        return self.inner is not None and access.stride(self.inner.name) == 0

    def resources(self) -> dict[str, float]:
        """Cycles of each resource."""
        operations = self.facts.operations
        registers = self.copies * self.width
        units = self.machine.fma_units
        arithmetic = registers * operations.arithmetic / units
        arithmetic += registers * (operations.slow * SLOW_CYCLES + operations.calls * CALL_CYCLES)
        loads = stores = 0.0
        for access in _unique(self.facts.accesses):
            cycles = self.distinct(access) * self.cycles_of(access)
            if self.is_held(access):
                assert self.inner is not None
                cycles /= max(1.0, self.inner.trip)
            if access.is_write:
                stores += cycles
            else:
                loads += cycles
        spilled = max(0, self.registers + 2 - self.machine.vector_registers)
        loads += 2.0 * spilled
        return {
            "arithmetic": arithmetic,
            "loads": loads,
            "stores": stores,
            "chain": self.chain(),
            "issue": (loads * units + stores + arithmetic * units) / 4,
        }

    def cycles_of(self, access: AccessFacts) -> float:
        """Cycles of a port for one copy of an access."""
        stride = self.along_lanes(access)
        if self.lanes == 1 or stride == 0:
            return 1.0 / SCALAR_LOADS if not access.is_write else 1.0
        if stride is not None and abs(stride) == access.bytes:
            turned = 0.0 if stride > 0 else 1.0
            # One full vector a cycle for each FMA unit, as on the processors that were measured.
            return self.width * (1.0 / self.machine.fma_units + turned)
        if self.is_transposed(access):
            return self.width * (1.0 + math.log2(self.lanes / self.width))
        return self.lanes * GATHER_CYCLES * (2.0 if access.is_write else 1.0)

    def is_transposed(self, access: AccessFacts) -> bool:
        """Whether the copies of an unrolled loop make whole rows, to be transposed in registers."""
        return any(
            abs(access.stride(loop.name) or 0) == access.bytes and loop.trip >= 4
            for loop in self.copied
        )

    def chain(self) -> float:
        """Cycles of the longest chain of operations that an iteration waits for."""
        facts, target = self.facts, self.facts.target
        latency = float(self.machine.fma_latency)
        operations = facts.operations
        longest = 0.0
        if self.inner is not None and facts.reads_target and self.is_held(target):
            longest = latency * self.copies / max(1.0, self.distinct(target))
        if self.inner is None:
            return longest
        step = target.stride(self.inner.name)
        for access in facts.accesses[1:]:
            if not step or not access.runs_with(target):
                continue
            distance = (target.offset - access.offset) / step
            if distance >= 1 and distance == int(distance):
                depth = latency * max(1, min(operations.arithmetic, 2))
                depth += operations.slow * 13.0 + STORE_FORWARDING_CYCLES
                longest = max(longest, depth * 1.0 / distance)
        return longest


def _unique(accesses: Sequence[AccessFacts]) -> list[AccessFacts]:
    """Drop reads that repeat another read of the same elements."""
    seen: dict[tuple[str, bool, int, tuple[tuple[str, int | None], ...]], AccessFacts] = {}
    for access in accesses:
        key = (access.array, access.is_write, access.offset, tuple(sorted(access.strides.items())))
        seen.setdefault(key, access)
    return list(seen.values())


def memory_cycles(facts: StatementFacts, machine: Machine) -> tuple[str, float]:
    """Return the cycles of traffic into the busiest cache, and the name of the level behind it."""
    busiest, name = 0.0, "L1"
    streams = _streams(facts.accesses)
    for cache in machine.caches:
        cycles = sum(_traffic(stream, streams, facts.loops, cache) for stream in streams)
        cycles *= LINE_CYCLES.get(cache.level, LINE_CYCLES[3])
        if cycles > busiest:
            busiest = cycles
            name = "memory" if cache is machine.caches[-1] else f"L{cache.level + 1}"
    return name, busiest


def _streams(accesses: Sequence[AccessFacts]) -> list[AccessFacts]:
    """Return one access of each group that moves through an array in the same way."""
    groups: list[AccessFacts] = []
    for access in accesses:
        if not any(access.runs_with(other) for other in groups):
            groups.append(access)
    return groups


def footprint(access: AccessFacts, loops: Sequence[LoopFacts], line: int) -> tuple[float, bool]:
    """Return the lines that an access touches in all iterations of some loops.

    The second value tells whether the lines lie one behind the other.
    """
    moves = sorted(
        (abs(stride) if stride is not None else line, _count(loop))
        for loop in loops
        if (stride := access.stride(loop.name)) != 0
    )
    span, pieces = float(access.bytes), 1.0
    for stride, count in moves:
        if stride <= max(span, line):
            span += stride * (count - 1)
        else:
            pieces *= count
    return pieces * max(1.0, span / line), span >= 2 * line or pieces == 1


def _count(loop: LoopFacts) -> float:
    return float(loop.lanes) if loop.kind is LoopKind.VECTOR else max(1.0, loop.trip)


def _traffic(
    access: AccessFacts, streams: Sequence[AccessFacts], loops: Sequence[LoopFacts], cache: Cache
) -> float:
    """Return the lines that an access brings into a cache, weighted by how they are fetched."""
    # The outermost loops whose iterations together fit the cache.
    first = len(loops)
    while first > 0:
        inside = loops[first - 1 :]
        held = sum(footprint(stream, inside, cache.line)[0] for stream in streams)
        if held * cache.line > cache.bytes:
            break
        first -= 1
    lines, in_sequence = footprint(access, loops[first:], cache.line)
    outside = list(loops[:first])
    while outside and access.stride(outside[-1].name) == 0:
        outside.pop()
    if outside and first == len(loops):
        # Not even one iteration of the innermost loop shares lines: neighbors still do.
        stride = access.stride(outside[-1].name)
        lines *= min(1.0, (abs(stride) if stride is not None else cache.line) / cache.line)
    weight = 1.0 if in_sequence else LEAP_FACTOR
    return lines * weight * math.prod(_count(loop) for loop in outside)
