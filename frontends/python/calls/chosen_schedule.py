"""Choose the schedule of a Python function that is called, and keep it on disk.

The autoscheduler gives the same schedule for the same kernel, machine, sizes and version of the
package, so a later process takes its steps from the cache of objects. They are applied and proved
again: an entry can only lose time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from polysched.errors import PolyschedError
from polysched.ir.core.fingerprint import fingerprint
from polysched.ir.core.kernel import Kernel
from polysched.legality.check import check
from polysched.machine.load import as_machine
from polysched.progress import progress_line
from polysched.runtime.cache import cache_key, default_cache
from polysched.runtime.package_state import package_state
from polysched.schedule.notation.text import apply_text
from polysched.schedule.table import format_step
from polysched.user import Schedule

WORTH_CYCLES = 40_000
"""Calls with small sizes that are predicted to take fewer cycles are not searched.

They take some 12 us, and a search takes half a second to two. Measured on Sapphire Rapids: by a
searched schedule, products of 32 rows take 3.2 us and not 11.6 us, softmax of 64 rows of 64 takes
7 us and not 26 us, Cholesky factors of 32 rows take 5.8 us and not 4.6 us.
"""


@dataclass(frozen=True)
class ScheduleRequest:
    """A call of the autoscheduler.

    Attributes:
        threads: the number of threads that a call may use.
        sizes: values of parameters for which to predict costs; the schedule is legal for all.
        worth_cycles: a call that is predicted to take fewer cycles is not worth a search.
    """

    kernel: Kernel
    threads: int
    sizes: Mapping[str, int] | None
    worth_cycles: float

    def optimized(self) -> Schedule:
        """Search a schedule; the result holds the reasons."""
        from polysched.autoscheduler.driver import (  # noqa: PLC0415  (replayed steps need no search)
            optimize_schedule,
        )

        with progress_line(f"polysched: schedule of {self.kernel.name}") as tell:
            made = optimize_schedule(
                Schedule(self.kernel),
                as_machine(),
                threads=self.threads,
                sizes=self.sizes,
                worth_cycles=self.worth_cycles,
                tell=tell,
            )
        return replace(cast(Schedule, made.schedule), optimized=made)

    def schedule(self) -> Schedule:
        """Return the schedule of an earlier search from disk, else search and store it."""
        folder = default_cache()
        key = self._key()
        stored = folder.load(key)
        if stored is not None:
            schedule = self._replayed(stored.decode())
            if schedule is not None:
                return schedule
        schedule = self.optimized()
        optimized = schedule.optimized
        # A search that a time limit has ended may find more in another process.
        if optimized is not None and optimized.stopped is None:
            steps = "\n".join(map(format_step, schedule.steps))
            folder.store(key, steps.encode())
        return schedule

    def _key(self) -> str:
        sizes = tuple(sorted((self.sizes or {}).items()))
        options = self.threads, sizes, self.worth_cycles
        digest = fingerprint(self.kernel.fingerprint, as_machine(), *options)
        return cache_key("schedule", package_state(), digest)

    def _replayed(self, steps: str) -> Schedule | None:
        """Apply stored steps; None if they do not apply, or if the result is not proved legal."""
        try:
            schedule = apply_text(Schedule(self.kernel), steps, "stored schedule")
        except PolyschedError:
            return None
        return schedule if check(schedule).is_legal else None


def schedule_request(
    kernel: Kernel,
    *,
    threads: int | None,
    sizes: Mapping[str, int] | None = None,
    worth_cycles: float = 0.0,
) -> ScheduleRequest:
    """The request for the schedule by which calls run a kernel; ``threads`` None means all."""
    team = threads or max(1, as_machine().cores_usable)
    return ScheduleRequest(kernel, team, sizes, worth_cycles)
