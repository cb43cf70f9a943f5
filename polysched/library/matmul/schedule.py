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
from polysched.ir.kernel import Kernel
from polysched.ir.tree import path
from polysched.library.matmul.config import Config, fitted, part_of, require_registers
from polysched.library.matmul.kernel import Sizes, sizes_of
from polysched.machine.description import Machine
from polysched.user import Schedule


def matmul_schedule(kernel: Kernel, config: Config, machine: Machine) -> Schedule:
    """Schedule a kernel of :func:`polysched.library.matmul.kernel.matmul_kernel`.

    Args:
        kernel: the product.
        config: its tiling; what is larger than the problem is fitted to it.
        machine: whose vectors and registers are used.

    Raises:
        ScheduleError: the config asks for what cannot be had; the message says what.
    """
    sizes = sizes_of(kernel)
    config = fitted(config, sizes)
    sums = kernel.arrays[kernel.statements["update"].target.array]
    require_registers(config, machine, sums.dtype)
    lanes = machine.lanes(sums.dtype.bits)
    loops = tile_loops(config)
    *_, tile = (loop for loop in loops if not loop.endswith("k"))

    if "pk" in loops:
        schedule = _with_partial_sums(kernel, config, sizes)
        first, total = "update_init", f"{sums.name}_partial"
    else:
        schedule, first, total = Schedule(kernel), "init", sums.name
    finished = tuple(takewhile(lambda loop: not loop.endswith("k"), loops))
    if "epilogue" in kernel.statements and finished:
        schedule = _tiled(schedule, "epilogue", config, sizes, finished)
        schedule = schedule.compute_at(sums.name, at=finished[-1])
        schedule = _tiled(schedule, "update", config, sizes, loops[len(finished) :])
    else:
        schedule = _tiled(schedule, "update", config, sizes, loops)
    if first in schedule.program.statements and tile not in _loops_around(schedule, first):
        schedule = schedule.compute_at(first, at=tile)
    if config.parallel_batch:
        loops = ("batch", *loops)
    schedule, loops = _in_parallel(schedule, loops)
    schedule = schedule.promote(total, at=tile, lanes=lanes)
    schedule = _packed(schedule, config, loops, lanes)
    return _in_vectors(schedule, lanes, tile)


def tile_loops(config: Config) -> tuple[str, ...]:
    """The loops around the register tile that a fitted config asks for, outermost first.

    Parts of ``k`` come first, wherever ``order`` has them: their sums are partial to the very end.
    """
    wanted = [
        loop
        for loop in config.loops
        if loop.startswith("i")
        or (loop.startswith("p") and config.threads(loop[1]) > 1)
        or (loop.startswith("o") and config.block(loop[1]) is not None)
    ]
    return tuple(sorted(wanted, key=lambda loop: loop != "pk"))


def _with_partial_sums(kernel: Kernel, config: Config, sizes: Sizes) -> Schedule:
    """Parts of the sums, for threads, outermost; each into an array of its own."""
    part = part_of(config, "k", sizes.k)
    *space, _ = kernel.statements["update"].indices
    return (
        Schedule(kernel)
        .split("update.k", part, into=("pk", "k_part"))
        .reorder("pk", *(f"update.{index}" for index in space), "k_part")
        .rfactor("update", "pk")
    )


def _tiled(
    schedule: Schedule, statement: str, config: Config, sizes: Sizes, loops: Sequence[str]
) -> Schedule:
    """Cut the loops of a statement and put the pieces in order: ``loops``, then what remains."""
    extents = {"m": sizes.m, "n": sizes.n, "k": sizes.k}
    around = _loops_around(schedule, statement)
    rest = {d: f"{statement}.{d}" for d in "kmn" if d in around}
    if "pk" in around:
        rest = {"k": "k_part", **rest}
    loops = [loop for loop in loops if loop not in around]
    for loop in loops:
        level, dimension = loop
        factor, remaining = {
            "p": (part_of(config, dimension, extents[dimension]), f"{dimension}_part"),
            "o": (config.block(dimension), f"{dimension}_block"),
            "i": (config.inner(dimension), f"r{dimension}"),
        }[level]
        assert factor is not None
        schedule = schedule.split(rest[dimension], factor, into=(loop, remaining))
        rest[dimension] = remaining
    return schedule.reorder(*loops, *rest.values())


def _in_parallel(schedule: Schedule, loops: Sequence[str]) -> tuple[Schedule, tuple[str, ...]]:
    """The parts of threads as one parallel loop; the schedule and the loops that it has now."""
    parts = [loop for loop in loops if loop.startswith("p") or loop == "batch"]
    if not parts:
        return schedule, tuple(loops)
    parallel, *inner = parts
    for loop in inner:
        schedule = schedule.collapse(parallel, loop, into=parallel + loop)
        parallel += loop
    return schedule.parallel(parallel), (parallel, *loops[len(parts) :])


def _packed(schedule: Schedule, config: Config, loops: Sequence[str], lanes: int) -> Schedule:
    """Copies of what the tiles read again and again: ``b`` by the rows, ``a`` by the columns."""
    wanted = {
        "b": (config.pack_b, "im", "m", ("k", "n")),
        "a": (config.pack_a, "in", "n", ("m", "k")),
    }
    for array, (is_wanted, reader, independent, order) in wanted.items():
        if not is_wanted:
            continue
        outside = loops[: loops.index(reader)]
        at = next((loop for loop in reversed(outside) if set(loop[1::2]) - {independent}), None)
        if at is None:
            raise ScheduleError(
                f"matmul config: pack_{array} copies what '{reader}' reads again and again, and no "
                f"loop outside of it says what: put another i loop before '{reader}' in the order "
                f"'{config.order}', or ask for blocks"
            )
        dimensions = schedule.program.arrays[array].dimensions
        batch = tuple(one for one in dimensions if one not in order)
        schedule = schedule.pack(array, at, order=(*batch, *order))
        schedule = schedule.vectorize(f"{array}_packed.{order[-1]}", lanes)
        if at == "in":
            schedule = schedule.unroll(f"{array}_packed.{order[-1]}")
    return schedule


_ROWS = ("m", "rm", "m_block", "m_part")
_COLUMNS = ("n", "rn", "n_block", "n_part")


def _in_vectors(schedule: Schedule, lanes: int, tile: str) -> Schedule:
    """Columns become lanes; what is below the loop ``tile`` is written out, to be in registers."""
    for statement in ("init", "update_init", "update", "update_combine", "epilogue"):
        if statement not in schedule.program.statements:
            continue
        around = _loops_around(schedule, statement)
        rows = [f"{statement}.{loop}" for loop in around if loop in _ROWS]
        columns = [f"{statement}.{loop}" for loop in around if loop in _COLUMNS]
        terms = [f"{statement}.{loop}" for loop in around if loop == "rk"]
        for loop in columns:
            schedule = schedule.vectorize(loop, lanes)
        if tile in around:
            schedule = schedule.unroll(*terms, *rows, *columns)
    return schedule


def _loops_around(schedule: Schedule, statement: str) -> tuple[str, ...]:
    return tuple(loop.name for loop in path(schedule.program.tree, statement))
