"""Cost model of threads: the overhead of a parallel region, and the speedup of its work."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from polysched.autoscheduler.cost.statement import Cost
from polysched.autoscheduler.cost.traffic import footprint
from polysched.autoscheduler.facts.statement import StatementFacts
from polysched.llvm.emit.regions import CHUNKS_A_THREAD
from polysched.machine.description import Cache, Machine


def speedup(cost: Cost, threads: float, machine: Machine) -> float:
    """Return how many times faster threads run a statement if all of them are busy."""
    return min(threads, machine.costs.memory_threads) if cost.bound == "memory" else threads


def least_shared(costs: Iterable[Cost], threads: int, machine: Machine) -> float:
    """Return the cycles of statements with all threads busy: no form of the nest takes fewer."""
    return sum(cost.cycles / speedup(cost, threads, machine) for cost in costs)


def shared_cycles(
    costs: Iterable[Cost], threads: int, trip: float, regions: float, machine: Machine
) -> float:
    """Predict the cycles of statements in a parallel loop.

    Args:
        trip: iterations of the loop. The last of them leave threads idle.
        regions: runs of the loop.
    """
    rounds = math.ceil(trip / threads - 1e-9) * threads / max(1.0, trip)
    return least_shared(costs, threads, machine) * rounds + regions * machine.costs.parallel_region


def share_lines(facts: Iterable[StatementFacts], loop: str, threads: int, machine: Machine) -> bool:
    """Whether threads write parts of rows that are too short for cache lines of their own."""
    least = machine.costs.thread_row_bytes
    for statement in facts:
        trip, stride = statement.loop(loop).trip, statement.target.stride(loop)
        inside = statement.loops[[other.name for other in statement.loops].index(loop) + 1 :]
        has_rows = any(abs(statement.target.stride(other.name) or 0) > least for other in inside)
        chunk = trip / min(trip, CHUNKS_A_THREAD * threads)
        if stride and has_rows and abs(stride) * chunk < least:
            return True
    return False


def moved_cycles(
    facts: Iterable[StatementFacts],
    depth: int,
    regions: float,
    written: frozenset[str],
    threads: int,
    machine: Machine,
) -> float:
    """Predict the cycles in which regions fetch what other threads used in the region before.

    Data that exceed the caches of all cores come from a shared cache, with one thread too.

    Args:
        facts: the statements in the parallel loop.
        depth: the number of loops around it.
        written: the arrays that some region writes. Lines of others lie in the shared cache, too.
    """
    own = max((cache for cache in machine.caches if cache.shared_by == 1), key=_size, default=None)
    if own is None or regions <= 1:
        return 0.0
    lines: dict[str, float] = {}
    for statement in facts:
        for access in (access for access in statement.accesses if access.array in written):
            touched = footprint(access, statement.loops[depth:], own.line)
            lines[access.array] = max(lines.get(access.array, 0.0), touched)
    used = sum(lines.values())
    if used * own.line > threads * own.bytes:
        return 0.0
    return machine.costs.moved_line * used * regions / threads


def with_least_caches(machine: Machine) -> Machine:
    """Return the machine with the part of each shared cache on which a program can count."""
    part = machine.costs.shared_cache_part
    caches = tuple(
        cache if cache.shared_by == 1 else replace(cache, bytes=int(part * cache.bytes))
        for cache in machine.near_caches
    )
    return replace(machine, caches=caches)


def _size(cache: Cache) -> int:
    return cache.bytes


def scaled(costs: Mapping[str, Cost], names: Iterable[str], cycles: float) -> dict[str, Cost]:
    """Return the costs with those of some statements scaled to a sum of cycles."""
    chosen = frozenset(names)
    share = cycles / max(1.0, sum(costs[name].cycles for name in chosen))
    return {
        name: replace(cost, cycles=cost.cycles * share, compute=cost.compute * share)
        if name in chosen
        else cost
        for name, cost in costs.items()
    }
