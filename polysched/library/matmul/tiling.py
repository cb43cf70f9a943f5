"""The loops of a config: which there are, how a statement gets them, which run in parallel."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.ir.tree import path
from polysched.library.matmul.config import DIMENSIONS, Config, unit_of
from polysched.library.matmul.kernel import STACK
from polysched.user import Schedule


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


def tiled(
    schedule: Schedule,
    statement: str,
    config: Config,
    loops: Sequence[str],
    inside: str = "kmn",
) -> Schedule:
    """Cut the loops of a statement and put the pieces in order: ``loops``, then what remains, in
    the order of ``inside``.

    Left out are those that are around it already, and those of a dimension in which it has none.
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
    """The parts of threads, and the loops over a stack if ``loops`` has them, as one parallel loop;
    the schedule and the loops that it has now.
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


def loop_of_packing(operand: str, loops: Sequence[str]) -> str | None:
    """The loop in whose iterations ``"a"`` or ``"b"`` is packed: around the loop that reads the
    same again and again, the innermost that decides what; None if there is none.
    """
    reader, independent = ("im", "m") if operand == "b" else ("in", "n")
    outside = loops[: loops.index(reader)]
    return next((loop for loop in reversed(outside) if set(loop[1::2]) - {independent}), None)


def produced_whole(schedule: Schedule, config: Config, lanes: int) -> Schedule:
    """An operand that is computed, and not packed: all of it first, its rows shared by threads."""
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


def turned(schedule: Schedule, filling: str, order: Sequence[str], lanes: int) -> Schedule:
    """Fill a buffer in square tiles of vectors, the last of ``order`` becoming lanes: a few rows,
    as they are stored, from their beginnings to their ends, which the processor expects.
    """
    outer, last = order
    inside = (f"{filling}.{outer}_across", f"{filling}.{last}_lane")
    return (
        schedule.split(f"{filling}.{outer}", lanes, into=(f"{outer}_tile", f"{outer}_across"))
        .split(f"{filling}.{last}", lanes, into=(f"{last}_tile", f"{last}_lane"))
        .reorder(f"{filling}.{last}_tile", f"{filling}.{outer}_tile", *inside)
        .vectorize(f"{filling}.{last}_lane", lanes)
        .unroll(f"{filling}.{outer}_across")
    )


def loops_around(schedule: Schedule, statement: str) -> tuple[str, ...]:
    """The names of the loops around a statement, outermost first."""
    return tuple(loop.name for loop in path(schedule.program.tree, statement))
