"""Tile loops of a matmul config: split, order, parallelize and fill buffers by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from polysched.ir.core.tree import path
from polysched.library.matmul.plan.config import DIMENSIONS, Config, TileLoop, unit_of
from polysched.library.register_transpose import transposed_in_registers

if TYPE_CHECKING:
    from polysched.user import Schedule


def tiled(
    schedule: Schedule,
    statement: str,
    config: Config,
    loops: Sequence[TileLoop],
    inside: str = "kmn",
) -> Schedule:
    """Split the loops of a statement into the tile loops ``loops`` and order them.

    The remaining inner loops follow in the order of ``inside``. Tile loops that are already around
    the statement, and those of dimensions that the statement does not have, are skipped.
    """
    around = loops_around(schedule, statement)
    rest = {d: f"{statement}.{d}" for d in inside if d in around}
    loops = [loop for loop in loops if loop.name not in around and {*loop.dimensions} <= {*rest}]
    for loop in loops:
        (dimension,) = loop.dimensions
        _, in_block, in_tile = remaining_loops(dimension)
        if loop.level == "p":
            parts, unit = config.threads(dimension), unit_of(config, dimension)
            schedule = schedule.divide(rest[dimension], parts, unit, into=loop.name)
            continue
        factor, remaining = {
            "o": (config.block(dimension), in_block),
            "i": (config.inner(dimension), in_tile),
        }[loop.level]
        assert factor is not None
        schedule = schedule.split(rest[dimension], factor, into=(loop.name, remaining))
        rest[dimension] = remaining
    return schedule.reorder(*(loop.name for loop in loops), *rest.values())


def remaining_loops(*dimensions: str) -> tuple[str, ...]:
    """The names of the loops that remain inside the tile loops of dimensions.

    A dimension without tile loops keeps its loop, a cache block and a register tile have their own.
    """
    return tuple(name for d in dimensions for name in (d, f"{d}_block", f"r{d}"))


def in_parallel(
    schedule: Schedule, loops: Sequence[TileLoop], stack: Sequence[str] = ()
) -> tuple[Schedule, tuple[TileLoop, ...]]:
    """Collapse the loops over the stack and over parallel parts into one parallel loop.

    Args:
        loops: its tile loops, outermost first.
        stack: the loops over the stack that run in parallel.

    Returns:
        the schedule, and the loops that replace ``stack`` and ``loops``.
    """
    parts = [TileLoop(name, "p", (name,)) for name in stack]
    parts += [loop for loop in loops if loop.level == "p"]
    if not parts:
        return schedule, tuple(loops)
    parallel, *inner = parts
    for loop in inner:
        into = parallel.name + loop.name
        schedule = schedule.collapse(f"update.{parallel.name}", f"update.{loop.name}", into=into)
        parallel = TileLoop(into, "p", parallel.dimensions + loop.dimensions)
    rest = [loop for loop in loops if loop.level != "p"]
    return schedule.parallel(f"update.{parallel.name}"), (parallel, *rest)


def produced_whole(schedule: Schedule, config: Config, lanes: int) -> Schedule:
    """Compute all of a computed, unpacked operand before the product, its rows in parallel."""
    is_shared = config.parallel_batch or any(config.threads(d) > 1 for d in DIMENSIONS)
    for operand, is_packed in (("a", config.pack_a), ("b", config.pack_b)):
        statement = f"produce_{operand}"
        if is_packed or statement not in schedule.program.statements:
            continue
        first, *_, last = loops_around(schedule, statement)
        schedule = schedule.vectorize(f"{statement}.{last}", lanes)
        if is_shared:
            schedule = schedule.parallel(f"{statement}.{first}")
    return schedule


def transpose_tiles(schedule: Schedule, filling: str, order: Sequence[str], lanes: int) -> Schedule:
    """Fill a buffer from a transposed array in square tiles that are transposed in registers.

    The last dimension of ``order`` becomes lanes. Each band of ``lanes`` stored rows is read from
    its beginning to its end, so that the hardware prefetchers follow it.
    """
    outer, last = order
    inside = (f"{filling}.{outer}_across", f"{filling}.{last}_lane")
    schedule = (
        schedule.split(f"{filling}.{outer}", lanes, into=(f"{outer}_tile", f"{outer}_across"))
        .split(f"{filling}.{last}", lanes, into=(f"{last}_tile", f"{last}_lane"))
        .reorder(f"{filling}.{last}_tile", f"{filling}.{outer}_tile", *inside)
        .vectorize(f"{filling}.{last}_lane", lanes)
        .unroll(f"{filling}.{outer}_across")
    )
    return transposed_in_registers(schedule, f"{filling}.{last}_lanev", f"{filling}.{outer}_across")


def loops_around(schedule: Schedule, statement: str) -> tuple[str, ...]:
    """The loops around a statement, outermost first."""
    return tuple(loop.name for loop in path(schedule.program.tree, statement))
