"""Schedules of the kernels of :mod:`polysched.library.dynamic_linear.kernel`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polysched.instructions.lookup import sum_of_products
from polysched.ir.expr.dtypes import f32, i8, u8
from polysched.library.dynamic_linear.kernel import (
    TERMS,
    LinearForm,
    linear_kernel,
    rounding_kernel,
)
from polysched.library.folding import in_vectors, vectors_for
from polysched.library.on_demand import unscheduled
from polysched.machine.description import Machine

if TYPE_CHECKING:
    from polysched.user import Schedule


def linear_schedule(form: LinearForm, machine: Machine, *, parallel: bool = False) -> Schedule:
    """Schedule the product: a panel of codes at a time, group by group, for all rows.

    The integer sums of a tile of rows are in registers, the sums over the groups are in the caches.
    A group of a panel fits the L1 cache, where every tile finds it. While several tiles read it,
    the next group is prefetched: a 4096 x 4096 matrix of 4 bits by 8, 16 and 64 rows took 1.53,
    1.41 and 1.13 times as long without, a single tile takes up to 1.3 times as long with it (Zen 4,
    AVX-512).
    """
    schedule = (
        unscheduled(linear_kernel(form))
        .split("update.row", form.rows, into=("tile", "in_tile"))
        .distribute("in_tile")
        .reorder("update.step", "update.in_tile", "update.column", "update.term")
    )
    if parallel:
        schedule = schedule.parallel("panel")
    schedule = schedule.promote("sums", at="panel").promote("parts", at="tile")
    if form.is_packed:
        schedule = _unpacked(schedule, form)
    for statement in ("no_sum", "no_part", "update", "add_group", "finish"):
        schedule = schedule.vectorize(f"{statement}.column", form.lanes)
        if statement in ("no_part", "update", "add_group"):
            schedule = schedule.unroll(f"{statement}.in_tile", f"{statement}.column")
    if not form.is_single:
        reader = "unpack_low.step" if form.is_packed else "update.step"
        schedule = schedule.prefetch("codes", at=reader, of="group", level=2)
    instruction = sum_of_products((i8, u8), TERMS, form.lanes, machine.enabled_features)
    if instruction is None:
        return schedule
    return schedule.unroll("update.term").tensorize("update.columnv", instruction)


def _unpacked(schedule: Schedule, form: LinearForm) -> Schedule:
    """Unpack the codes of a step in registers, or those of a group for all tiles of rows."""
    schedule = schedule.vectorize("unpack_low.byte", TERMS * form.lanes)
    if form.is_single:
        schedule = schedule.compute_at("bytes", at="update.step", recompute=True)
    else:
        schedule = schedule.promote("bytes", at="group")
    return schedule.unroll("unpack_low.byte")


def rounding_schedule(group: int, machine: Machine, *, parallel: bool = False) -> Schedule:
    """Schedule the rounding of rows in groups of ``group`` terms: a row at a time, in vectors."""
    lanes = machine.lanes(f32.bits)
    schedule = unscheduled(rounding_kernel(group))
    if parallel:
        schedule = schedule.parallel("row")
    for array, at in (("largest", "row"), ("factor", "row"), ("totals", "group")):
        schedule = schedule.promote(array, at=at)
    schedule = in_vectors(schedule, "largest", "column", lanes, vectors_for(group, lanes))
    schedule = in_vectors(schedule, "total", "term", lanes, 1)
    return schedule.vectorize("round.term", lanes)
