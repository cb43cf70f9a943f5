"""Products whose lanes are terms of the sums: a row of ``a`` by a row of a transposed ``b``.

Where both operands are contiguous along ``k``, a few rows are multiplied as dot products are: each
sum is a vector of partial sums, which are added up at its end. A product of few rows with a
transposed ``b``, or of a matrix and a vector, is read once and as it lies that way.
"""

from __future__ import annotations

from polysched.errors import ScheduleError
from polysched.ir.kernel import Kernel
from polysched.library.matmul.config import Config
from polysched.library.matmul.kernel import sizes_of, stack_loops
from polysched.library.matmul.tiling import (
    in_parallel,
    loops_around,
    produced_whole,
    tile_loops,
    tiled,
    turned,
)
from polysched.user import Schedule

FEW_LANES = 4
"""Lanes to which the partial sums are brought before they are added up one by one."""

_OF_A_TILE = ("init", "update_init", "update", "fewer_init", "update_combine", "fewer_combine")
_WRITTEN_OUT = {"m", "n", "rm", "rn", "each_lane", "group", "each_few"}


def dot_schedule(kernel: Kernel, config: Config, lanes: int) -> Schedule:
    """Schedule a product for a fitted config with ``along_k``, in vectors of ``lanes``.

    Of the config, the threads of ``m`` and ``n`` and the register tile count; ``inner_k`` is the
    number of vectors that are written out one after another.

    Raises:
        ScheduleError: the config asks for blocks, packing or parts of the sums.
    """
    wanted = [loop for loop in tile_loops(config) if loop.startswith("o") or loop == "pk"]
    if wanted or config.pack_b:
        raise ScheduleError(
            "matmul config: along_k=True reads b once, where it lies; leave blocks and k_threads "
            "away, and set pack_b to False"
        )
    loops = tuple(loop for loop in tile_loops(config) if loop != "ik")
    schedule, terms = Schedule(kernel), "k"
    if config.pack_a:
        schedule, terms = _with_rows_of_a(schedule, lanes), "terms"
    schedule = tiled(schedule, "update", config, loops)
    inside = [one for one in ("m", "n", "rm", "rn") if one in loops_around(schedule, "update")]
    schedule = (
        schedule.reorder(*(f"update.{loop}" for loop in (terms, *inside)))
        .split(f"update.{terms}", lanes, into=("ik", "lane"))
        .reorder("lane", "ik")
        .rfactor("update", "lane", order=(*_space(kernel), "each_lane"))
    )
    if lanes > FEW_LANES:
        schedule = (
            schedule.split("update_combine.each_lane", FEW_LANES, into=("group", "few"))
            .reorder("few", "group", "update_combine.m", "update_combine.n")
            .rfactor("update_combine", "few", into="fewer", order=(*_space(kernel), "each_few"))
            .vectorize("few", FEW_LANES)
        )
    tile = loops[-1]
    if "init" in schedule.program.statements:
        schedule = schedule.compute_at("init", at=tile)
    if config.parallel_batch:
        loops = (*stack_loops(kernel), *loops)
    schedule, _ = in_parallel(schedule, loops)
    schedule = schedule.vectorize("lane", lanes)
    if config.inner_k > 1:
        schedule = schedule.unroll("ik", factor=config.inner_k)
    for statement in _OF_A_TILE:
        if statement in schedule.program.statements:
            around = loops_around(schedule, statement)
            for loop in (one for one in around if one in _WRITTEN_OUT):
                schedule = schedule.unroll(f"{statement}.{loop}")
    schedule = produced_whole(schedule, config, lanes)
    if "epilogue" in schedule.program.statements:
        schedule = schedule.vectorize("epilogue.n", lanes)
    return schedule


def _with_rows_of_a(schedule: Schedule, lanes: int) -> Schedule:
    """Copy all of a transposed ``a`` first, so that its rows are contiguous too; what is left of
    the loop over ``k`` is called ``terms``.
    """
    # A power of two, modulo which lanes are what they are without this loop.
    enough = 1 << (sizes_of(schedule.kernel).k - 1).bit_length()
    *outer, _, _ = schedule.kernel.arrays["a"].dimensions
    schedule = (
        schedule.split("update.k", max(enough, lanes), into=("whole", "terms"))
        .reorder("whole", "update.m", "update.n", "update.terms")
        .pack("a", "update.whole", order=(*outer, "m", "k"))
    )
    return turned(schedule, "a_packed", ("m", "k"), lanes)


def _space(kernel: Kernel) -> tuple[str, ...]:
    return kernel.arrays[kernel.statements["update"].target.array].dimensions
