"""Dot form of a product: lanes are terms of a sum, for few rows and a transposed ``b``.

If both operands are contiguous along ``k``, each sum is a vector of partial sums that is reduced at
its end. So a product of few rows with a transposed ``b``, or of a matrix and a vector, reads its
operands once and in place.

The partial sums of a register tile are in registers while its terms are added. They are stored to
memory to be reduced, by a loop over the rows of the tile whose lanes are columns. Measured against
unrolled reductions (``notes/performance.md``): a third of the code at 0.9 to 1.1 of the speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.library.matmul.kernel.declare import sizes_of, stack_loops
from polysched.library.matmul.plan.config import Config, tile_loops
from polysched.library.matmul.schedule.tiling import (
    in_parallel,
    loops_around,
    produced_whole,
    remaining_loops,
    tiled,
    transpose_tiles,
)
from polysched.library.on_demand import unscheduled
from polysched.library.register_transpose import transposed_in_registers

if TYPE_CHECKING:
    from polysched.user import Schedule

FEW_LANES = 4
"""Lanes to which partial sums are reduced by vector additions, before they are added one by one.

Adding sixteen lanes one by one takes 31 instructions, by way of four lanes 12
(``notes/performance.md``).
"""

NARROWEST = 3
"""Reduce with columns as lanes when a tile has at least this many columns."""

_UNROLLED = {
    "init": ("n",),
    "update_init": ("m", "n"),
    "update": ("rm", "rn"),
    "fewer_init": ("n",),
    "update_combine": ("each_lane", "group", "n"),
    "fewer_combine": ("each_few", "n"),
}
"""The loops to unroll, for each statement of a tile."""


def dot_schedule(kernel: Kernel, config: Config, lanes: int) -> Schedule:
    """Schedule a product for a fitted config with ``dot_form``, in vectors of ``lanes``.

    Of the config, ``m_threads``, ``n_threads`` and the register tile are used; ``inner_k`` is the
    unroll factor of the loop over vectors of terms.
    """
    loops = tuple(loop for loop in tile_loops(config) if loop.name != "ik")
    if config.pack_b or any(loop.level == "o" or "k" in loop.dimensions for loop in loops):
        raise ScheduleError(
            "matmul config: dot_form=True reads b once and in place; leave blocks and k_threads "
            "away, and set pack_b to False"
        )
    schedule, terms = unscheduled(kernel), "k"
    if config.pack_a:
        schedule, terms = _with_rows_of_a(schedule, lanes), "terms"
    schedule = tiled(schedule, "update", config, loops)
    around = loops_around(schedule, "update")
    inside = [loop for loop in remaining_loops("m", "n") if loop in around]
    schedule = (
        schedule.reorder(*(f"update.{loop}" for loop in (terms, *inside)))
        .split(f"update.{terms}", lanes, into=("ik", "lane"))
        .reorder("lane", "ik")
        .rfactor("update", "lane", order=(*_space(kernel), "each_lane"))
    )
    schedule = _reduced(schedule, config, lanes, tile=loops[-1].name)
    stack = stack_loops(kernel) if config.parallel_batch else ()
    schedule, _ = in_parallel(schedule, loops, stack)
    schedule = schedule.vectorize("lane", lanes)
    if config.inner_k > 1:
        schedule = schedule.unroll("ik", factor=config.inner_k)
    for statement, loops_of_tile in _UNROLLED.items():
        if statement in schedule.program.statements:
            around = loops_around(schedule, statement)
            for loop in (name for name in loops_of_tile if name in around):
                schedule = schedule.unroll(f"{statement}.{loop}")
    schedule = _with_transposed_sums(schedule)
    schedule = produced_whole(schedule, config, lanes)
    if "epilogue" in schedule.program.statements:
        schedule = schedule.vectorize("epilogue.n", lanes)
    return schedule


def _with_transposed_sums(schedule: Schedule) -> Schedule:
    """Transpose the partial sums of a row in registers where columns are lanes."""
    for statement, parts in (("fewer_combine", "each_few"), ("update_combine", "each_lane")):
        if statement not in schedule.program.statements:
            continue
        around = loops_around(schedule, statement)
        if "nv" in around and parts in around:
            return transposed_in_registers(schedule, f"{statement}.nv", f"{statement}.{parts}")
    return schedule


def _reduced(schedule: Schedule, config: Config, lanes: int, tile: str) -> Schedule:
    """Reduce the partial sums of a tile row by row.

    Vector additions reduce each sum to ``FEW_LANES`` lanes. These are added one by one, for all
    columns of the tile at once.
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
    # Promote the sums: a masked store followed by a load of the same vector stalls.
    sums = schedule.kernel.statements["update"].target.array
    return schedule.promote(sums, at=row, lanes=columns)


def _ordered(schedule: Schedule, statement: str, loops: Sequence[str]) -> Schedule:
    """Reorder the loops of a statement, skipping those that it does not have."""
    around = loops_around(schedule, statement)
    names = [f"{statement}.{loop}" for loop in loops if loop in around]
    return schedule.reorder(*names) if len(names) > 1 else schedule


def _with_rows_of_a(schedule: Schedule, lanes: int) -> Schedule:
    """Transpose all of a transposed ``a`` first, so that its rows are contiguous too.

    The loop over ``k`` is then called ``terms``. It is inside a loop ``whole`` of one iteration, at
    which ``a`` is packed.
    """
    # Split by a power of two. With the extent itself, isl writes ``k mod lanes`` as a quotient by
    # the extent, and vector loads become gathers.
    covering = 1 << (sizes_of(schedule.kernel).k - 1).bit_length()
    *outer, _, _ = schedule.kernel.arrays["a"].dimensions
    schedule = (
        schedule.split("update.k", max(covering, lanes), into=("whole", "terms"))
        .reorder("whole", "update.m", "update.n", "update.terms")
        .pack("a", "update.whole", order=(*outer, "m", "k"))
    )
    return transpose_tiles(schedule, "a_packed", ("m", "k"), lanes)


def _space(kernel: Kernel) -> tuple[str, ...]:
    return kernel.arrays[kernel.statements["update"].target.array].dimensions
