"""Schedule of attention: register tiles whose lanes are queries, and one block of scores at a time.

With queries as lanes, maxima, powers and sums of a query's scores are operations on whole vectors,
and the elements of ``k`` and ``v`` are broadcast from where they lie. Only the queries and the
result are transposed, once for each block of queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polysched.library.attention.kernel import Attention, attention_kernel
from polysched.library.matmul.schedule.tiling import loops_around
from polysched.library.on_demand import unscheduled
from polysched.library.register_transpose import transposed_in_registers

if TYPE_CHECKING:
    from polysched.user import Schedule

_OF_ROWS = ("no_maximum", "no_total", "keep", "factor", "rescale_total")
"""The statements that run once for each query, or once for each query and block of keys."""


def attention_schedule(form: Attention, parallel: str | None = None) -> Schedule:
    """Schedule the kernel of ``form``.

    Args:
        form: the kernel, by :func:`attention_form`.
        parallel: the loop that threads share: ``"head"``, ``"rows"`` (over blocks of queries), or
            None for one thread.
    """
    schedule = _in_blocks(unscheduled(attention_kernel(form)), form)
    if parallel is not None:
        schedule = schedule.parallel(parallel)
    return _in_vectors(_products(_with_buffers(schedule), form), form)


def _in_blocks(schedule: Schedule, form: Attention) -> Schedule:
    """Run each statement for all queries of a block, inside the loop over blocks of keys."""
    schedule = (
        schedule.split("query", form.panel, into=("rows", "row"))
        .distribute("row")
        .reorder("block", "no_score.row")
        .distribute("no_score.row")
    )
    for statement, loop in (("no_score", "key"), ("rescale", "column")):
        schedule = schedule.distribute(f"{statement}.{loop}").distribute(f"{statement}.row")
    return schedule


def _with_buffers(schedule: Schedule) -> Schedule:
    """Keep the temporaries of a block in buffers whose contiguous dimension counts queries."""
    for array, inner in (("scaled", "term"), ("sums", "column")):
        schedule = schedule.promote(array, at="rows", order=(inner, "head", "query"))
    for array in ("largest", "total"):
        schedule = schedule.promote(array, at="rows")
    schedule = schedule.promote("factor", at="block")
    return schedule.promote("scores", at="block", order=("key", "head", "query"))


def _products(schedule: Schedule, form: Attention) -> Schedule:
    """Compute both products in register tiles of ``rows`` by ``VECTORS`` vectors of queries."""
    tiles = (("score", "key", "term", "no_score"), ("weigh", "column", "key", "rescale"))
    for statement, across, terms, first in tiles:
        tile, inside, lane = f"{statement}_tile", f"{statement}_{across}", f"{statement}.row"
        schedule = (
            schedule.split(f"{statement}.{across}", form.rows, into=(tile, inside))
            .reorder(tile, f"{statement}.{terms}", inside, lane)
            .compute_at(first, at=tile)
        )
        loops = loops_around(schedule, first)
        own = [f"{first}.{loop}" for loop in (across, "row") if loop in loops]
        schedule = schedule.reorder(*own) if len(own) > 1 else schedule
        schedule = schedule.vectorize(lane, form.lanes).vectorize(f"{first}.row", form.lanes)
        schedule = schedule.unroll(inside, lane, *own)
    return schedule


def _in_vectors(schedule: Schedule, form: Attention) -> Schedule:
    """Vectorize the statements outside the products."""
    lanes = form.lanes
    for statement in _OF_ROWS:
        schedule = schedule.vectorize(f"{statement}.row", lanes)
    schedule = schedule.reorder("no_sum.column", "no_sum.row").vectorize("no_sum.row", lanes)
    # One wide vector is several registers, whose instructions alternate: this hides the latency of
    # the comparisons, and the powers share their constants.
    for statement in ("maximum", "power"):
        row = f"{statement}.row"
        schedule = schedule.reorder(f"{statement}.key", row).vectorize(row, form.panel)
    if form.causal:
        schedule = schedule.reorder("hide.key", "hide.row").vectorize("hide.row", lanes)
    across = [("scale_query", "term"), ("divide", "column")]
    for statement, loop in [*across, *([("add_mask", "key")] if form.masked else [])]:
        outer, inner = f"{statement}_{loop}s", f"{statement}_{loop}"
        schedule = (
            schedule.split(f"{statement}.{loop}", lanes, into=(outer, inner))
            .reorder(outer, f"{statement}.row", inner)
            .vectorize(f"{statement}.row", lanes)
            .unroll(inner)
        )
        schedule = transposed_in_registers(schedule, f"{statement}.rowv", inner)
    return schedule
