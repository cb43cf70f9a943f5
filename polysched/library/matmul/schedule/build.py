"""Schedule a matrix product by a config, with public primitives only, so each result is proved.

The loops are those of :mod:`polysched.library.matmul.plan.config`; a dimension without threads or
blocks has no loop for them. Innermost is the register tile: ``rk`` (unrolled), ``rm`` and ``rn``.

- The sums of a tile stay in registers inside the innermost loop over tiles of rows and columns.
  Blocks of ``k`` outside of that loop load and store the sums once a block. The first block
  initializes them.
- If ``k`` is divided among threads, each part has partial sums, which are combined at the end.
- The epilogue runs where the sums are finished: at the tile, or, if blocks of ``k`` are outside of
  the tile, at the loop around those blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from polysched.errors import ScheduleError
from polysched.instructions.lookup import sum_of_products
from polysched.ir.core.cache_lines import LINE_BYTES
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.linear import linear_form
from polysched.library.folding import in_vectors, vectors_for
from polysched.library.matmul.kernel.declare import sizes_of, stack_loops
from polysched.library.matmul.plan.config import (
    Config,
    TileLoop,
    fitted,
    loop_of_packing,
    require_registers,
    tile_loops,
    unit_of,
)
from polysched.library.matmul.schedule.dot import dot_schedule
from polysched.library.matmul.schedule.split_accumulators import split_accumulators_schedule
from polysched.library.matmul.schedule.tiles import ZEROS, in_tiles, stores_tiles
from polysched.library.matmul.schedule.tiling import (
    in_parallel,
    loops_around,
    produced_whole,
    remaining_loops,
    tiled,
    transpose_tiles,
)
from polysched.library.on_demand import unscheduled
from polysched.library.register_transpose import FEWEST, transposed_in_registers
from polysched.machine.description import Machine
from polysched.schedule.core.program import find_loop, largest_extent

if TYPE_CHECKING:
    from polysched.user import Schedule

LANES_OF_ROW = 4
"""Lanes of the vectors that add up a row of ``a`` for the VNNI correction.

One instruction adds a whole group of terms to a lane, so four lanes suffice and are soon reduced.
"""


def matmul_schedule(kernel: Kernel, config: Config, machine: Machine) -> Schedule:
    """Schedule a kernel of :func:`polysched.library.matmul.kernel.matmul_kernel`.

    Args:
        kernel: the product.
        config: the tiling; it is fitted to the sizes of the problem.

    Raises:
        ScheduleError: the config cannot be applied; the message gives the reason.
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
    if config.dot_form:
        return dot_schedule(kernel, config, lanes)
    # Use a short vector for a few columns, instead of a masked part of a long one.
    lanes = min(lanes, 1 << max(1, (config.inner_n - 1).bit_length()))
    if config.split_accumulators > 1:
        return split_accumulators_schedule(kernel, config, lanes)
    loops = tile_loops(config)

    if config.k_threads > 1:
        schedule = _with_partial_sums(kernel, config)
        first, total = "update_init", f"{sums.name}_partial"
    else:
        schedule, first, total = unscheduled(kernel), "init", sums.name
    # In VNNI layout the loop over the terms is innermost, so that groups of terms are adjacent.
    inside = "mnk" if "vnni_b" in kernel.statements else "kmn"
    finished = tuple(takewhile(lambda loop: "k" not in loop.dimensions, loops))
    if "epilogue" in kernel.statements and finished:
        schedule = tiled(schedule, "epilogue", config, finished)
        schedule = schedule.compute_at(sums.name, at=finished[-1].name)
        schedule = tiled(schedule, "update", config, loops[len(finished) :], inside)
    else:
        schedule = tiled(schedule, "update", config, loops, inside)
    # If a loop of the epilogue has one iteration, the product has no such loop to tile.
    around = loops_around(schedule, "update")
    *_, tile = (loop.name for loop in loops if loop.name in around and "k" not in loop.dimensions)
    if first in schedule.program.statements and tile not in loops_around(schedule, first):
        schedule = schedule.compute_at(first, at=tile)
    stack = stack_loops(kernel) if config.parallel_batch else ()
    schedule, loops = in_parallel(schedule, loops, stack)
    if config.tiles and _has_own_sums(kernel, finished):
        schedule, total = _with_sums_of_a_tile(schedule, total, config)
    # Partial sums of parts of k are at addresses that depend on the part, so they are promoted.
    if not config.tiles or config.k_threads > 1 or not stores_tiles(schedule, total):
        schedule = _with_transposed_sums(schedule.promote(total, at=tile, lanes=lanes), total)
    if config.prefetch_a:
        schedule = _with_prefetch_of_a(schedule, config)
    if config.prefetch_b and not config.pack_b:
        around = loops_around(schedule, "update")
        at = next(loop for loop in ("ik_tile", "ik", "in") if loop in around)
        schedule = _with_prefetch_of_b(schedule, config, f"update.{at}")
    schedule = produced_whole(_packed(schedule, config, loops, lanes, machine), config, lanes)
    if config.prefetch_packed and "ik" in loops_around(schedule, "update"):
        schedule = schedule.prefetch("b_packed", "update.ik", config.prefetch_packed)
    return _in_vectors(schedule, config, lanes, tile, machine)


def _has_own_sums(kernel: Kernel, finished: Sequence[TileLoop]) -> bool:
    """Whether each register tile finishes its sums, one tile after the other, before the next."""
    tiles = {loop.dimensions for loop in finished if loop.level == "i"}
    in_turn = all(loop.level != "p" for loop in finished)
    return "epilogue" in kernel.statements and in_turn and tiles >= {("m",), ("n",)}


def _with_sums_of_a_tile(schedule: Schedule, total: str, config: Config) -> tuple[Schedule, str]:
    """Store the sums of one register tile only; also return the name of their array."""
    sizes = sizes_of(schedule.kernel)
    extents = (("m", config.inner_m, sizes.m), ("n", config.inner_n, sizes.n))
    for dimension, size, extent in extents:
        if size < extent:
            schedule = schedule.fold_storage(total, dimension, size)
            total = f"{total}_folded"
    return schedule, total


def _require_arrays(kernel: Kernel, config: Config) -> None:
    """Check that packed and prefetched operands are arrays."""
    for field, operand in (("pack_a", "a"), ("prefetch_a", "a"), ("pack_b", "b")):
        if getattr(config, field) and operand not in kernel.arrays:
            raise ScheduleError(
                f"matmul config: {field}=True, and '{operand}' is not an array: it is computed "
                f"where it is read; set {field} to False"
            )


def _with_partial_sums(kernel: Kernel, config: Config) -> Schedule:
    """Divide ``k`` among threads, inside the batch loops; each part has its own partial sums."""
    batch = [f"update.{index}" for index in stack_loops(kernel)]
    return (
        unscheduled(kernel)
        .divide("update.k", config.k_threads, unit_of(config, "k"), into="pk")
        .reorder(*batch, "pk", *(f"update.{index}" for index in "mnk"))
        .rfactor("update", "pk")
    )


def _with_transposed_sums(schedule: Schedule, total: str) -> Schedule:
    """Transpose the sums of a register tile where the result is contiguous along its columns.

    Only sums of one vector of columns are next to each other in the unrolled code. A few rows pay
    if they are all rows of the result: whole vectors are then stored.
    """
    array = schedule.kernel.arrays.get(total)
    if array is None or array.strides is None or array.lane_dimension != -2:
        return schedule
    rows = linear_form(array.shape[-2], {}).constant
    is_dense = linear_form(array.strides[-1], {}).constant == rows
    for copy in (f"{total}_local_in", f"{total}_local_out"):
        if copy not in schedule.program.statements:
            continue
        around = loops_around(schedule, copy)
        if {"m", "n", "nv"} <= {*around} and _is_single(schedule, f"{copy}.n"):
            fewest = min(FEWEST, rows) if is_dense and copy.endswith("out") else FEWEST
            schedule = transposed_in_registers(schedule, f"{copy}.nv", f"{copy}.m", fewest=fewest)
    return schedule


def _is_single(schedule: Schedule, loop: str) -> bool:
    program = schedule.program
    return largest_extent(program, find_loop(program, loop)) == 1


def _packed(
    schedule: Schedule, config: Config, loops: Sequence[TileLoop], lanes: int, machine: Machine
) -> Schedule:
    """Pack the operands as the config says: ``b`` for tiles of rows, ``a`` for tiles of columns.

    A transposed ``b`` is transposed in registers, in square tiles, because its columns become
    lanes. ``a`` keeps its dimension order. A computed operand is computed into the packed buffer.
    If it is unpacked from sub-byte integers by columns, it is computed first and then packed.
    """
    packing = {"b": (config.pack_b, "im"), "a": (config.pack_a, "in")}
    for array, (is_packed, reader) in packing.items():
        if not is_packed:
            continue
        at = loop_of_packing(array, loops)
        if at is None:
            raise ScheduleError(
                f"matmul config: pack_{array} packs a block that '{reader}' reads repeatedly, and "
                f"no loop outside of it selects the block: put another i loop before '{reader}' "
                f"in the order '{config.order}', or set a block size"
            )
        dimensions = schedule.program.arrays[array].dimensions
        order = ("k", "n") if array == "b" else dimensions[-2:]
        whole = (*(dim for dim in dimensions if dim not in order), *order)
        filling, at_loop = f"produce_{array}", f"update.{at.name}"
        if array == "b" and "vnni_b" in schedule.program.statements:
            schedule = _in_vnni_layout(schedule, at_loop, config, loops, lanes, machine)
            continue
        is_stored = filling not in schedule.program.statements
        is_in_two_steps = array == "b" and not is_stored and _reads_bits_by_columns(schedule)
        if is_stored or is_in_two_steps:
            schedule = schedule.pack(array, at_loop, order=whole)
            if is_in_two_steps:
                schedule = _computed_by_columns(schedule, at_loop, whole, lanes)
            filling = f"{array}_packed"
        else:
            schedule = schedule.compute_at(filling, at_loop, recompute=True, order=whole)
        around = loops_around(schedule, filling)
        if array == "b" and _is_by_columns(schedule) and set(order) <= set(around):
            schedule = transpose_tiles(schedule, filling, order, lanes)
        elif order[-1] in around:
            schedule = schedule.vectorize(f"{filling}.{order[-1]}", lanes)
            if at.name == "in":
                schedule = schedule.unroll(f"{filling}.{order[-1]}")
                if array == "b" and config.prefetch_b and is_stored:
                    schedule = _with_prefetch_of_b(schedule, config, f"{filling}.{order[0]}")
    return schedule


def _in_vnni_layout(
    schedule: Schedule,
    at_loop: str,
    config: Config,
    loops: Sequence[TileLoop],
    lanes: int,
    machine: Machine,
) -> Schedule:
    """Copy ``b`` into the VNNI layout, and schedule the row sums of ``a`` if there are any."""
    schedule = schedule.compute_at("b_vnni", at_loop, recompute=True)
    around = loops_around(schedule, "vnni_b")
    if "n" in around:
        schedule = schedule.vectorize("vnni_b.n", lanes)
    schedule = schedule.unroll("vnni_b.member")
    if "n" in around:
        # Whole groups are contiguous and interleaved by few shuffles, even groups of two.
        group, member = _group_size(schedule), "vnni_b.member"
        schedule = transposed_in_registers(schedule, "vnni_b.nv", member, fewest=group)
    if "copy_a" in schedule.program.statements:
        reader = loop_of_packing("a", loops)
        if config.tiles and reader is not None and reader.name == "im":
            schedule = schedule.compute_at("a_rows", f"update.{reader.name}", recompute=True)
        if schedule.kernel.arrays["a"].dimensions[-1] == "m":
            schedule = transpose_tiles(schedule, "copy_a", ("m", "k"), lanes)
        else:
            bits = schedule.kernel.arrays["a_rows"].dtype.bits
            row = machine.lanes(bits) if config.tiles else lanes
            schedule = schedule.vectorize("copy_a.k", row)
    if "rows" not in schedule.program.statements:
        return schedule
    terms = _group_size(schedule)
    schedule = schedule.split("rows.k", terms, into=("k_group", "k_term"))
    vectors = vectors_for(-(-sizes_of(schedule.kernel).k // terms), LANES_OF_ROW) // 2
    schedule = in_vectors(
        schedule, "rows", "k_group", LANES_OF_ROW, max(1, vectors), terms=("k_term",)
    )
    instruction = _instruction(schedule, LANES_OF_ROW, machine)
    if instruction is None:
        return schedule
    return schedule.tensorize("rows.k_group_lanev", instruction)


def _group_size(schedule: Schedule) -> int:
    """The number of terms in a group of the VNNI layout."""
    *_, size = schedule.kernel.arrays["b_vnni"].shape
    return linear_form(size, {}).constant


def _instruction(schedule: Schedule, lanes: int, machine: Machine) -> str | None:
    """The dot-product instruction for the groups of the VNNI layout, in vectors of ``lanes``."""
    arrays = schedule.kernel.arrays
    types = arrays["a"].dtype, arrays["b_vnni"].dtype
    return sum_of_products(types, _group_size(schedule), lanes, machine.enabled_features)


def _with_prefetch_of_a(schedule: Schedule, config: Config) -> Schedule:
    """Prefetch the rows of ``a`` of the next register tile into the L2 cache."""
    if config.pack_a or config.loops.index("im") > config.loops.index("ik"):
        raise ScheduleError(
            "matmul config: prefetch_a prefetches rows of a that the next iteration of 'im' reads; "
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


def _with_prefetch_of_b(schedule: Schedule, config: Config, at: str) -> Schedule:
    """Prefetch the rows of a later panel or product of ``b``, in the loop ``at`` over the terms."""
    of = "update.in"
    if config.prefetch_products:
        stored = schedule.kernel.arrays["b"].dimensions
        varying = [f"update.{loop}" for loop in stack_loops(schedule.kernel) if loop in stored]
        if not varying:
            return schedule
        of = varying[-1]
    return schedule.prefetch("b", at, config.prefetch_b, config.prefetch_level, of)


def _is_by_columns(schedule: Schedule) -> bool:
    """Whether ``b``, or an input that it is computed from, is contiguous along its columns."""
    if "produce_b" not in schedule.program.statements:
        return schedule.program.arrays["b"].dimensions[-1] == "k"
    return bool(_read_by_columns(schedule))


def _reads_bits_by_columns(schedule: Schedule) -> bool:
    """Whether ``b`` is computed from sub-byte integers that are contiguous along its columns.

    Unpacking a whole vector of them at once is cheap, unpacking single ones is not.
    """
    arrays = schedule.program.arrays
    return any(arrays[name].dtype.is_odd_width for name in _read_by_columns(schedule))


def _read_by_columns(schedule: Schedule) -> list[str]:
    """The inputs that are contiguous along the columns of ``b``."""
    producer = schedule.program.statements["produce_b"]
    *_, term, _ = producer.indices
    return [read.array for read in producer.reads if read.subscripts[-1:] == (Index(term),)]


def _computed_by_columns(
    schedule: Schedule, at_loop: str, dimensions: Sequence[str], lanes: int
) -> Schedule:
    """Compute a block of ``b`` column by column, in the order of its inputs, before packing it."""
    *outer, term, column = dimensions
    schedule = schedule.compute_at(
        "produce_b", at_loop, recompute=True, order=(*outer, column, term)
    )
    around = loops_around(schedule, "produce_b")
    if term not in around:
        return schedule
    if column in around:
        schedule = schedule.reorder(f"produce_b.{column}", f"produce_b.{term}")
    return schedule.vectorize(f"produce_b.{term}", lanes)


def _in_vectors(
    schedule: Schedule, config: Config, lanes: int, tile: str, machine: Machine
) -> Schedule:
    """Vectorize the columns, and unroll the loops below ``tile`` so that sums are in registers."""
    for statement in ("init", "update_init", "update", "update_combine", "epilogue"):
        if statement not in schedule.program.statements:
            continue
        around = loops_around(schedule, statement)
        rows = [f"{statement}.{loop}" for loop in around if loop in remaining_loops("m")]
        columns = [f"{statement}.{loop}" for loop in around if loop in remaining_loops("n")]
        terms = [f"{statement}.{loop}" for loop in around if loop == "rk"]
        if config.tiles and tile in around and statement in {*ZEROS, "update"}:
            schedule = in_tiles(schedule, statement)
            continue
        for loop in columns:
            schedule = schedule.vectorize(loop, lanes)
        if tile in around and terms + rows + columns and not config.tiles:
            schedule = schedule.unroll(*rows, *columns)
            is_grouped = statement == "update" and "vnni_b" in schedule.program.statements
            instruction = _instruction(schedule, lanes, machine) if is_grouped else None
            if terms and columns and instruction:
                schedule = _tensorized(schedule, columns[-1], instruction)
            elif terms:
                schedule = schedule.unroll(*terms)
    return schedule


def _tensorized(schedule: Schedule, column: str, instruction: str) -> Schedule:
    """Add the terms of each group by one instruction, in vectors of the loop ``column``."""
    return (
        schedule.split("update.rk", _group_size(schedule), into=("rk_group", "rk_term"))
        .reorder("update.rk_group", f"{column}v", "update.rk_term")
        .unroll("update.rk_group", "update.rk_term")
        .tensorize(f"{column}v", instruction)
    )
