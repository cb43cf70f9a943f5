"""Split accumulators: several partial sums of each element of a product with very few elements.

A sum is a chain of dependent FMAs. If the whole product is one register tile with fewer vectors of
sums than FMAs can be in flight, each sum is split into several accumulators. They take the terms in
turn and are added at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.library.matmul.kernel.declare import stack_loops
from polysched.library.matmul.plan.config import Config, tile_loops
from polysched.library.matmul.schedule.tiling import (
    in_parallel,
    loops_around,
    produced_whole,
    remaining_loops,
    tiled,
)
from polysched.library.on_demand import unscheduled

if TYPE_CHECKING:
    from polysched.user import Schedule

_TILE_STATEMENTS = ("init", "update_init", "update", "update_combine")
_UNROLLED = ("each_accumulator", "accumulator", *remaining_loops("m", "n"))


def split_accumulators_schedule(kernel: Kernel, config: Config, lanes: int) -> Schedule:
    """Schedule a product for a fitted config with split accumulators, in vectors of ``lanes``."""
    loops = tuple(loop for loop in tile_loops(config) if loop.name != "ik")
    if config.pack_a or config.pack_b or any(loop.level != "i" for loop in loops):
        raise ScheduleError(
            f"matmul config: split_accumulators={config.split_accumulators} is for products of one "
            "register tile with operands read in place; leave blocks, threads and packing away, or "
            "set split_accumulators to 1"
        )
    schedule = tiled(unscheduled(kernel), "update", config, loops)
    around = loops_around(schedule, "update")
    inside = [loop for loop in remaining_loops("m", "n") if loop in around]
    target = kernel.arrays[kernel.statements["update"].target.array]
    *outer, column = target.dimensions
    schedule = (
        schedule.reorder("update.k", *(f"update.{loop}" for loop in inside))
        .split("update.k", config.split_accumulators, into=("ik", "accumulator"))
        .reorder("accumulator", "ik")
        .rfactor("update", "accumulator", order=(*outer, "each_accumulator", column))
        .distribute("accumulator")
        .reorder(*(f"update.{loop}" for loop in ("ik", "accumulator", *inside)))
    )
    tile = loops[-1].name
    if "init" in schedule.program.statements:
        schedule = schedule.compute_at("init", at=tile)
    if config.parallel_batch:
        schedule, _ = in_parallel(schedule, loops, stack_loops(kernel))
    for statement in _TILE_STATEMENTS:
        if statement not in schedule.program.statements:
            continue
        around = loops_around(schedule, statement)
        for loop in (name for name in around if name in remaining_loops("n")):
            schedule = schedule.vectorize(f"{statement}.{loop}", lanes)
        for loop in (name for name in around if name in _UNROLLED):
            schedule = schedule.unroll(f"{statement}.{loop}")
    schedule = produced_whole(schedule, config, lanes)
    if "epilogue" in schedule.program.statements:
        schedule = schedule.vectorize("epilogue.n", lanes)
    return schedule
