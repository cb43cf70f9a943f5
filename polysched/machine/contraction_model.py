"""Cost model of contractions: register tiles, cache blocks and packing.

The library plans matrix products with it, and the autoscheduler all contractions. A *panel* is the
part of an operand that a register tile reads as vectors, for all terms of a block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TypeVar

from polysched.machine.description import Machine

TOLERANCE = 0.02
"""Relative difference of modeled cycles up to which tiles count as equally fast."""

WIDEST_VECTOR = 512
"""The bits of the loads that ``Costs.l2_load`` counts."""

DEFAULT_WAYS = 8
"""Ways of the L1 cache of a machine without a known one."""

_Tile = TypeVar("_Tile")


@dataclass(frozen=True)
class TileStep:
    """The work of a register tile for one term of its sums.

    Attributes:
        sums: vectors of sums.
        arithmetic: vector operations, at least one for each of the sums.
        loads: loads of vectors and of broadcast elements.
        panel_loads: the loads of vectors among them.
        chains: operations of one sum that depend on each other.
        slack: sums that keep the FMA units busy, over the FMAs in flight.
    """

    sums: int
    arithmetic: int
    loads: float
    panel_loads: float
    chains: int = 1
    slack: float = 1.0


def tile_cycles(
    step: TileStep, terms: float, panel_bytes: float, machine: Machine, line_cycles: float = 0.0
) -> float:
    """Model the cycles of one register tile.

    A term takes as long as the slowest of its FMAs, its loads and the FMA latency. The model loads
    as many vectors a cycle from L1 as there are FMA units. If a panel exceeds half of L1, 512-bit
    vectors are loaded at ``1 / l2_load`` of that rate, and narrower ones at as many bytes a cycle.

    Args:
        step: the work for one term.
        terms: the terms of a sum.
        panel_bytes: bytes of a panel.
        machine: the machine.
        line_cycles: cycles for lines from L2 beside the FMAs, for each term.
    """
    is_near = panel_bytes <= machine.cache_bytes(1) // 2
    from_l2 = max(1.0, machine.costs.l2_load * machine.vector_bits / WIDEST_VECTOR)
    panel_loads = step.panel_loads * (1 if is_near else from_l2)
    latency = step.slack * machine.fma_latency * machine.fma_units * step.chains
    busiest = max(step.arithmetic, step.loads, panel_loads, latency)
    return (
        terms * (busiest / machine.fma_units + line_cycles)
        + machine.costs.tile_entry
        + step.sums / machine.fma_units
    )


def near_l3_bytes(machine: Machine) -> int:
    """The bytes of the last cache that are near to one core."""
    return min(machine.cache_bytes(3), machine.costs.near_l3_bytes)


def cheapest_tile(
    tiles: Sequence[_Tile],
    cycles: Sequence[float],
    kinds: Callable[[_Tile], int],
    loads: Callable[[_Tile], float],
) -> _Tile:
    """Choose among the tiles whose cycles are within ``TOLERANCE`` of the fewest.

    Args:
        tiles: register tiles that fit the registers, at least one.
        cycles: the modeled cycles of each.
        kinds: the number of kinds of full and partial tiles. The fewest are best, because each kind
            is a separate copy of the code.
        loads: the loads for each FMA; fewer are better among tiles of as few kinds.
    """
    most = min(cycles) * (1 + TOLERANCE)
    fast = (tile for tile, taken in zip(tiles, cycles, strict=True) if taken <= most)
    return min(fast, key=lambda tile: (kinds(tile), loads(tile)))


def tallest_tile(machine: Machine) -> int:
    """The rows of a register tile, at most: the ways of an L1 set.

    The rows of an operand may all fall into one set.
    """
    nearest = machine.cache(1)
    return nearest.associativity if nearest else DEFAULT_WAYS


def pieces(extent: int, tile: int) -> list[tuple[int, int]]:
    """The sizes of the full and the partial tiles along a dimension, with their counts."""
    full, rest = divmod(extent, tile)
    return [(size, count) for size, count in ((tile, full), (rest, 1)) if size and count]


def longest_block(
    terms: float,
    panel_bytes: int,
    operand_bytes: float,
    result_bytes: float,
    machine: Machine,
    *,
    is_row: bool = False,
    is_short: bool = False,
) -> int | None:
    """The terms of a cache block, at most; None if all terms fit one block.

    A panel fills at most a third of L2: with blocks of 1024 terms 2048^3 went from 0.78 to 0.91 of
    peak in f32 (``notes/performance.md``). If a quarter of L2 holds the result, blocks are so short
    that an eighth holds the operands.

    Args:
        terms: the terms of a sum.
        panel_bytes: bytes of one term of the panels.
        operand_bytes: bytes of one term of the operands.
        result_bytes: bytes of the result.
        machine: the machine.
        is_row: whether a single row reads the panels. It then reads each operand row by row, as
            long as the sums stay in L1, instead of panel by panel.
        is_short: whether panels are prefetched in place, in blocks for which
            :func:`pays_short_blocks`.
    """
    if is_short:
        longest = machine.costs.prefetched_block_terms
        return longest if longest < terms else None
    near, shortest = machine.cache_bytes(2), machine.costs.block_terms
    longest = shortest if is_row else max(shortest, near // (3 * panel_bytes))
    if terms <= longest:
        return None
    if result_bytes <= near // 4:
        return max(shortest, int(near // 8 // operand_bytes))
    return longest


def pays_short_blocks(operand_bytes: float, step_bytes: int, machine: Machine) -> bool:
    """Whether panels that are prefetched in place have few terms.

    They do if the operand comes from memory, or if its steps share one cache set, which keeps few
    lines of a panel.

    Args:
        operand_bytes: bytes of the operand.
        step_bytes: the distance of neighboring terms in memory.
        machine: the machine.
    """
    return operand_bytes > near_l3_bytes(machine) // 2 or is_conflicting(step_bytes, machine)


def even_block(terms: int, longest: int, multiple: int = 1) -> int:
    """The terms of nearly equal blocks of at most ``longest`` terms, rounded up to a multiple.

    With blocks of whole cache lines, tiles that pack and prefetches have no partial iteration in
    each block, which would be a separate copy of the code.
    """
    count = -(-terms // longest)
    return -(-terms // (count * multiple)) * multiple


def is_conflicting(step_bytes: int, machine: Machine) -> bool:
    """Whether elements at multiples of a distance fall into the same sets of the caches."""
    return step_bytes % machine.page_bytes == 0


def exceeds_sets(step_bytes: int, count: float, machine: Machine) -> bool:
    """Whether lines at multiples of a distance exceed the ways of the L1 sets that they fall into.

    In place, 128 rows of a matrix of 512 f32 columns have 2 sets of 8 ways: with AVX2 a product of
    256 x 512 x 128 reaches 0.55 of the speed of OpenBLAS, which packs, and 0.95 with a packed copy.
    """
    nearest = machine.cache(1)
    if nearest is None or step_bytes % nearest.line:
        return False
    distinct = nearest.sets // gcd(nearest.sets, step_bytes // nearest.line)
    return count > distinct * nearest.associativity


def pays_packing(
    rows: float,
    step_bytes: int,
    terms: float,
    operand_bytes: float,
    panel_bytes: float,
    machine: Machine,
    *,
    is_prefetched: bool = False,
) -> bool:
    """Whether copying an operand into the order of its reads saves more time than it takes.

    It pays if enough rows read each element, and the operand exceeds L2, its steps share one cache
    set, a panel would fit half of L1 but exceeds the ways of its sets, its rows are narrow pieces
    of the operand's, or the operand touches more pages than the first-level TLB holds. On a machine
    whose loads are slow across cache lines enough rows are sufficient.

    A packed panel of more than half of L1 does not stay there beside the other operand: with
    AVX-512, 64 x 64 x 16384 takes 1.47 ms with panels of 32 KiB packed and 1.27 ms in place.

    Args:
        rows: how often each element is read.
        step_bytes: the distance of neighboring terms in memory.
        terms: the terms of a block.
        operand_bytes: bytes of all panels in one block.
        panel_bytes: bytes of one panel.
        machine: the machine.
        is_prefetched: whether the panels are prefetched where the operand is read in place. Then
            only its pages count.
    """
    costs = machine.costs
    if rows >= costs.aligning_rows:
        return True
    if is_prefetched:
        return rows >= costs.page_packing_rows
    nearest, conflicts = machine.cache_bytes(1), is_conflicting(step_bytes, machine)
    exceeds = panel_bytes <= nearest // 2 and exceeds_sets(step_bytes, terms, machine)
    if exceeds or (conflicts and panel_bytes <= nearest):
        return rows >= costs.conflicting_packing_rows
    is_narrow = panel_bytes < terms * costs.narrow_panel < terms * step_bytes
    if is_narrow and operand_bytes > 2 * nearest:
        return rows >= costs.narrow_packing_rows
    if conflicts or operand_bytes > machine.cache_bytes(2):
        return rows >= costs.packing_rows
    pages = terms * min(1.0, step_bytes / machine.page_bytes)
    return pages > costs.near_pages and rows >= costs.page_packing_rows
