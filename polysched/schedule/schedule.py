"""Schedules: a kernel and the steps applied to it, as one immutable value."""

from __future__ import annotations

from dataclasses import dataclass, field

import islpy as isl

from polysched.errors import KernelError, ScheduleError
from polysched.ir.kernel import Kernel
from polysched.ir.quota import QuotaExceededError, operation_quota
from polysched.ir.source import SourceLocation, caller_location
from polysched.schedule.collapse import Collapse
from polysched.schedule.compute_at import ComputeAt
from polysched.schedule.distribute import Distribute
from polysched.schedule.fuse import Fuse
from polysched.schedule.pack import Pack
from polysched.schedule.parallel import Parallel
from polysched.schedule.primitives import PRIMITIVES, Step, format_step, transform
from polysched.schedule.program import Program, initial_program
from polysched.schedule.promote import Promote
from polysched.schedule.reorder import Reorder
from polysched.schedule.reverse import Reverse
from polysched.schedule.shift import Shift
from polysched.schedule.skew import Skew
from polysched.schedule.split import Split
from polysched.schedule.tile import Tile
from polysched.schedule.unroll import Unroll
from polysched.schedule.vectorize import Vectorize

STEP_QUOTA = 2_000_000
"""Operations of isl for one step, or for the dependences of a kernel; they take it seconds."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """A kernel, the steps so far, and the programs that they make of it.

    Every method returns a new schedule with one step more. A loop is named by its name, or by
    ``"statement.loop"`` where several loops have that name. Whether the result is legal is judged
    on the whole schedule, later: a step that breaks a dependence may be mended by another.

    Attributes:
        kernel: the kernel as declared; ``Schedule(kernel)`` starts in program order.
        steps: the steps, first to last.
        locations: the user's source line of each step, None where unknown.
        programs: the program before the first step, and after each.
    """

    kernel: Kernel
    steps: tuple[Step, ...] = ()
    locations: tuple[SourceLocation | None, ...] = field(default=(), repr=False)
    programs: tuple[Program, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ScheduleError(
                f"Schedule(...) of a {type(self.kernel).__name__}; expected a Kernel, which "
                "KernelBuilder.kernel() gives"
            )
        if not self.programs:
            try:
                with operation_quota(STEP_QUOTA):
                    program = initial_program(self.kernel)
            except (QuotaExceededError, isl.Error) as error:
                raise KernelError(
                    f"kernel '{self.kernel.name}': its dependences cannot be found: {error}. Make "
                    "subscripts and bounds simpler, or declare several kernels"
                ) from None
            object.__setattr__(self, "programs", (program,))

    @property
    def program(self) -> Program:
        """The program after all the steps."""
        return self.programs[-1]

    def then(self, step: Step, location: SourceLocation | None = None) -> Schedule:
        """The schedule with one step more.

        Raises:
            ScheduleError: it is no step, does not fit or takes too long; the message shows it.
        """
        if type(step) not in PRIMITIVES:
            raise ScheduleError(
                f"{step!r} of type {type(step).__name__} is no step; expected a record such as "
                "Split('i', 4)"
            )
        try:
            with operation_quota(STEP_QUOTA):
                program = transform(self.program, step)
        except (ScheduleError, QuotaExceededError, isl.Error) as error:
            raise ScheduleError(f"{format_step(step)}: {error}") from None
        return Schedule(
            self.kernel,
            (*self.steps, step),
            (*self.locations, location or caller_location()),
            (*self.programs, program),
        )

    def trace(self) -> str:
        """The steps as text, one a line."""
        return "\n".join(map(format_step, self.steps))

    def split(self, loop: str, factor: int, into: tuple[str, str] | None = None) -> Schedule:
        """Cut a loop into chunks: see :func:`polysched.schedule.split.split`."""
        return self.then(Split(loop, factor, into))

    def tile(
        self,
        loops: tuple[str, ...],
        factors: tuple[int, ...],
        outer: tuple[str, ...] | None = None,
        inner: tuple[str, ...] | None = None,
    ) -> Schedule:
        """Cut a nest into tiles: see :func:`polysched.schedule.tile.tile`."""
        return self.then(Tile(loops, factors, outer, inner))

    def reorder(self, *order: str) -> Schedule:
        """Put loops of a nest into an order: see :func:`polysched.schedule.reorder.reorder`."""
        return self.then(Reorder(order))

    def collapse(self, outer: str, inner: str, into: str) -> Schedule:
        """Run two loops as one: see :func:`polysched.schedule.collapse.collapse`."""
        return self.then(Collapse(outer, inner, into))

    def fuse(self, first: str, second: str, into: str | None = None) -> Schedule:
        """Merge two neighbouring loops: see :func:`polysched.schedule.fuse.fuse`."""
        return self.then(Fuse(first, second, into))

    def distribute(self, loop: str, after: str | None = None) -> Schedule:
        """Split a loop's body: see :func:`polysched.schedule.distribute.distribute`."""
        return self.then(Distribute(loop, after))

    def compute_at(self, producer: str, at: str) -> Schedule:
        """Run a producer in its consumer: see :func:`polysched.schedule.compute_at.compute_at`."""
        return self.then(ComputeAt(producer, at))

    def skew(self, loop: str, by: str, factor: int = 1, into: str | None = None) -> Schedule:
        """Delay a loop by an outer one: see :func:`polysched.schedule.skew.skew`."""
        return self.then(Skew(loop, by, factor, into))

    def shift(self, loop: str, amount: int, statement: str | None = None) -> Schedule:
        """Move a statement in a loop: see :func:`polysched.schedule.shift.shift`."""
        return self.then(Shift(loop, amount, statement))

    def reverse(self, loop: str) -> Schedule:
        """Run a loop backwards: see :func:`polysched.schedule.reverse.reverse`."""
        return self.then(Reverse(loop))

    def unroll(self, *loops: str, factor: int | None = None) -> Schedule:
        """Write out the iterations of loops: see :func:`polysched.schedule.unroll.unroll`."""
        if not loops:
            raise ScheduleError("unroll() names no loop; expected at least one")
        schedule = self
        for loop in loops:
            schedule = schedule.then(Unroll(loop, factor))
        return schedule

    def parallel(self, loop: str) -> Schedule:
        """Run iterations on several threads: see :func:`polysched.schedule.parallel.parallel`."""
        return self.then(Parallel(loop))

    def vectorize(self, loop: str, lanes: int, into: str | None = None) -> Schedule:
        """Run iterations as lanes: see :func:`polysched.schedule.vectorize.vectorize`."""
        return self.then(Vectorize(loop, lanes, into))

    def pack(
        self, array: str, at: str, order: tuple[str, ...] | None = None, into: str | None = None
    ) -> Schedule:
        """Copy a tile that is read: see :func:`polysched.schedule.pack.pack`."""
        return self.then(Pack(array, at, order, into))

    def promote(
        self, array: str, at: str, lanes: int | None = None, into: str | None = None
    ) -> Schedule:
        """Keep an updated tile in a buffer: see :func:`polysched.schedule.promote.promote`."""
        return self.then(Promote(array, at, lanes, into))
