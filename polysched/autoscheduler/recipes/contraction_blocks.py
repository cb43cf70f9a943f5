"""Cache blocks of a contraction: the length of its sums in a block, and the packed operands."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.autoscheduler.recipes.contraction_loops import Contraction, Operand
from polysched.autoscheduler.recipes.contraction_tile import RegisterTile
from polysched.ir.core.cache_lines import LINE_BYTES
from polysched.machine.contraction_model import even_block, longest_block, pays_packing
from polysched.machine.description import Machine


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


def _block_of_terms(
    contraction: Contraction, tile: RegisterTile, machine: Machine
) -> tuple[str, int] | None:
    """Return blocks of the outermost reduction loop, so that panels stay in the L2 cache."""
    costs, element = machine.costs, contraction.target.bytes
    panels = max(1, len(lane_operands(contraction, tile)))
    lanes = contraction.trip(tile.lanes_loop)
    result = contraction.extent(contraction.free)
    rows = result / lanes
    whole = contraction.terms * lanes * element
    if whole > machine.last_cache_bytes // 2 and rows < costs.packing_rows:
        # The operand is streamed from memory: read a few of its rows side by side, to their ends.
        return _even_block(contraction, int(max(costs.streamed_rows, rows)), element)
    longest = longest_block(
        contraction.terms,
        panels * tile.columns * element,
        (lanes + rows) * element,
        result * element,
        machine,
    )
    return None if longest is None else _even_block(contraction, longest, element)


def _whole_block(
    contraction: Contraction, operand: Operand, machine: Machine
) -> tuple[str, int] | None:
    """Return blocks such that an operand packed for all columns fills half of the L2 cache."""
    width = 1.0
    for loop in contraction.free:
        if operand.depends_on(loop):
            width *= contraction.trip(loop)
    longest = int(machine.cache_bytes(2) // 2 // (width * operand.access.bytes))
    longest = max(machine.costs.block_terms, longest)
    return _even_block(contraction, longest, operand.access.bytes)


def _even_block(contraction: Contraction, longest: int, element: int) -> tuple[str, int] | None:
    outer, *inner = contraction.reductions
    trip, inside = contraction.trip(outer), contraction.extent(tuple(inner))
    most = max(1, int(longest // inside))
    if most >= trip:
        return None
    line = max(1, LINE_BYTES // element) if inside == 1 else 1
    return outer, even_block(trip, most, line)


def _is_movable(contraction: Contraction, tile: RegisterTile, operand: Operand) -> bool:
    """Whether a panel is a box: lanes and each reduction move along one dimension of their own."""
    loops = [tile.lanes_loop, *(r for r in contraction.reductions if operand.depends_on(r))]
    dimensions = [operand.dimension_of(loop) for loop in loops]
    return None not in dimensions and len({*dimensions}) == len(dimensions)


def _pays(
    contraction: Contraction, tile: RegisterTile, operand: Operand, terms: float, machine: Machine
) -> bool:
    rows = contraction.extent(tuple(o for o in contraction.free if not operand.depends_on(o)))
    inner = next((r for r in reversed(contraction.reductions) if operand.depends_on(r)), None)
    if inner is None:
        return False
    column = terms * operand.access.bytes
    return pays_packing(
        rows,
        abs(operand.access.stride(inner) or 0),
        terms,
        column * contraction.trip(tile.lanes_loop),
        column * tile.columns,
        machine,
    )
