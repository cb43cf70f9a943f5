"""stream: write an array with non-temporal stores, past the caches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Role
from polysched.schedule.core.program import Program


@dataclass(frozen=True)
class Stream:
    """Step record of :func:`stream`, which documents the field."""

    array: str


def stream(program: Program, step: Stream) -> Program:
    """Stream an output: store its whole vectors with non-temporal stores, past the caches.

    A non-temporal store does not read the cache line first. It pays if the array is larger than the
    last-level cache and whole cache lines are written. A vector at an address that is not a
    multiple of its size, and a partial vector, take an ordinary store. A fence ends the kernel and
    the work of every thread, so that later readers see the values. The C text does not change.

    Args:
        array (str): an argument that the kernel writes.

    before::

        vector iv in 0..16: y[16*i + iv] = x[16*i + iv]     load, store

    after ``stream("y")``::

        vector iv in 0..16: y[16*i + iv] = x[16*i + iv]     load, non-temporal store

    Checks:
        - The array is an argument that the kernel writes, else ``StepError``.
        - Its elements take whole bytes, else ``StepError``.
        - Legality: always legal; no value and no order changes.
    """
    array = program.array(step.array)
    written = [known.name for known in program.arrays.values() if known.is_written]
    if not array.is_written:
        role = "a temporary" if array.role is Role.TEMPORARY else "an input"
        raise ScheduleError(
            f"array '{step.array}' is {role}; stream takes an argument that the kernel writes, "
            f"here {', '.join(written) or 'none'}"
        )
    if array.is_packed:
        raise ScheduleError(
            f"array '{step.array}' is packed; expected one whose elements take whole bytes"
        )
    return replace(program, arrays={**program.arrays, step.array: replace(array, streamed=True)})
