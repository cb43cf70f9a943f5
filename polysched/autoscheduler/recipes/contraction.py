"""Tile a contraction for registers and caches: products of matrices, convolutions, einsums.

The tiling is that of BLIS, chosen by the closed form of T. M. Low et al., "Analytical modeling is
enough for high-performance BLIS" (2016), where the machine description knows the numbers: a tile of
accumulators fills the vector registers, a panel of the operand with lanes stays in the second-level
cache while all rows pass by it, and it is packed if its steps are far apart in memory.

The code generator keeps the sums of a tile in registers over all reduction loops. The recipe does
not promote them to a buffer: measured, that gained nothing on rectangles, and on the triangle of
``covariance`` it took 7 times as long.
"""

from __future__ import annotations

from collections.abc import Iterator

from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.recipes.contraction_blocks import Blocks, blocks_of
from polysched.autoscheduler.recipes.contraction_loops import Contraction, contraction_of
from polysched.autoscheduler.recipes.contraction_steps import tiling_steps
from polysched.autoscheduler.recipes.contraction_tile import RegisterTile, register_tile_of


def contraction(situation: Situation) -> Iterator[Proposal]:
    """Propose register tiles with cache blocks and packing, then without the blocks."""
    matched = contraction_of(situation)
    if matched is None:
        return
    for lanes_loop in matched.lane_loops():
        tile = register_tile_of(matched, lanes_loop, situation.machine)
        blocks = None if tile is None else blocks_of(matched, tile, situation.machine)
        if tile is None or blocks is None or tile.height < 2:
            continue
        for plan in _variants(blocks):
            steps = tiling_steps(situation, matched, tile, plan)
            if steps is not None:
                yield Proposal(steps, _reason(matched, tile, plan))


def _variants(blocks: Blocks) -> Iterator[Blocks]:
    yield blocks
    needs_block = any(packing.is_whole for packing in blocks.packed)
    if blocks.block is not None and not needs_block:
        yield Blocks(None, blocks.packed)


def _reason(matched: Contraction, tile: RegisterTile, blocks: Blocks) -> str:
    rows = " by ".join(f"{factor} of {loop}" for loop, factor in tile.rows)
    text = (
        f"contraction along {', '.join(matched.reductions)}: a register tile of {rows} by "
        f"{tile.columns} of {tile.lanes_loop} holds {tile.accumulators} vectors of sums"
    )
    if blocks.block is not None:
        text += f"; blocks of {blocks.block[1]} of {blocks.block[0]} stay in the L2 cache"
    for packing in blocks.packed:
        text += f"; {packing.operand.array} is packed into the order of its reads"
    return text
