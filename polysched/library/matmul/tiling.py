"""The loops of a config: which there are, how a statement gets them, which run in parallel."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.ir.tree import path
from polysched.library.matmul.config import Config, part_of
from polysched.library.matmul.kernel import Sizes
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
    schedule: Schedule, statement: str, config: Config, sizes: Sizes, loops: Sequence[str]
) -> Schedule:
    """Cut the loops of a statement and put the pieces in order: ``loops``, then what remains.

    Left out are those that are around it already, and those of a dimension in which it has none.
    """
    extents = {"m": sizes.m, "n": sizes.n, "k": sizes.k}
    around = loops_around(schedule, statement)
    rest = {d: f"{statement}.{d}" for d in "kmn" if d in around}
    if "pk" in around:
        rest = {"k": "k_part", **rest}
    loops = [loop for loop in loops if loop not in around and loop[1] in rest]
    for loop in loops:
        level, dimension = loop[0], loop[1]
        factor, remaining = {
            "p": (part_of(config, dimension, extents[dimension]), f"{dimension}_part"),
            "o": (config.block(dimension), f"{dimension}_block"),
            "i": (config.inner(dimension), f"r{dimension}"),
        }[level]
        assert factor is not None
        schedule = schedule.split(rest[dimension], factor, into=(loop, remaining))
        rest[dimension] = remaining
    return schedule.reorder(*loops, *rest.values())


def in_parallel(schedule: Schedule, loops: Sequence[str]) -> tuple[Schedule, tuple[str, ...]]:
    """The parts of threads as one parallel loop; the schedule and the loops that it has now."""
    parts = [loop for loop in loops if loop.startswith("p") or loop == "batch"]
    if not parts:
        return schedule, tuple(loops)
    parallel, *inner = parts
    for loop in inner:
        into = parallel + loop
        schedule = schedule.collapse(f"update.{parallel}", f"update.{loop}", into=into)
        parallel = into
    return schedule.parallel(f"update.{parallel}"), (parallel, *loops[len(parts) :])


def loops_around(schedule: Schedule, statement: str) -> tuple[str, ...]:
    """The names of the loops around a statement, outermost first."""
    return tuple(loop.name for loop in path(schedule.program.tree, statement))
