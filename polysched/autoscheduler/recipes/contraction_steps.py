"""The steps that tile a contraction: split, reorder, pack, vectorize, unroll."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.autoscheduler.forms.candidate import Situation
from polysched.autoscheduler.forms.legal import applied
from polysched.autoscheduler.forms.nests import fresh_names
from polysched.autoscheduler.forms.private_arrays import fresh_array
from polysched.autoscheduler.recipes.contraction_blocks import Blocks, Packing, panel_loops
from polysched.autoscheduler.recipes.contraction_loops import Contraction, Operand
from polysched.autoscheduler.recipes.contraction_tile import RegisterTile
from polysched.ir.core.tree import path
from polysched.schedule.primitives.pack import Pack
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step


@dataclass(frozen=True)
class TiledLoops:
    """The loops of a tiled contraction, by their new names.

    Attributes:
        order: all loops, outermost first.
        inside: the loops of the register tile, that of the lanes last.
        panel: the innermost loop that selects a panel of the operands with lanes.
        block: the loop over blocks of terms; None if there are none.
        splits: the loops that are split, with the factor and the new names.
    """

    order: tuple[str, ...]
    inside: tuple[str, ...]
    panel: str
    block: str | None
    splits: tuple[tuple[str, int, str, str], ...]


def tiled_loops(
    situation: Situation, contraction: Contraction, tile: RegisterTile, blocks: Blocks
) -> TiledLoops:
    """Name and order the loops: batch, blocks of terms, panels, rows, terms, register tile.

    The reductions keep their order, so that each sum adds its terms in the same order as before.
    """
    factors = [*tile.rows, (tile.lanes_loop, tile.columns)]
    if blocks.block is not None:
        factors.append(blocks.block)
    split_names = [name for loop, _ in factors for name in (f"{loop}o", f"{loop}i")]
    names = fresh_names(situation.schedule.program, situation.nest.chain[0], *split_names)
    splits = tuple(
        (loop, factor, names[2 * at], names[2 * at + 1])
        for at, (loop, factor) in enumerate(factors)
    )
    outer = {loop: name for loop, _, name, _ in splits}
    inner = {loop: name for loop, _, _, name in splits}
    tiled = {loop for loop, _ in tile.rows} | {tile.lanes_loop}
    panels = panel_loops(contraction, tile)
    batch = [loop for loop in panels if not contraction.reused_along(loop)]
    block = outer[blocks.block[0]] if blocks.block is not None else None
    rows = [loop for loop in contraction.free if loop not in tiled and loop not in panels]
    row_tiles = [outer[loop] for loop in contraction.free if loop in dict(tile.rows)]
    inside = (
        *(inner[loop] for loop in contraction.free if loop in dict(tile.rows)),
        inner[tile.lanes_loop],
    )
    order = (
        *batch,
        *((block,) if block is not None else ()),
        *(loop for loop in panels if loop not in batch),
        outer[tile.lanes_loop],
        *rows,
        *row_tiles,
        *(inner.get(loop, loop) for loop in contraction.reductions),
        *inside,
    )
    return TiledLoops(order, inside, outer[tile.lanes_loop], block, splits)


def tiling_steps(
    situation: Situation, contraction: Contraction, tile: RegisterTile, blocks: Blocks
) -> tuple[Step, ...] | None:
    """Return the steps; None if a step cannot be applied to the program."""
    loops = tiled_loops(situation, contraction, tile, blocks)
    statement = contraction.statements[0]
    steps: list[Step] = [
        Split(f"{statement}.{loop}", factor, (outer, inner))
        for loop, factor, outer, inner in loops.splits
    ]
    steps.append(Reorder(tuple(f"{statement}.{loop}" for loop in loops.order)))
    schedule = applied(situation.schedule, steps)
    if schedule is None:
        return None
    for packing in blocks.packed:
        packing_steps = _packing_steps(schedule, contraction, tile, loops, packing)
        after = None if packing_steps is None else applied(schedule, packing_steps)
        if packing_steps is None or after is None:
            return None
        schedule = after
        steps += packing_steps
    steps.append(Vectorize(f"{statement}.{loops.inside[-1]}", tile.lanes))
    steps += (Unroll(f"{statement}.{loop}") for loop in loops.inside)
    return tuple(steps)


def _packing_steps(
    schedule: Schedule,
    contraction: Contraction,
    tile: RegisterTile,
    loops: TiledLoops,
    packing: Packing,
) -> list[Step] | None:
    """Return the steps that pack an operand into the order of its reads, and copy it by vectors."""
    operand = packing.operand
    at = loops.panel
    if packing.is_whole:
        if loops.block is None:
            return None
        at = loops.block
    order = _packed_order(contraction, tile, operand)
    into = fresh_array(schedule.program, f"{operand.array}_packed")
    location = f"{contraction.statements[0]}.{at}"
    own = order != operand.dimensions
    steps: list[Step] = [Pack(operand.array, location, order if own else None, into)]
    after = applied(schedule, steps)
    if after is None:
        return None
    around = {loop.name for loop in path(after.program.tree, into)}
    column = order[-1]
    if column not in around:
        return steps
    if operand.is_contiguous(tile.lanes_loop):
        steps.append(Vectorize(f"{into}.{column}", tile.lanes))
        if not packing.is_whole:
            steps.append(Unroll(f"{into}.{column}"))
        return steps
    along = next(
        (
            operand.dimension_of(loop)
            for loop in reversed(contraction.reductions)
            if operand.is_contiguous(loop)
        ),
        None,
    )
    if along is None or along not in around:
        steps.append(Vectorize(f"{into}.{column}", tile.lanes))
        return steps
    # Square tiles: each line that is gathered from is used at once.
    inner = [loop.name for loop in path(after.program.tree, into)]
    inner = inner[inner.index(min((along, column), key=inner.index)) :]
    outer_name, inner_name = (f"{along}_tile", f"{along}_across")
    steps.append(Split(f"{into}.{along}", tile.lanes, (outer_name, inner_name)))
    steps.append(Reorder((f"{into}.{outer_name}", f"{into}.{column}", f"{into}.{inner_name}")))
    steps.append(Vectorize(f"{into}.{column}", tile.lanes))
    if not packing.is_whole:
        steps.append(Unroll(f"{into}.{column}"))
    steps.append(Unroll(f"{into}.{inner_name}"))
    return steps


def _packed_order(
    contraction: Contraction, tile: RegisterTile, operand: Operand
) -> tuple[str, ...]:
    """The dimensions in the order of the loops that read them, that of the lanes last."""
    moved = [
        operand.dimension_of(loop)
        for loop in (*contraction.reductions, tile.lanes_loop)
        if operand.depends_on(loop)
    ]
    last = [name for name in moved if name is not None]
    return (*(name for name in operand.dimensions if name not in last), *last)
