"""vectorize: run consecutive iterations of a loop together, as the lanes of a vector."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError
from polysched.ir.core.tree import Loop, LoopKind, path, statements
from polysched.machine.description import Machine
from polysched.schedule.core.program import (
    Program,
    base_name,
    find_loop,
    require_fresh,
    require_positive,
    sequential_loop,
)
from polysched.schedule.primitives.split import split_loop

LARGEST_LANES = 64


@dataclass(frozen=True)
class Vectorize:
    """Step record of :func:`vectorize`, which documents the fields."""

    loop: str
    lanes: int | None = None
    into: str | None = None


def vectorize(program: Program, step: Vectorize) -> Program:
    """Vectorize a loop: run ``lanes`` consecutive iterations at a time, statement by statement.

    Each statement below the loop runs for all lanes at once and makes all its reads before its
    writes. Lanes outside the loop's bounds are masked. The loop keeps its name and counts vectors.

    Args:
        loop (str): the loop.
        lanes (int | None): lanes per vector, a power of two up to 64; by default as many elements
            of the widest type in the loop as a vector of this machine holds. The step that is
            recorded, printed and saved has the number.
        into (str | None): name of the loop over the lanes; by default ``<loop>v``.

    before::

        for i in 0..n: S(i)

    after ``vectorize("i", 16)``::

        for i in 0..ceil(n / 16):
          vector iv in 0..min(16, n - 16*i): S(16*i + iv)

    Checks:
        - The loop is sequential and has no prefetch, else ``StepError``.
        - ``lanes`` is a power of two from 1 to 64, else ``StepError``.
        - No statement below the loop runs in a vector loop already, else ``StepError``.
        - The new name is free around every statement of the loop, else ``StepError``.
        - Legality: the order in which vectors run keeps every dependence, else
          ``IllegalScheduleError``.
    """
    count = required_lanes(f"vectorize('{step.loop}')", step.lanes)
    loop = sequential_loop(program, step.loop)
    name = base_name(step.loop)
    lane_name = step.into or f"{name}v"
    _require_no_vector_around(program, loop, step.loop)
    require_fresh(program, loop, lane_name)
    return program.with_node(loop, vectorized(loop, count, name, lane_name))


def vectorized(loop: Loop, lanes: int, name: str, lane_name: str) -> Loop:
    """Return the loop over vectors, around the loop over their lanes."""
    return split_loop(loop, lanes, name, lane_name, kind=LoopKind.VECTOR, lanes=lanes)


def _require_no_vector_around(program: Program, loop: Loop, reference: str) -> None:
    for name in loop.values:
        for other in path(program.tree, name):
            if other.kind is LoopKind.VECTOR:
                raise ScheduleError(
                    f"loop '{reference}' cannot be vectorized: statement '{name}' already runs "
                    f"in the vector loop '{other.name}', and runs in one at most; for longer "
                    f"vectors give that one more than its {other.lanes} lanes"
                )


def required_lanes(step: str, lanes: int | None) -> int:
    """Return the number of lanes of a step.

    Raises:
        ScheduleError: it is not a power of two from 1 to 64.
    """
    if lanes is None:
        raise ScheduleError(f"the number of lanes of {step} is missing; expected a power of two")
    require_positive(f"the number of lanes of {step}", lanes)
    if lanes & (lanes - 1) or lanes > LARGEST_LANES:
        raise ScheduleError(
            f"the number of lanes of {step} is {lanes}; expected a power of two up to "
            f"{LARGEST_LANES}"
        )
    return lanes


def machine_lanes(program: Program, reference: str, machine: Machine) -> int:
    """Return how many elements of the widest type below a loop fill one vector of a machine.

    Raises:
        ScheduleError: there is no such loop.
    """
    arrays = {
        access.array
        for name in statements(find_loop(program, reference))
        for access in program.statements[name].accesses
    }
    widest = max(program.arrays[array].dtype.container.bits for array in arrays)
    return min(LARGEST_LANES, max(1, machine.vector_bits // widest))
