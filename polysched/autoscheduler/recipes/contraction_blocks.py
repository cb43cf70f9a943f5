"""Cache blocks of a contraction: the length of its sums in a block, and what is packed."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.autoscheduler.recipes.contraction_loops import Contraction, Operand
from polysched.autoscheduler.recipes.contraction_tile import RegisterTile
from polysched.machine.description import Machine

FEWEST_ROWS = 128
"""Pack an operand if at least this many rows read each element of it.

Packing costs about 6 cycles a vector (``notes/performance.md``), which fewer rows do not save.
"""
FEWEST_CROWDED_ROWS = 64
"""The same, if the steps of a panel are a multiple of a page apart: they share one cache set."""
NEAR_PAGES = 64
"""Pages that a panel may touch before the first-level TLB, which has so many entries, misses."""
SHORTEST_BLOCK = 64
"""Terms of a block, at least: each block loads and stores all the sums."""
STREAMED_ROWS = 8
"""Terms of a block, at least, if an operand comes from memory and few rows reuse it."""
DEFAULT_NEAR = 256 * 1024
"""Bytes of the second-level cache of a machine without a known one."""


@dataclass(frozen=True)
class Packing:
    """An operand that is copied into the order in which the register tile reads it.

    Attributes:
        is_whole: whether a block of the terms is packed for all columns, not for each panel.
    """

    operand: Operand
    is_whole: bool


@dataclass(frozen=True)
class Blocks:
    """Cache blocks.

    Attributes:
        block: the reduction loop that is blocked, with the terms of a block; None for no blocks.
        packed: the operands that are packed.
    """

    block: tuple[str, int] | None
    packed: tuple[Packing, ...]


def panel_loops(contraction: Contraction, tile: RegisterTile) -> tuple[str, ...]:
    """The loops, other than that of the lanes, that select a panel of the operands with lanes."""
    tiled = {loop for loop, _ in tile.rows} | {tile.lanes_loop}
    return tuple(
        loop
        for loop in contraction.free
        if loop not in tiled and any(o.depends_on(loop) for o in lane_operands(contraction, tile))
    )


def lane_operands(contraction: Contraction, tile: RegisterTile) -> tuple[Operand, ...]:
    """The operands that are read as vectors."""
    return tuple(o for o in contraction.operands if o.depends_on(tile.lanes_loop))


def blocks_of(contraction: Contraction, tile: RegisterTile, machine: Machine) -> Blocks | None:
    """Choose cache blocks; None if lanes cannot read an operand, packed or not."""
    block = _block_of_terms(contraction, tile, machine)
    terms = contraction.terms
    if block is not None:
        terms = terms / contraction.trip(block[0]) * block[1]
    packed: list[Packing] = []
    for operand in lane_operands(contraction, tile):
        must = not operand.is_contiguous(tile.lanes_loop)
        if not must and not _pays(contraction, tile, operand, terms, machine):
            continue
        if operand.array == contraction.target.array or not _is_movable(contraction, tile, operand):
            if must:
                return None
            continue
        if operand.forms > 1:
            if must:
                block = block or _whole_block(contraction, operand, machine)
                packed.append(Packing(operand, is_whole=True))
            continue
        packed.append(Packing(operand, is_whole=False))
    return Blocks(block, tuple(packed))


def _near(machine: Machine) -> int:
    cache = machine.cache(2)
    return cache.bytes if cache else DEFAULT_NEAR


def _far(machine: Machine) -> int:
    return machine.caches[-1].bytes if machine.caches else DEFAULT_NEAR


def _block_of_terms(
    contraction: Contraction, tile: RegisterTile, machine: Machine
) -> tuple[str, int] | None:
    """Return blocks of the outermost reduction loop, so that panels stay in the L2 cache.

    A panel fills at most a third of it. If the whole result stays there too, blocks are so short
    that the operands do so as well.
    """
    near, element = _near(machine), contraction.target.bytes
    panels = max(1, len(lane_operands(contraction, tile)))
    longest = max(SHORTEST_BLOCK, near // (3 * panels * tile.columns * element))
    lanes = contraction.trip(tile.lanes_loop)
    others = contraction.extent(contraction.free) / lanes
    if contraction.terms * lanes * element > _far(machine) // 2 and others < FEWEST_ROWS:
        # The operand is streamed from memory: read a few of its rows side by side, to their ends.
        return _even_block(contraction, int(max(STREAMED_ROWS, others)), element)
    if contraction.terms <= longest:
        return None
    if contraction.extent(contraction.free) * element <= near // 4:
        longest = max(SHORTEST_BLOCK, int(near // 8 // ((lanes + others) * element)))
    return _even_block(contraction, longest, element)


def _whole_block(
    contraction: Contraction, operand: Operand, machine: Machine
) -> tuple[str, int] | None:
    """Return blocks such that an operand packed for all columns fills half of the L2 cache."""
    width = 1.0
    for loop in contraction.free:
        if operand.depends_on(loop):
            width *= contraction.trip(loop)
    longest = int(_near(machine) // 2 // (width * operand.access.bytes))
    return _even_block(contraction, max(SHORTEST_BLOCK, longest), operand.access.bytes)


def _even_block(contraction: Contraction, longest: int, element: int) -> tuple[str, int] | None:
    outer, *inner = contraction.reductions
    trip, inside = contraction.trip(outer), contraction.extent(tuple(inner))
    most = max(1, int(longest // inside))
    if most >= trip:
        return None
    line = max(1, 64 // element) if inside == 1 else 1
    count = -(-trip // most)
    return outer, -(-trip // (count * line)) * line


def _is_movable(contraction: Contraction, tile: RegisterTile, operand: Operand) -> bool:
    """Whether a panel is a box: lanes and each reduction move along one dimension of their own."""
    loops = [tile.lanes_loop, *(r for r in contraction.reductions if operand.depends_on(r))]
    dimensions = [operand.dimension_of(loop) for loop in loops]
    return None not in dimensions and len({*dimensions}) == len(dimensions)


def _pays(
    contraction: Contraction,
    tile: RegisterTile,
    operand: Operand,
    terms: float,
    machine: Machine,
) -> bool:
    rows = contraction.extent(tuple(o for o in contraction.free if not operand.depends_on(o)))
    inner = next((r for r in reversed(contraction.reductions) if operand.depends_on(r)), None)
    if inner is None:
        return False
    step = abs(operand.access.stride(inner) or 0)
    pages = terms * min(1.0, step / machine.page_bytes)
    whole = terms * contraction.trip(tile.lanes_loop) * operand.access.bytes
    is_crowded = step % machine.page_bytes == 0 and whole > DEFAULT_NEAR // 8
    is_distant = whole > _near(machine) or pages > NEAR_PAGES
    return (is_crowded and rows >= FEWEST_CROWDED_ROWS) or (is_distant and rows >= FEWEST_ROWS)
