"""What the checker answers: a verdict; of an illegal schedule the violation and its witness."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from polysched.dependence.relations import DependenceKind
from polysched.errors import ScheduleError
from polysched.ir.source import SourceLocation

Timestamp: TypeAlias = tuple[tuple[str, int], ...]
"""The loops around an instance, the outermost first, each with its value."""


class VerdictKind(Enum):
    """The three answers; everything but LEGAL is refused."""

    LEGAL = "legal"
    ILLEGAL = "illegal"
    UNKNOWN = "unknown"


class ViolationKind(Enum):
    """What is wrong with an illegal schedule, or with the kernel itself."""

    ORDER = "order"
    VECTOR = "vector"
    PARALLEL = "parallel"
    STORAGE = "storage"
    BOUNDS = "bounds"
    UNDEFINED = "undefined"
    ONCE = "once"


class Cause(Enum):
    """Why exactly it is wrong: which sentence explains the witness."""

    LOOP = "the loop runs the sink's iteration before the source's"
    SEQUENCE = "the sink's statement stands before the source's"
    LANES = "two lanes of one vector touch the element"
    REDUCTION_LANES = "two lanes of one vector update the element of a reduction"
    THREADS = "two iterations of a parallel loop touch the element"
    REDUCTION_THREADS = "two iterations of a parallel loop update the element of a reduction"
    SHARED_BYTE = "two iterations of a parallel loop touch elements that lie in one byte"
    SAME_TIME = "both have the same timestamp"
    TWO_TILES = "one piece of memory holds two tiles of the buffer at once"
    LIFETIME = "the buffer has lost the value, or never had it, where it is read"
    OVERWRITTEN = "another element that shares the memory is written while the value is needed"
    INTERRUPTED = "two tiles of a buffer add to one element, neither of them at one go"
    OUTSIDE = "the element lies outside the array"
    NEVER_WRITTEN = "nothing is written to the element before"
    LOST = "the instance does not run"
    ADDED = "the instance is not part of the kernel"


@dataclass(frozen=True)
class Occurrence:
    """One statement instance of a witness.

    Attributes:
        statement, instance: the statement and the values of its indices.
        action: ``"writes"``, ``"reads"`` or ``"runs"``.
        access: the access as the statement has it, ``a[i, j + 1]``; None for ``"runs"``.
        array, element: what it touches; of a buffer the place in the memory that it takes.
        tile: for a buffer, the tile whose element it is.
        old: when the declared program runs it; None for a statement that a step made.
        new: when the schedule runs it; None if it never does.
        location: where the statement was written.
        depends_on: the array elements in the subscripts, ``idx[i]``: with any, the element is one
            of those that the instance *may* touch.
    """

    statement: str
    instance: tuple[int, ...]
    action: str
    access: str | None
    array: str | None
    element: tuple[int, ...]
    tile: tuple[int, ...]
    old: Timestamp | None
    new: Timestamp | None
    location: SourceLocation | None
    depends_on: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The instance as text, ``S[0,1]``."""
        return f"{self.statement}{_bracketed(self.instance)}"

    @property
    def touched(self) -> str:
        """The element as text, ``A[0,1]``."""
        return f"{self.array}{_bracketed(self.element)}"


def _bracketed(values: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, values))}]"


@dataclass(frozen=True)
class Witness:
    """The smallest proof in numbers: one instance, or a source that runs before a sink.

    Where an element depends on data the proof is conservative: it holds for data that the declared
    ranges of values allow.
    """

    parameters: tuple[tuple[str, int], ...]
    source: Occurrence
    sink: Occurrence | None = None

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The array elements on which it depends whether the element is touched; mostly none."""
        found = self.source.depends_on + (self.sink.depends_on if self.sink else ())
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class OffendingStep:
    """The first step after which the schedule is never legal again.

    Attributes:
        index: its position among the schedule's steps, from 0.
        text: the step as the call that makes it.
        location: the user's line.
    """

    index: int
    text: str
    location: SourceLocation | None


@dataclass(frozen=True)
class Violation:
    """One demand that is not met.

    Attributes:
        what, cause: the kind, and why it is one.
        witness: the proof.
        dependence: the kind of the dependence that is broken, None if it is none.
        array: the array that it is about, None if none.
        shape: the extents of ``array`` at the witness's parameters, without those of tiles.
        loop: the loop at which it breaks, None where no loop decides it.
        guilty: the step to blame; None for a violation of the declared kernel itself, and where
            finding the step took too long.
        in_kernel: whether the declared kernel, before any step, is at fault.
    """

    what: ViolationKind
    cause: Cause
    witness: Witness
    dependence: DependenceKind | None = None
    array: str | None = None
    shape: tuple[int, ...] = ()
    loop: str | None = None
    guilty: OffendingStep | None = None
    in_kernel: bool = False


@dataclass(frozen=True)
class Checked:
    """How much has been judged: counts of statements, dependences, accesses and buffers."""

    statements: int = 0
    dependences: int = 0
    accesses: int = 0
    buffers: int = 0

    def __str__(self) -> str:
        counts = (
            _counted(self.statements, "statement"),
            _counted(self.dependences, "dependence"),
            _counted(self.accesses, "access", "accesses"),
            _counted(self.buffers, "buffer"),
        )
        return ", ".join(counts)


def _counted(number: int, singular: str, plural: str | None = None) -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


@dataclass(frozen=True)
class Verdict:
    """The checker's answer.

    Attributes:
        violation: the violation of an illegal schedule, else None.
        reason: for a person, why the schedule is refused; empty if it is legal.
        checked: what the verdict is about, of a legal schedule what has been proved; all zero if
            the verdict is unknown.
        doubted: a violation whose witness arithmetic does not confirm, so that the verdict is
            unknown: an error in polysched. None otherwise.
    """

    kind: VerdictKind
    violation: Violation | None = None
    reason: str = ""
    checked: Checked = Checked()
    doubted: Violation | None = None

    @property
    def is_legal(self) -> bool:
        """Whether the schedule is proved legal."""
        return self.kind is VerdictKind.LEGAL

    def __str__(self) -> str:
        """For a person: what was proved, the explanation with its witness, or what is unknown."""
        match self.kind:
            case VerdictKind.LEGAL:
                return f"legal; proved: {self.checked}"
            case VerdictKind.ILLEGAL:
                return self.reason
            case VerdictKind.UNKNOWN:
                return f"unknown: {self.reason}"

    def raise_if_refused(self) -> None:
        """Do nothing for a legal schedule.

        Raises:
            IllegalScheduleError: the schedule is illegal; the message is the explanation.
            UnknownLegalityError: legality is unknown; the message is the reason.
        """
        if self.kind is VerdictKind.ILLEGAL:
            error = IllegalScheduleError(self.reason, self)
            if self.violation is not None and not self.violation.in_kernel:
                error.add_note(
                    "For which parameters it is legal: schedule.condition(). What would make it "
                    "legal: schedule.repairs()."
                )
            raise error
        if self.kind is VerdictKind.UNKNOWN:
            raise UnknownLegalityError(f"cannot prove the schedule legal: {self.reason}", self)


class RefusedScheduleError(ScheduleError):
    """A schedule that is not proved legal; ``verdict`` says why."""

    def __init__(self, message: str, verdict: Verdict) -> None:
        super().__init__(message)
        self.verdict = verdict


class IllegalScheduleError(RefusedScheduleError):
    """A schedule that computes something else than the kernel; the message holds the witness."""


class UnknownLegalityError(RefusedScheduleError):
    """A schedule that could be neither proved legal nor refuted."""
