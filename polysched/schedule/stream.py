"""stream: an array is written past the caches."""

from __future__ import annotations

from dataclasses import dataclass, replace

from polysched.errors import ScheduleError, suggestion
from polysched.ir.kernel import Role
from polysched.schedule.program import Program


@dataclass(frozen=True)
class Stream:
    """Write whole vectors of an output past the caches.

    Args:
        array: an argument that the kernel writes.
    """

    array: str


def stream(program: Program, step: Stream) -> Program:
    """Store vectors to an array with non-temporal stores, which do not read the line first.

    It pays where an array is larger than the last cache and whole cache lines are written. The
    processor wants addresses that are multiples of the vector's size: a vector elsewhere is stored
    as ever, as are partial vectors. A fence ends the kernel, and every thread's share of it, so
    that whoever runs afterwards sees what was written. No value changes, nor does the C text.

    before::

        vector iv in 0..16: y[16*i + iv] = x[16*i + iv]     load, store

    after ``stream("y")``::

        vector iv in 0..16: y[16*i + iv] = x[16*i + iv]     load, non-temporal store
    """
    array = program.arrays.get(step.array)
    if array is None:
        raise ScheduleError(f"no array '{step.array}'{suggestion(step.array, program.arrays)}")
    written = [one.name for one in program.arrays.values() if one.is_written]
    if not array.is_written:
        what = "a temporary" if array.role is Role.TEMPORARY else "an input"
        raise ScheduleError(
            f"array '{step.array}' is {what}; only what the caller sees written is streamed, here "
            f"{', '.join(written) or 'nothing'}"
        )
    if array.is_packed:
        raise ScheduleError(
            f"array '{step.array}' is packed; expected one whose elements take whole bytes"
        )
    return replace(program, arrays={**program.arrays, step.array: replace(array, streamed=True)})
