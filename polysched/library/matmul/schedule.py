"""From a config to a schedule: public primitives only, so that every config is proved or refused.

The loops are those of :mod:`polysched.library.matmul.config`; threads and blocks that are not asked
for have none. Inside of them is the register tile: ``rk`` (written out), ``rm`` and ``rn``.

- The sums of a tile live in registers from the innermost loop over tiles inwards. Blocks of ``k``
  outside of that loop load and store them once a block; the first block starts them.
- With several parts of ``k``, each part has sums of its own, added up at the end.
- An epilogue is computed where the sums are finished: at the tile, or, where blocks of ``k`` are
  outside of it, at the loop around these.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from polysched.errors import ScheduleError
from polysched.ir.cache_lines import LINE_BYTES
from polysched.ir.expressions import Index
from polysched.ir.kernel import Kernel
from polysched.ir.linear import linear_form
from polysched.library.folding import in_vectors, vectors_for
from polysched.library.matmul.chains import chained_schedule
from polysched.library.matmul.config import Config, fitted, require_registers, unit_of
from polysched.library.matmul.dot import dot_schedule
from polysched.library.matmul.kernel import sizes_of, stack_loops
from polysched.library.matmul.tiling import (
    in_parallel,
    loop_of_packing,
    loops_around,
    produced_whole,
    tile_loops,
    tiled,
    turned,
)
from polysched.machine.description import Machine
from polysched.user import Schedule

LANES_OF_ROW = 4
"""Partial sums of a row of groups in a vector."""


def matmul_schedule(kernel: Kernel, config: Config, machine: Machine) -> Schedule:
    """Schedule a kernel of :func:`polysched.library.matmul.kernel.matmul_kernel`.

    Args:
        kernel: the product.
        config: its tiling; what is larger than the problem is fitted to it.
        machine: whose vectors and registers are used.

    Raises:
        ScheduleError: the config asks for what cannot be had; the message says what.
    """
    config = fitted(config, sizes_of(kernel))
    if config.parallel_batch and config.k_threads > 1:
        raise ScheduleError(
            f"matmul config: parallel_batch runs whole products in parallel, and k_threads="
            f"{config.k_threads} cuts their sums; take one of the two"
        )
    _require_arrays(kernel, config)
    sums = kernel.arrays[kernel.statements["update"].target.array]
    require_registers(config, machine, sums.dtype)
    lanes = machine.lanes(sums.dtype.bits)
    if config.along_k:
        return dot_schedule(kernel, config, lanes)
    # A few columns are a short vector, not a part of a long one.
    lanes = min(lanes, 1 << max(1, (config.inner_n - 1).bit_length()))
    if config.chains > 1:
        return chained_schedule(kernel, config, lanes)
    loops = tile_loops(config)

    if "pk" in loops:
        schedule = _with_partial_sums(kernel, config)
        first, total = "update_init", f"{sums.name}_partial"
    else:
        schedule, first, total = Schedule(kernel), "init", sums.name
    # Terms of a group follow one another.
    inside = "mnk" if "group_b" in kernel.statements else "kmn"
    finished = tuple(takewhile(lambda loop: not loop.endswith("k"), loops))
    if "epilogue" in kernel.statements and finished:
        schedule = tiled(schedule, "epilogue", config, finished)
        schedule = schedule.compute_at(sums.name, at=finished[-1])
        schedule = tiled(schedule, "update", config, loops[len(finished) :], inside)
    else:
        schedule = tiled(schedule, "update", config, loops, inside)
    # An epilogue's loop that has one iteration in a block leaves the product none to tile.
    around = loops_around(schedule, "update")
    *_, tile = (loop for loop in loops if loop in around and not loop.endswith("k"))
    if first in schedule.program.statements and tile not in loops_around(schedule, first):
        schedule = schedule.compute_at(first, at=tile)
    if config.parallel_batch:
        loops = (*stack_loops(kernel), *loops)
    schedule, loops = in_parallel(schedule, loops)
    schedule = schedule.promote(total, at=tile, lanes=lanes)
    if config.prefetch_a:
        schedule = _asked_ahead(schedule, config)
    schedule = produced_whole(_packed(schedule, config, loops, lanes), config, lanes)
    return _in_vectors(schedule, lanes, tile)


def _require_arrays(kernel: Kernel, config: Config) -> None:
    """Check that what is packed or asked for ahead is an array at all.

    Raises:
        ScheduleError: it is computed where it is read.
    """
    for field, operand in (("pack_a", "a"), ("prefetch_a", "a"), ("pack_b", "b")):
        if getattr(config, field) and operand not in kernel.arrays:
            raise ScheduleError(
                f"matmul config: {field}=True, and '{operand}' is no array, but computed where it "
                f"is read; set {field} to False"
            )


def _with_partial_sums(kernel: Kernel, config: Config) -> Schedule:
    """Parts of the sums, for threads, outermost but for a batch; each into an array of its own."""
    batch = [f"update.{index}" for index in stack_loops(kernel)]
    return (
        Schedule(kernel)
        .divide("update.k", config.k_threads, unit_of(config, "k"), into="pk")
        .reorder(*batch, "pk", *(f"update.{index}" for index in "mnk"))
        .rfactor("update", "pk")
    )


def _packed(schedule: Schedule, config: Config, loops: Sequence[str], lanes: int) -> Schedule:
    """Copies of what the tiles read again and again: ``b`` by the rows, ``a`` by the columns.

    A transposed ``b`` is turned, since its columns become lanes: in square tiles, which are loaded
    by rows and transposed in registers. ``a`` keeps its order. What is computed from something else
    is computed in that place, before it is copied there if it is unpacked by columns.
    """
    wanted = {"b": (config.pack_b, "im"), "a": (config.pack_a, "in")}
    for array, (is_wanted, reader) in wanted.items():
        if not is_wanted:
            continue
        at = loop_of_packing(array, loops)
        if at is None:
            raise ScheduleError(
                f"matmul config: pack_{array} copies what '{reader}' reads again and again, and no "
                f"loop outside of it says what: put another i loop before '{reader}' in the order "
                f"'{config.order}', or ask for blocks"
            )
        dimensions = schedule.program.arrays[array].dimensions
        order = ("k", "n") if array == "b" else dimensions[-2:]
        whole = (*(one for one in dimensions if one not in order), *order)
        filling, place = f"produce_{array}", f"update.{at}"
        if array == "b" and "group_b" in schedule.program.statements:
            schedule = _in_groups(schedule, place, lanes)
            continue
        is_stored = filling not in schedule.program.statements
        is_in_steps = array == "b" and not is_stored and _reads_bits_by_columns(schedule)
        if is_stored or is_in_steps:
            schedule = schedule.pack(array, place, order=whole)
            if is_in_steps:
                schedule = _made_by_columns(schedule, place, whole, lanes)
            filling = f"{array}_packed"
        else:
            schedule = schedule.compute_at(filling, place, recompute=True, order=whole)
        around = loops_around(schedule, filling)
        if array == "b" and _is_by_columns(schedule) and set(order) <= set(around):
            schedule = turned(schedule, filling, order, lanes)
        elif order[-1] in around:
            schedule = schedule.vectorize(f"{filling}.{order[-1]}", lanes)
            if at == "in":
                schedule = schedule.unroll(f"{filling}.{order[-1]}")
    return schedule


def _in_groups(schedule: Schedule, place: str, lanes: int) -> Schedule:
    """Copy what is multiplied in groups, and add up the rows if something is taken off the sums."""
    schedule = schedule.compute_at("b_groups", place, recompute=True)
    around = loops_around(schedule, "group_b")
    if "n" in around:
        schedule = schedule.vectorize("group_b.n", lanes)
    schedule = schedule.unroll("group_b.member")
    if "turn_a" in schedule.program.statements:
        if schedule.kernel.arrays["a"].dimensions[-1] == "m":
            schedule = turned(schedule, "turn_a", ("m", "k"), lanes)
        else:
            schedule = schedule.vectorize("turn_a.k", lanes)
    if "rows" not in schedule.program.statements:
        return schedule
    # One instruction adds all terms of a group, so few lanes are enough, which are soon added up.
    *_, together = schedule.kernel.arrays["b_groups"].shape
    terms = linear_form(together, {}).constant
    schedule = schedule.split("rows.k", terms, into=("k_group", "k_term"))
    vectors = vectors_for(-(-sizes_of(schedule.kernel).k // terms), LANES_OF_ROW) // 2
    return in_vectors(schedule, "rows", "k_group", LANES_OF_ROW, max(1, vectors), terms=("k_term",))


def _asked_ahead(schedule: Schedule, config: Config) -> Schedule:
    """While a register tile is computed, the rows of ``a`` below it come to the second cache."""
    if config.pack_a or config.loops.index("im") > config.loops.index("ik"):
        raise ScheduleError(
            "matmul config: prefetch_a asks for rows of a that the next iteration of 'im' reads; "
            "set pack_a to False, and put im before ik in the order"
        )
    if not {"im", "ik"} <= {*loops_around(schedule, "update")}:
        return schedule
    tiles = LINE_BYTES // (schedule.program.arrays["a"].dtype.bytes * config.inner_k)
    loop = "ik"
    if tiles > 1:
        schedule = schedule.split("update.ik", tiles, into=("ik_line", "ik_tile"))
        loop = "ik_line"
    return schedule.prefetch("a", f"update.{loop}", of="im", level=2)


def _is_by_columns(schedule: Schedule) -> bool:
    """Whether ``b``, or an input that it is computed from, is stored transposed."""
    if "produce_b" not in schedule.program.statements:
        return schedule.program.arrays["b"].dimensions[-1] == "k"
    return bool(_read_by_columns(schedule))


def _reads_bits_by_columns(schedule: Schedule) -> bool:
    """Whether ``b`` is computed from packed integers whose neighbors are terms of a sum: whole
    vectors of these are unpacked at once, single ones are dear.
    """
    arrays = schedule.program.arrays
    return any(arrays[name].dtype.is_odd for name in _read_by_columns(schedule))


def _read_by_columns(schedule: Schedule) -> list[str]:
    """The inputs of which a column of ``b`` reads neighbors."""
    producer = schedule.program.statements["produce_b"]
    *_, term, _ = producer.indices
    return [one.array for one in producer.reads if one.subscripts[-1:] == (Index(term),)]


def _made_by_columns(
    schedule: Schedule, place: str, dimensions: Sequence[str], lanes: int
) -> Schedule:
    """Compute what is packed of ``b`` as its inputs lie, column by column, before it is packed."""
    *outer, term, column = dimensions
    schedule = schedule.compute_at("produce_b", place, recompute=True, order=(*outer, column, term))
    around = loops_around(schedule, "produce_b")
    if term not in around:
        return schedule
    if column in around:
        schedule = schedule.reorder(f"produce_b.{column}", f"produce_b.{term}")
    return schedule.vectorize(f"produce_b.{term}", lanes)


_ROWS = ("m", "rm", "m_block")
_COLUMNS = ("n", "rn", "n_block")


def _in_vectors(schedule: Schedule, lanes: int, tile: str) -> Schedule:
    """Columns become lanes; what is below the loop ``tile`` is written out, to be in registers."""
    for statement in ("init", "update_init", "update", "update_combine", "epilogue"):
        if statement not in schedule.program.statements:
            continue
        around = loops_around(schedule, statement)
        rows = [f"{statement}.{loop}" for loop in around if loop in _ROWS]
        columns = [f"{statement}.{loop}" for loop in around if loop in _COLUMNS]
        terms = [f"{statement}.{loop}" for loop in around if loop == "rk"]
        for loop in columns:
            schedule = schedule.vectorize(loop, lanes)
        if tile in around and terms + rows + columns:
            schedule = schedule.unroll(*terms, *rows, *columns)
    return schedule
