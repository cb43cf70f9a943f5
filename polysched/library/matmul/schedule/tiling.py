"""Tile loops of a matmul config: split, order, parallelize and fill buffers by them."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.ir.core.tree import path
from polysched.library.matmul.kernel.declare import STACK
from polysched.library.matmul.plan.config import DIMENSIONS, Config, unit_of
from polysched.library.register_transpose import transposed_in_registers
from polysched.user import Schedule


def tiled(
    schedule: Schedule,
    statement: str,
    config: Config,
    loops: Sequence[str],
    inside: str = "kmn",
) -> Schedule:
    """Split the loops of a statement into the tile loops ``loops`` and order them.

    The remaining inner loops follow in the order of ``inside``. Tile loops that are already around
    the statement, and those of dimensions that the statement does not have, are skipped.
    """
    around = loops_around(schedule, statement)
    rest = {d: f"{statement}.{d}" for d in inside if d in around}
    loops = [loop for loop in loops if loop not in around and loop[1] in rest]
    for loop in loops:
        level, dimension = loop[0], loop[1]
        if level == "p":
            parts, unit = config.threads(dimension), unit_of(config, dimension)
            schedule = schedule.divide(rest[dimension], parts, unit, into=loop)
            continue
        factor, remaining = {
            "o": (config.block(dimension), f"{dimension}_block"),
            "i": (config.inner(dimension), f"r{dimension}"),
        }[level]
        assert factor is not None
        schedule = schedule.split(rest[dimension], factor, into=(loop, remaining))
        rest[dimension] = remaining
    return schedule.reorder(*loops, *rest.values())


def in_parallel(schedule: Schedule, loops: Sequence[str]) -> tuple[Schedule, tuple[str, ...]]:
    """Collapse the ``p`` loops, and the stack loops in ``loops``, into one parallel loop.

    Returns:
        the schedule, and the loops that replace ``loops``.
    """
    parts = [loop for loop in loops if loop.startswith(("p", STACK))]
    if not parts:
        return schedule, tuple(loops)
    parallel, *inner = parts
    for loop in inner:
        into = parallel + loop
        schedule = schedule.collapse(f"update.{parallel}", f"update.{loop}", into=into)
        parallel = into
    return schedule.parallel(f"update.{parallel}"), (parallel, *loops[len(parts) :])


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
