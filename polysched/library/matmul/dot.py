"""Products whose lanes are terms of the sums: a row of ``a`` by a row of a transposed ``b``.

Where both operands are contiguous along ``k``, a few rows are multiplied as dot products are: each
sum is a vector of partial sums, which are added up at its end. A product of few rows with a
transposed ``b``, or of a matrix and a vector, is read once and as it lies that way.

The partial sums of a tile are in registers while its terms are added, and in memory while they are
added up: that is a loop over the rows of the tile, whose columns become lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

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

NARROWEST = 3
"""Columns of a tile that are worth being lanes where they are added up."""

_WRITTEN_OUT = {
    "init": ("n",),
    "update_init": ("m", "n"),
    "update": ("rm", "rn"),
    "fewer_init": ("n",),
    "update_combine": ("each_lane", "group", "n"),
    "fewer_combine": ("each_few", "n"),
}
"""The loops of a tile's statements of which each iteration is code of its own."""


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
    schedule = _added_up(schedule, config, lanes, tile=loops[-1])
    if config.parallel_batch:
        loops = (*stack_loops(kernel), *loops)
    schedule, _ = in_parallel(schedule, loops)
    schedule = schedule.vectorize("lane", lanes)
    if config.inner_k > 1:
        schedule = schedule.unroll("ik", factor=config.inner_k)
    for statement, loops_of_tile in _WRITTEN_OUT.items():
        if statement in schedule.program.statements:
            around = loops_around(schedule, statement)
            for loop in (one for one in loops_of_tile if one in around):
                schedule = schedule.unroll(f"{statement}.{loop}")
    schedule = produced_whole(schedule, config, lanes)
    if "epilogue" in schedule.program.statements:
        schedule = schedule.vectorize("epilogue.n", lanes)
    return schedule


def _added_up(schedule: Schedule, config: Config, lanes: int, tile: str) -> Schedule:
    """Add up the partial sums of a tile row by row: all sums are brought to a few lanes, these are
    added one by one, for all columns of the tile at once.
    """
    row = "update_combine.m" if "m" in loops_around(schedule, "update_combine") else tile
    if lanes > FEW_LANES:
        few = (*_space(schedule.kernel), "each_few")
        schedule = schedule.split("update_combine.each_lane", FEW_LANES, into=("group", "few"))
        schedule = _ordered(schedule, "update_combine", ("m", "few", "group", "n"))
        schedule = schedule.rfactor("update_combine", "few", into="fewer", order=few)
        schedule = schedule.vectorize("few", FEW_LANES)
        last = "fewer_combine"
        schedule = _ordered(schedule, last, ("each_few", "n"))
    else:
        last = "update_combine"
        schedule = _ordered(schedule, last, ("m", "each_lane", "n"))
    if "init" in schedule.program.statements:
        schedule = schedule.compute_at("init", at=row)
    if config.inner_n < NARROWEST or "n" not in loops_around(schedule, last):
        return schedule
    columns = 1 << (config.inner_n - 1).bit_length()
    for statement in ("init", last):
        if "n" in loops_around(schedule, statement):
            schedule = schedule.vectorize(f"{statement}.n", columns)
    # Partial vectors that are stored and loaded again wait for each other.
    sums = schedule.kernel.statements["update"].target.array
    return schedule.promote(sums, at=row, lanes=columns)


def _ordered(schedule: Schedule, statement: str, loops: Sequence[str]) -> Schedule:
    """Put those of the loops that a statement has in this order."""
    around = loops_around(schedule, statement)
    found = [f"{statement}.{loop}" for loop in loops if loop in around]
    return schedule.reorder(*found) if len(found) > 1 else schedule


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
