"""Chains of dependent operations: cycles for which an iteration waits for the one before."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.autoscheduler.cost.body import Body
from polysched.autoscheduler.facts.statement import NEAR_ITERATIONS, LoopFacts

STORE_FORWARDING_CYCLES = 5.0
"""Cycles from a store to a load of the same element in the next iteration."""
SHORT_CYCLES = 1.0
"""Cycles of a sum or an extremum of integers in a recurrence (`vector/passes/scalar_chains.py`)."""
STRADDLING_CYCLES = 20.0
"""Cycles that a vector load waits if it takes parts of two vectors that were just stored.

No processor forwards such a load. Measured on Zen 5 with ``u[i] -= c*(u[i] - u[i - 1])``: two time
steps written out take 82 cycles for 8 vectors, one time step after the other 31.
"""
MASKED_UPDATE_CYCLES = 30.0
"""Cycles from a masked store of a vector to a load of it; no processor forwards such stores.

Measured on Zen 4 with a convolution of 54 columns: of 12 FMAs of a body, whose last vectors have 6
lanes, 8 load what another has stored, and the body takes 270 cycles with masks and 13 without.
"""
COPIES_IN_FLIGHT = 50.0
"""Vector updates whose iterations overlap, if each iteration updates other elements in memory.

The processor looks ahead about 100 instructions, and an update takes two: a load and an FMA.
"""


def chain_cycles(body: Body, slots: float) -> float:
    """Return the cycles of the longest chain of operations that an iteration waits for.

    Args:
        slots: the instructions of one iteration of all statements in the body.
    """
    facts, target = body.facts, body.facts.target
    latency = float(body.machine.fma_latency)
    operations = facts.operations
    registers = body.copies * body.width
    longest = 0.0
    if body.inner is not None and facts.reads_target and body.is_held(target):
        update = SHORT_CYCLES if operations.are_integer_sums else latency
        longest = update * body.copies / max(1.0, body.distinct(target))
        longest /= _in_flight(body, slots, 1.0, body.rolled)
    if body.inner is None or body.inner.name in target.born_in:
        # Iterations whose results are their own do not wait for each other.
        return longest if body.inner is None else 0.0
    if facts.reads_target and not body.is_held(target):
        again = body.copies / max(1.0, body.distinct(target))
        if again > 1:
            longest = latency * again / max(1.0, COPIES_IN_FLIGHT / registers)
            waiting = registers - registers / again
            longest = max(longest, MASKED_UPDATE_CYCLES * waiting * body.masked)
        if again > 1 and body.passes_through_memory(target):
            longest = max(longest, again * (latency + STORE_FORWARDING_CYCLES))
    each = SHORT_CYCLES if operations.are_short else latency
    depth = each * max(1, min(operations.arithmetic, 2)) + operations.slow * 13.0
    rows = _rows_in_flight(body, slots)
    for distance in facts.distances(body.inner.name):
        longest = max(longest, (depth + STORE_FORWARDING_CYCLES) / distance / rows)
    if facts.carried is not None:
        latencies = each * facts.carried.operations
        forwarded = STORE_FORWARDING_CYCLES * facts.carried.stores
        copies = [loop.trip for loop in body.copied if loop.name == facts.carried.loop]
        if copies:
            links = max(1.0, copies[0] / facts.carried.distance)
            longest = max(longest, latencies * links + forwarded)
        else:
            longest = max(longest, (latencies + forwarded) / facts.carried.distance / rows)
    for loop in body.copied:
        # Between copies the value stays in a register; it passes through memory once.
        if body.inner.trip == 1 or target.stride(body.inner.name) == 0:
            continue
        for distance in facts.distances(loop.name):
            links = max(1.0, loop.trip / distance)
            longest = max(longest, depth * links + STORE_FORWARDING_CYCLES)
    straddling = sum(loop.trip - 1 for loop in body.copied if _straddles(body, loop))
    return max(longest, STRADDLING_CYCLES * straddling)


def _rows_in_flight(body: Body, slots: float) -> float:
    """Return how many rows of a recurrence advance together: a row waits for the same columns."""
    assert body.inner is not None
    if len(body.rolled) < 2 or not _waits_for_near_columns(body, body.rolled[-2], body.inner):
        return 1.0
    return _in_flight(body, slots, body.inner.trip, body.rolled[:-1])


def _waits_for_near_columns(body: Body, outer: LoopFacts, inner: LoopFacts) -> bool:
    """Whether a row reads elements only near the columns that an earlier row writes then."""
    target = body.facts.target
    row, column = target.stride(outer.name), target.stride(inner.name)
    if row is None or not column:
        return False
    for access in body.facts.accesses[1:]:
        if access.array == target.array:
            apart = access.offset - target.offset
            apart -= round(apart / row) * row if row else 0
            if not access.runs_with(target) or abs(apart / column) > NEAR_ITERATIONS:
                return False
    return True


def _in_flight(body: Body, slots: float, terms: float, around: Sequence[LoopFacts]) -> float:
    """Return how many sums or rows advance together, since the processor looks ahead to the next.

    While a sum waits for its last term, the terms of the next one that are in flight are added.

    Args:
        terms: the iterations of one row; of a sum, the loops around it make its terms.
    """
    target = body.facts.target
    for loop in reversed(around):
        if target.stride(loop.name) == 0 and loop.name not in target.born_in:
            terms *= max(1.0, loop.trip)
        elif loop.name in body.facts.waits_in:
            break
        else:
            ahead = body.machine.costs.instructions_in_flight / max(1.0, slots)
            return min(max(1.0, loop.trip), 1.0 + ahead / terms)
    return 1.0


def _straddles(body: Body, loop: LoopFacts) -> bool:
    """Whether a copy loads vectors that take parts of two vectors of an earlier copy."""
    target, others = body.facts.target, [copied for copied in body.copied if copied is not loop]
    vector, step = body.lanes * target.bytes, target.stride(loop.name)
    if body.lanes == 1 or step is None:
        return False
    span = max([vector, *(abs(target.stride(other.name) or 0) * other.trip for other in others)])
    apart = [
        access.offset - target.offset
        for access in body.facts.accesses
        if not access.is_write and access.runs_with(target)
    ]
    return any(distance % vector and abs(step + distance) < span for distance in apart)
