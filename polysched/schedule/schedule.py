"""The schedule: a kernel and the steps applied to it, as one immutable value."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import islpy as isl

from polysched.errors import KernelError, LoopReferenceError, ScheduleError, StepError
from polysched.html import Text
from polysched.instructions.declaration import Instruction
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.source import SourceLocation, caller_location
from polysched.ir.isl.quota import QuotaExceededError, in_proportion, operation_quota
from polysched.machine.load import as_machine
from polysched.schedule.core.arguments import require_names, with_checked_arguments
from polysched.schedule.core.foreign_names import replacement
from polysched.schedule.core.program import Program, initial_program
from polysched.schedule.history import loop_history
from polysched.schedule.primitives.collapse import Collapse
from polysched.schedule.primitives.compute_at import ComputeAt
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.primitives.divide import Divide
from polysched.schedule.primitives.fold_storage import FoldStorage
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.inline import Inline
from polysched.schedule.primitives.pack import Pack
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.prefetch import Prefetch
from polysched.schedule.primitives.privatize import Privatize
from polysched.schedule.primitives.promote import Promote
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.reverse import Reverse
from polysched.schedule.primitives.rfactor import Rfactor
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.simplify import Simplify
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.stream import Stream
from polysched.schedule.primitives.tensorize import Tensorize
from polysched.schedule.primitives.tile import Tile
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import Vectorize, machine_lanes
from polysched.schedule.primitives.vectorize_reduction import VectorizeReduction
from polysched.schedule.table import PRIMITIVES, Step, format_step, primitive_name, transform
from polysched.signature_errors import with_signature_errors

LONGEST_REPR = 300
"""Most characters of the steps in a repr; of longer lists, the primitives are counted."""

STEP_QUOTA = 2_000_000
"""isl operations allowed for one step on up to 100 statements: a few seconds."""

DEPENDENCE_QUOTA = 10_000_000
"""isl operations allowed for the dependences of a kernel of up to 100 statements."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """A kernel, the steps applied to it, and the program after each step.

    Every method returns a new schedule with one more step. A loop is named by its name, or by
    ``"statement.loop"`` if several loops have that name. Legality is checked later, for the whole
    schedule: a later step may repair a dependence that a step breaks.

    Attributes:
        kernel: the kernel as declared; ``Schedule(kernel)`` starts in program order.
        steps: the steps, first to last.
        locations: the user's source line of each step, None where unknown.
        programs: the program before the first step, and after each step.
    """

    kernel: Kernel
    steps: tuple[Step, ...] = ()
    locations: tuple[SourceLocation | None, ...] = ()
    programs: tuple[Program, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ScheduleError(
                f"Schedule(...) of a {type(self.kernel).__name__}; expected a Kernel, which "
                "@ps.kernel makes of a function and KernelBuilder.kernel() of a declaration; a "
                "function of ps.jit has a schedule after its first call: function.schedule"
            )
        if not self.programs:
            try:
                with operation_quota(in_proportion(DEPENDENCE_QUOTA, len(self.kernel.statements))):
                    program = initial_program(self.kernel)
            except (QuotaExceededError, isl.Error) as error:
                raise KernelError(
                    f"kernel '{self.kernel.name}': its dependences cannot be computed: {error}. "
                    "Make subscripts and bounds simpler, or declare several kernels"
                ) from None
            object.__setattr__(self, "programs", (program,))

    def __repr__(self) -> str:
        """Format the steps in one line if they are few; ``trace()`` is the whole list."""
        steps = ".".join(map(format_step, self.steps)) or "no steps"
        if len(steps) > LONGEST_REPR:
            counts = Counter(map(primitive_name, self.steps))
            listed = ", ".join(f"{name} {count}" for name, count in counts.items())
            steps = f"{len(self.steps)} steps ({listed})"
        return f"<Schedule of {self.kernel.name}: {steps}>"

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same steps of equal kernels; source lines do not count."""
        if not isinstance(other, Schedule):
            return NotImplemented
        return self is other or (self.kernel, self.steps) == (other.kernel, other.steps)

    def __hash__(self) -> int:
        return hash((self.kernel, self.steps))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the kernel and the steps, which unpickling applies again."""
        return _unpickled, (type(self), self.kernel, self.steps, self.locations)

    if not TYPE_CHECKING:  # type checkers report misspelled names themselves

        def __getattr__(self, name: str) -> NoReturn:
            known = [method for method in dir(type(self)) if not method.startswith("_")]
            hint = "" if name.startswith("_") else replacement(name, known)
            raise AttributeError(f"a schedule has no '{name}'{hint}")

        def __call__(self, *_arguments: object, **_named: object) -> NoReturn:
            """Tell how to get a function to call."""
            raise TypeError("a schedule cannot be called; compile() returns the function to call")

    @property
    def program(self) -> Program:
        """The program after all steps."""
        return self.programs[-1]

    def then(self, step: Step, location: SourceLocation | None = None) -> Self:
        """Return the schedule with one more step.

        Raises:
            ScheduleError: ``step`` is not a step, does not fit the program or takes too long; the
                message shows the step.
        """
        if type(step) not in PRIMITIVES:
            raise ScheduleError(
                f"{step!r} of type {type(step).__name__} is not a step; expected a record such as "
                "Split('i', 4)"
            )
        step = with_checked_arguments(primitive_name(step), step)
        try:
            with operation_quota(in_proportion(STEP_QUOTA, len(self.kernel.statements))):
                step = _with_machine_lanes(step, self.program)
                program = transform(self.program, step)
        except LoopReferenceError as error:
            history = loop_history(error.reference, self.steps, self.locations, self.programs)
            reason = error.problem + (history or error.advice)
            raise StepError(format_step(step), reason, error.reference) from None
        except isl.Error as error:
            reason = f"isl gave up; take other factors or another order of steps ({error})"
            raise StepError(format_step(step), reason) from None
        except (ScheduleError, QuotaExceededError) as error:
            raise StepError(format_step(step), str(error)) from None
        return replace(
            self,
            steps=(*self.steps, step),
            locations=(*self.locations, location or caller_location()),
            programs=(*self.programs, program),
        )

    def of(self, kernel: Kernel) -> Self:
        """Return the schedule of another kernel, without steps."""
        return replace(self, kernel=kernel, steps=(), locations=(), programs=())

    def first(self, count: int) -> Self:
        """Return the schedule after the first ``count`` steps."""
        return replace(
            self,
            steps=self.steps[:count],
            locations=self.locations[:count],
            programs=self.programs[: count + 1],
        )

    def trace(self) -> str:
        """Return the steps as text, one per line."""
        return Text("\n".join(map(format_step, self.steps)))

    def split(self, loop: str, factor: int, into: tuple[str, str] | None = None) -> Self:
        """Split a loop into chunks: see :func:`.split`."""
        return self.then(Split(loop, factor, into))

    def divide(self, loop: str, parts: int, unit: int = 1, into: str | None = None) -> Self:
        """Divide a loop into even parts: see :func:`.divide`."""
        return self.then(Divide(loop, parts, unit, into))

    def tile(
        self,
        loops: tuple[str, ...],
        factors: tuple[int, ...],
        outer: tuple[str, ...] | None = None,
        inner: tuple[str, ...] | None = None,
    ) -> Self:
        """Tile a loop nest: see :func:`.tile`."""
        return self.then(Tile(loops, factors, outer, inner))

    def reorder(self, *order: str) -> Self:
        """Permute the loops of a nest: see :func:`.reorder`."""
        require_names("reorder", "order", order, "('i', 'j')")
        return self.then(Reorder(order))

    def collapse(self, outer: str, inner: str, into: str) -> Self:
        """Collapse two nested loops: see :func:`.collapse`."""
        return self.then(Collapse(outer, inner, into))

    def fuse(self, first: str, second: str, into: str | None = None) -> Self:
        """Fuse two adjacent loops: see :func:`.fuse`."""
        return self.then(Fuse(first, second, into))

    def inline(self, array: str) -> Self:
        """Inline a temporary array: see :func:`.inline`."""
        return self.then(Inline(array))

    def simplify(self, rounds: int = 8, tails: int = 0) -> Self:
        """Remove temporaries and dead writes: see :func:`.simplify`."""
        return self.then(Simplify(rounds, tails))

    def distribute(self, loop: str, after: str | None = None) -> Self:
        """Distribute a loop over its body: see :func:`.distribute`."""
        return self.then(Distribute(loop, after))

    def compute_at(
        self, producer: str, at: str, recompute: bool = False, order: tuple[str, ...] | None = None
    ) -> Self:
        """Compute a producer at its use: see :func:`.compute_at`."""
        return self.then(ComputeAt(producer, at, recompute, order))

    def skew(self, loop: str, by: str, factor: int = 1, into: str | None = None) -> Self:
        """Skew a loop by an outer one: see :func:`.skew`."""
        return self.then(Skew(loop, by, factor, into))

    def shift(self, loop: str, amount: int, statement: str | None = None) -> Self:
        """Shift statements in a loop: see :func:`.shift`."""
        return self.then(Shift(loop, amount, statement))

    def reverse(self, loop: str) -> Self:
        """Reverse a loop: see :func:`.reverse`."""
        return self.then(Reverse(loop))

    def unroll(self, *loops: str, factor: int | None = None) -> Self:
        """Unroll loops: see :func:`.unroll`."""
        if not loops:
            raise ScheduleError("unroll() names no loop; expected at least one")
        require_names("unroll", "loops", loops, "('i', 'j') or ('i', factor=4)")
        schedule = self
        for loop in loops:
            schedule = schedule.then(Unroll(loop, factor))
        return schedule

    def parallel(self, loop: str) -> Self:
        """Run iterations on several threads: see :func:`.parallel`."""
        return self.then(Parallel(loop))

    def vectorize(self, loop: str, lanes: int | None = None, into: str | None = None) -> Self:
        """Run iterations as vector lanes: see :func:`.vectorize`."""
        return self.then(Vectorize(loop, lanes, into))

    def vectorize_reduction(
        self, statement: str, loop: str, lanes: int | None = None, accumulators: int = 1
    ) -> Self:
        """Run terms of a reduction as vector lanes: see :func:`.vectorize_reduction`."""
        return self.then(VectorizeReduction(statement, loop, lanes, accumulators))

    def transpose(self, loop: str, across: str, strategy: str = "network", fewest: int = 2) -> Self:
        """Transpose tiles in registers: see :func:`.transpose`."""
        return self.then(Transpose(loop, across, strategy, fewest))

    def tensorize(self, loop: str, instruction: str | Instruction) -> Self:
        """Use one instruction for a nest: see :func:`.tensorize`."""
        return self.then(Tensorize(loop, instruction))

    def prefetch(
        self, array: str, at: str, ahead: int = 1, level: int = 1, of: str | None = None
    ) -> Self:
        """Prefetch elements that a later iteration reads: see :func:`.prefetch`."""
        return self.then(Prefetch(array, at, ahead, level, of))

    def stream(self, array: str) -> Self:
        """Store an array past the caches: see :func:`.stream`."""
        return self.then(Stream(array))

    def pack(
        self,
        array: str,
        at: str | None = None,
        order: tuple[str, ...] | None = None,
        into: str | None = None,
    ) -> Self:
        """Pack a tile that is read: see :func:`.pack`."""
        return self.then(Pack(array, at, order, into))

    def fold_storage(self, array: str, dimension: str, size: int, into: str | None = None) -> Self:
        """Fold a dimension: see :func:`.fold_storage`."""
        return self.then(FoldStorage(array, dimension, size, into))

    def promote(
        self,
        array: str,
        at: str,
        lanes: int | None = None,
        into: str | None = None,
        order: tuple[str, ...] | None = None,
    ) -> Self:
        """Promote an updated tile: see :func:`.promote`."""
        return self.then(Promote(array, at, lanes, into, order))

    def privatize(
        self, array: str, at: str, into: str | None = None, order: tuple[str, ...] | None = None
    ) -> Self:
        """Privatize a temporary array: see :func:`.privatize`."""
        return self.then(Privatize(array, at, into, order))

    def rfactor(
        self,
        statement: str,
        loop: str,
        into: str | None = None,
        order: tuple[str, ...] | None = None,
    ) -> Self:
        """Factor a reduction: see :func:`.rfactor`."""
        return self.then(Rfactor(statement, loop, into, order))


for _primitive in PRIMITIVES.values():
    _method = with_signature_errors(getattr(Schedule, _primitive.__name__))
    _method.__doc__ = _primitive.__doc__
    setattr(Schedule, _primitive.__name__, _method)


def _unpickled(
    kind: type[Schedule],
    kernel: Kernel,
    steps: tuple[Step, ...],
    locations: tuple[SourceLocation | None, ...],
) -> Schedule:
    schedule = kind(kernel)
    for step, location in zip(steps, locations, strict=True):
        schedule = schedule.then(step, location)
    return schedule


def _with_machine_lanes(step: Step, program: Program) -> Step:
    """Fill in the lanes that a step leaves to the machine, so that it is the same everywhere."""
    if isinstance(step, Vectorize | VectorizeReduction) and step.lanes is None:
        loop = step.loop
        if isinstance(step, VectorizeReduction) and "." not in loop:
            loop = f"{step.statement}.{loop}"
        return replace(step, lanes=machine_lanes(program, loop, as_machine()))
    return step


def as_schedule(value: Schedule | Kernel) -> Schedule:
    """Return a schedule; a kernel becomes a schedule without steps.

    Raises:
        ScheduleError: ``value`` is neither a schedule nor a kernel.
    """
    if isinstance(value, Kernel):
        return Schedule(value)
    require_schedule(value)
    return value


def require_schedule(value: object) -> None:
    """Check that a caller has passed a schedule.

    Raises:
        ScheduleError: ``value`` is something else, such as a kernel.
    """
    if not isinstance(value, Schedule):
        raise ScheduleError(
            f"expected a Schedule; got a {type(value).__name__}: a kernel becomes one by "
            "Schedule(kernel), and a function is compiled by ps.jit(function)"
        )
