"""Products of so few elements that one FMA would wait for the other: several partial sums of each.

An FMA takes some cycles, and a sum is a chain of them. Where the whole product is a register tile
with fewer vectors of sums than FMAs that could be under way, every sum is cut in ``chains``, which
take the terms in turn and are added up at the end.
"""

from __future__ import annotations

from polysched.errors import ScheduleError
from polysched.ir.kernel import Kernel
from polysched.library.matmul.config import Config
from polysched.library.matmul.kernel import stack_loops
from polysched.library.matmul.tiling import (
    in_parallel,
    loops_around,
    produced_whole,
    tile_loops,
    tiled,
)
from polysched.user import Schedule

_OF_A_TILE = ("init", "update_init", "update", "update_combine")
_WRITTEN_OUT = ("each_chain", "chain", "m", "rm", "n", "rn")
_COLUMNS = ("n", "rn")


def chained_schedule(kernel: Kernel, config: Config, lanes: int) -> Schedule:
    """Schedule a product for a fitted config with several ``chains``, in vectors of ``lanes``.

    Raises:
        ScheduleError: the config asks for blocks, packing or parts.
    """
    loops = tuple(loop for loop in tile_loops(config) if loop != "ik")
    if config.pack_a or config.pack_b or any(not loop.startswith("i") for loop in loops):
        raise ScheduleError(
            f"matmul config: chains={config.chains} is for products of one register tile, read "
            "where they lie; leave blocks, threads and packing away, or set chains to 1"
        )
    schedule = tiled(Schedule(kernel), "update", config, loops)
    inside = [one for one in ("m", "n", "rm", "rn") if one in loops_around(schedule, "update")]
    target = kernel.arrays[kernel.statements["update"].target.array]
    *outer, column = target.dimensions
    schedule = (
        schedule.reorder("update.k", *(f"update.{loop}" for loop in inside))
        .split("update.k", config.chains, into=("ik", "chain"))
        .reorder("chain", "ik")
        .rfactor("update", "chain", order=(*outer, "each_chain", column))
        .distribute("chain")
        .reorder(*(f"update.{loop}" for loop in ("ik", "chain", *inside)))
    )
    tile = loops[-1]
    if "init" in schedule.program.statements:
        schedule = schedule.compute_at("init", at=tile)
    if config.parallel_batch:
        schedule, _ = in_parallel(schedule, (*stack_loops(kernel), *loops))
    for statement in _OF_A_TILE:
        if statement not in schedule.program.statements:
            continue
        around = loops_around(schedule, statement)
        for loop in (one for one in around if one in _COLUMNS):
            schedule = schedule.vectorize(f"{statement}.{loop}", lanes)
        for loop in (one for one in around if one in _WRITTEN_OUT):
            schedule = schedule.unroll(f"{statement}.{loop}")
    schedule = produced_whole(schedule, config, lanes)
    if "epilogue" in schedule.program.statements:
        schedule = schedule.vectorize("epilogue.n", lanes)
    return schedule
