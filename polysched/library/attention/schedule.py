"""Schedule of attention: register tiles whose lanes are queries, and one block of scores at a time.

With queries as lanes, maxima, powers and sums of a query's scores are operations on whole vectors,
and the elements of ``k`` and ``v`` are broadcast from where they lie. Only the queries and the
result are transposed, once for each block of queries.
"""

from __future__ import annotations

from polysched.ir.expr.dtypes import DType, f32
from polysched.library.attention.kernel import Attention, attention_kernel
from polysched.library.matmul.schedule.tiling import loops_around
from polysched.library.register_transpose import transposed_in_registers
from polysched.machine.description import Machine
from polysched.machine.load import as_machine
from polysched.user import Schedule

VECTORS = 2
"""Vectors of queries of a register tile. Each load of a key serves this many multiplications."""

BLOCK_VECTORS = 8
"""Vectors of queries of a block. Each block reads all of ``k`` and ``v`` from the caches."""

BLOCK_KEYS = 48
"""Most keys of a block, in elements of 4 bytes: scores and sums should fit the L1 cache."""

_OF_ROWS = ("no_maximum", "no_total", "keep", "factor", "rescale_total", "invert")
"""The statements that run once for each query, or once for each query and block of keys."""


def attention_form(  # noqa: PLR0913  (options by keyword)
    width: int,
    columns: int,
    *,
    dtype: DType = f32,
    causal: bool = False,
    masked: bool = False,
    machine: Machine | str | None = None,
) -> Attention:
    """The kernel with the block sizes for a machine; see :class:`Attention`."""
    machine = as_machine(machine)
    rows, lanes = tile_rows(machine), machine.lanes(dtype.bits)
    keys = max(rows, BLOCK_KEYS * 32 // dtype.bits // rows * rows)
    queries, panel = BLOCK_VECTORS * lanes, VECTORS * lanes
    return Attention(width, columns, keys, queries, panel, dtype, causal, masked)


def tile_rows(machine: Machine) -> int:
    """Rows of a register tile: its sums, a vector of each panel and an element share registers."""
    return (machine.vector_registers - VECTORS - 1) // VECTORS


def attention_schedule(
    form: Attention, machine: Machine | str | None = None, parallel: str | None = None
) -> Schedule:
    """Schedule the kernel of ``form``.

    Args:
        form: the kernel; :func:`attention_form` has the block sizes for a machine.
        machine: the machine that the schedule is for; by default this one.
        parallel: the loop that threads share: ``"head"``, ``"rows"`` (over blocks of queries), or
            None for one thread.
    """
    machine = as_machine(machine)
    lanes, rows = machine.lanes(form.dtype.bits), tile_rows(machine)
    schedule = _in_blocks(Schedule(attention_kernel(form)), form)
    if parallel is not None:
        schedule = schedule.parallel(parallel)
    schedule = _with_buffers(schedule)
    schedule = _products(schedule, form, lanes, rows)
    return _in_vectors(schedule, form, lanes)


def _in_blocks(schedule: Schedule, form: Attention) -> Schedule:
    """Run each statement for all queries of a block, inside the loop over blocks of keys."""
    schedule = (
        schedule.split("query", form.queries, into=("rows", "row"))
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
    for array in ("largest", "total", "inverse"):
        schedule = schedule.promote(array, at="rows")
    for array in ("previous", "factor"):
        schedule = schedule.promote(array, at="block")
    return schedule.promote("scores", at="block", order=("key", "head", "query"))


def _products(schedule: Schedule, form: Attention, lanes: int, rows: int) -> Schedule:
    """Compute both products in register tiles of ``rows`` by ``VECTORS`` vectors of queries."""
    parts = -(-form.columns // rows)
    tiles = (
        ("score", "key", rows, "term", "no_score"),
        ("weigh", "column", -(-form.columns // parts), "key", "rescale"),
    )
    for statement, across, factor, terms, first in tiles:
        panel, tile = f"{statement}_panel", f"{statement}_tile"
        inside, lane = f"{statement}_{across}", f"{statement}_row"
        schedule = (
            schedule.split(f"{statement}.row", VECTORS * lanes, into=(panel, lane))
            .split(f"{statement}.{across}", factor, into=(tile, inside))
            .reorder(panel, tile, f"{statement}.{terms}", inside, lane)
            .compute_at(first, at=tile)
        )
        loops = loops_around(schedule, first)
        own = [f"{first}.{loop}" for loop in (across, "row") if loop in loops]
        schedule = schedule.reorder(*own) if len(own) > 1 else schedule
        schedule = schedule.vectorize(lane, lanes).vectorize(f"{first}.row", lanes)
        schedule = schedule.unroll(inside, lane, *own)
    return schedule.promote("sums_local", at="weigh_tile", lanes=lanes, into="weigh_sums")


def _in_vectors(schedule: Schedule, form: Attention, lanes: int) -> Schedule:
    """Vectorize the statements outside the products."""
    for statement in _OF_ROWS:
        schedule = schedule.vectorize(f"{statement}.row", lanes)
    schedule = schedule.reorder("no_sum.column", "no_sum.row").vectorize("no_sum.row", lanes)
    # Several vectors side by side hide the latency of the comparisons, and share the constants of
    # the powers.
    for statement, vectors in (("maximum", VECTORS), ("power", VECTORS)):
        panel, lane = f"{statement}_panel", f"{statement}_row"
        schedule = (
            schedule.split(f"{statement}.row", vectors * lanes, into=(panel, lane))
            .reorder(panel, f"{statement}.key", lane)
            .vectorize(lane, lanes)
            .unroll(lane)
        )
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
