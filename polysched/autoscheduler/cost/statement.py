"""The cost model: predicted cycles of a statement, from its facts and the machine.

The innermost sequential loop runs a *body*: the copies that unrolled loops write out, each on the
lanes of a vector. The model counts what one iteration of the body needs of each resource and takes
the scarcest: arithmetic units, load and store ports, the latency of carried chains. Traffic between
caches is counted from footprints. Nothing is timed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from polysched.autoscheduler.cost.body import ISSUE_WIDTH, Body, arithmetic_cycles
from polysched.autoscheduler.cost.chains import chain_cycles
from polysched.autoscheduler.cost.traffic import iterations, memory_cycles
from polysched.autoscheduler.facts.statement import LoopFacts, StatementFacts
from polysched.ir.core.tree import LoopKind
from polysched.machine.description import Machine

LOOP_CYCLES = 1.5
"""Cycles of one iteration of a loop: increment, comparison, branch."""
LOOP_SLOTS = 2.0
"""Instructions of one iteration of a loop beside its body."""
ENTRY_CYCLES = 6.0
"""Cycles of entering and leaving a loop: bounds, masks, a branch predicted wrong now and then."""
SHORT_ENTRY_CYCLES = 0.5
"""The same for a loop of a few iterations, always as many: all its branches are predicted.

Measured on Zen 4: scalar loops of 3 iterations, six instructions each, take 4 cycles an entry.
"""
SHORT_TRIP = 16
"""Iterations of such a loop, at most."""
STALL_CYCLES = 12.0
"""Cycles of a vector load of bytes that two stores of the same iteration have just written.

The processor forwards a store to a load only if it holds all its bytes; else the load waits for the
cache. Measured on Zen 4: a knapsack whose rows of 80 KB run four at a time, each read 16 bytes
beside what the row before has stored, takes 240 us; row by row it takes 180 us.
"""
NEWEST_CYCLES = 30.0
"""Cycles of a vector load that contains an element stored in the iteration before.

Measured on Zen 4 with sums of vectors that end at the element before their own: the rows of a
triangular solve of 171 floats take 72 cycles and not 42, the elements of a Cholesky factor of 180
rows 65 and not 35.
"""
PARTIAL_TILE_FACTOR = 4.0
"""A tile at the edge of a triangle takes this many times longer than a whole one.

Measured on Zen 4 with a triangular product of 150 rows: tiles of 32 by 8 make it 0.7 times as fast
as scalar code, rows of one vector make it twice as fast.
"""
PARTIAL_COPIES_FACTOR = 1.5
"""The same for copies without lanes, which only have conditions.

Measured on Zen 4: 8 rows of 10 elements of a recurrence, each a column behind the row above, never
run all at once; they take 2.6 times as long as without conditions.
"""
MASKED_VECTOR_FACTOR = 1.0
"""The same for a single vector, which only has masks, and for tiles at the end of a loop.

At the end of a loop all rows of a tile have the same vectors: products with 196 to 223 columns and
303 or 305 rows of doubles in tiles of 6 by 32 run at 0.95 of the speed of whole tiles or faster.

Measured on Zen 4 with a factorization of 48 rows of doubles: sums in one vector take 4.8 us, tiles
of 4 rows by 2 vectors 11 us.
"""


@dataclass(frozen=True)
class Cost:
    """Predicted cycles of a statement, or of several.

    Attributes:
        cycles: the prediction.
        compute: cycles of the scarcest resource in the core.
        memory: cycles of traffic between the caches.
        bound: the resource that decides: ``"arithmetic"``, ``"loads"``, ``"stores"``,
            ``"chain"``, ``"L1"``, ``"L2"`` or ``"memory"``.
        registers: vector registers that hold values across the innermost loop.
        port_waits: cycles in which loads wait for the port of stores, unless they wait for lines.
    """

    cycles: float
    compute: float = 0.0
    memory: float = 0.0
    bound: str = ""
    registers: int = 0
    port_waits: float = 0.0


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
    """Add the traffic between the caches to the cost of a statement in the core.

    Loads and stores share a port, which is free while the core waits for lines. Measured on Zen 4:
    updates of products in L1 are slower by these waits, sweeps over planes of 120 by 120 and sums
    of columns that come from the third-level cache are not.
    """
    level, memory = memory_cycles(facts, machine, beside)
    stalls = core.cycles - core.compute
    compute = core.compute + max(0.0, core.port_waits - memory)
    cycles = overlapped(compute, memory) + stalls
    bound = core.bound if core.compute >= memory else level
    return replace(core, cycles=cycles, memory=memory, bound=bound)


def overlapped(compute: float, memory: float) -> float:
    """Return the cycles of computation and traffic together, which overlap for the most part."""
    return max(compute, memory) + 0.2 * min(compute, memory)


def least_arithmetic(facts: StatementFacts, machine: Machine) -> float:
    """Return the cycles of the operations of a statement if all lanes of all vectors are used."""
    cycles = arithmetic_cycles(facts.operations, machine)
    return facts.instances * cycles / full_lanes(facts, machine)


def full_lanes(facts: StatementFacts, machine: Machine) -> int:
    """Return the lanes of one vector of a statement."""
    return max(1, machine.vector_bits // facts.element_bits)


def core_cost(
    facts: StatementFacts, machine: Machine, beside: Sequence[StatementFacts] = ()
) -> Cost:
    """Predict the cost of a statement if all data are in the first cache: a lower bound."""
    # Statements at the edges of the domain, such as a first row, pay for nothing inside.
    beside = [other for other in beside if 2 * other.instances >= facts.instances]
    # A loop of one iteration is no loop in the code.
    loops = [loop for loop in facts.loops if loop.kind is not LoopKind.VECTOR and loop.trip != 1]
    vectors = [loop for loop in facts.loops if loop.kind is LoopKind.VECTOR]
    inner = _innermost(loops)
    copied = loops[inner + 1 :]
    rolled = loops[: inner + 1]
    body = Body(facts, rolled, copied, vectors, machine)
    visits = math.prod(loop.iterations for loop in rolled)
    used = {"issue": LOOP_SLOTS / ISSUE_WIDTH} if rolled else {}
    for other in beside:
        used = _together(used, Body(other, rolled, copied, vectors, machine))
    resources = _together(used, body)
    ports = used.pop("accesses", 0.0), resources.pop("accesses")
    bound = max(resources, key=lambda name: resources[name])
    paid = max(used.values(), default=0.0) if beside else 0.0
    needed = resources[bound] - paid
    waits = max(0.0, ports[1] - resources[bound]) - max(0.0, ports[0] - paid)
    overhead, runs = 0.0, 1.0
    for loop in rolled if not beside else ():
        overhead += runs * (LOOP_CYCLES + _entry_cycles(loop))
        runs *= loop.iterations
    ragged = visits * _raggedness(facts) / _emptiness(facts)
    compute = ragged * needed + overhead
    stalls = visits * body.stalled() * STALL_CYCLES + _newest_cycles(facts)
    return Cost(compute + stalls, compute, 0.0, bound, body.registers, ragged * max(0.0, waits))


def _newest_cycles(facts: StatementFacts) -> float:
    """Return the cycles in which vectors wait for elements that were just stored."""
    runs, cycles = 1.0, 0.0
    for loop in facts.loops if facts.stalls_in else ():
        runs *= loop.iterations
        cycles += runs * NEWEST_CYCLES * (loop.name in facts.stalls_in)
    return cycles


def _together(used: dict[str, float], body: Body) -> dict[str, float]:
    """Return the demand of a body on each resource, beside that of its other statements."""
    resources = body.resources()
    together = {name: used.get(name, 0.0) + cycles for name, cycles in resources.items()}
    chain = chain_cycles(body, ISSUE_WIDTH * together["issue"])
    return {**together, "chain": max(used.get("chain", 0.0), chain)}


def _raggedness(facts: StatementFacts) -> float:
    """Return the factor by which partial tiles slow a statement down.

    Where a tile crosses the edge of a triangle, or the end of a loop, its copies have conditions
    and its vectors masks.
    """
    whole = ends = 1.0
    inside = [loop for loop in facts.loops if not loop.kind.is_loop_in_code]
    is_tile = any(loop.kind is LoopKind.UNROLLED and loop.trip > 1 for loop in inside)
    for loop in inside:
        ends *= 1.0 - loop.partial
        for other in facts.loops:
            if other.name in loop.bounded_by and other.kind.is_loop_in_code:
                whole *= 1.0 - min(0.9, iterations(loop) / max(1.0, 2 * other.trip))
    if not any(loop.kind is LoopKind.VECTOR for loop in inside):
        return 1.0 + PARTIAL_COPIES_FACTOR * (1.0 - whole * ends)
    edges = (PARTIAL_TILE_FACTOR if is_tile else MASKED_VECTOR_FACTOR) * (1.0 - whole)
    return 1.0 + edges + MASKED_VECTOR_FACTOR * whole * (1.0 - ends)


def _entry_cycles(loop: LoopFacts) -> float:
    """Return the cycles of entering and leaving a loop."""
    is_short = loop.iterations <= SHORT_TRIP and not loop.bounded_by
    return SHORT_ENTRY_CYCLES if is_short else ENTRY_CYCLES


def _emptiness(facts: StatementFacts) -> float:
    """Return how many copies of a body are counted for each one that is in the code."""
    return math.prod(loop.stride for loop in facts.loops if loop.kind is LoopKind.UNROLLED)


def _innermost(loops: Sequence[LoopFacts]) -> int:
    """Return the position of the innermost loop that is a loop in the code; -1 if there is none."""
    positions = [at for at, loop in enumerate(loops) if loop.kind.is_loop_in_code]
    return positions[-1] if positions else -1
