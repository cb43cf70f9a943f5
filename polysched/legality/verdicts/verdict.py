"""Verdicts of the legality checker: violations, witnesses, and errors of refused schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from polysched.dependence.relations import DependenceKind
from polysched.errors import ScheduleError
from polysched.html import preformatted, titled
from polysched.ir.expr.source import SourceLocation

Timestamp: TypeAlias = tuple[tuple[str, int], ...]
"""Timestamp of an instance: (loop, value) for each loop around it, outermost first."""


class VerdictKind(Enum):
    """Kind of a verdict; every kind but LEGAL is refused."""

    LEGAL = "legal"
    ILLEGAL = "illegal"
    UNKNOWN = "unknown"


VERDICT_COLORS: Mapping[VerdictKind, str] = MappingProxyType(
    {VerdictKind.LEGAL: "#1a7f37", VerdictKind.ILLEGAL: "#d1001f", VerdictKind.UNKNOWN: "#9a6700"}
)
"""Colors of verdicts in plots and notebooks."""


class ViolationKind(Enum):
    """Property that an illegal schedule, or the kernel itself, violates."""

    ORDER = "order"
    VECTOR = "vector"
    PARALLEL = "parallel"
    STORAGE = "storage"
    BOUNDS = "bounds"
    UNDEFINED = "undefined"
    ONCE = "once"


class Cause(Enum):
    """Exact cause of a violation; it selects the sentence that explains the witness."""

    LOOP = "the loop runs the sink's iteration before the source's"
    SEQUENCE = "the sink's statement stands before the source's"
    LANES = "two lanes of one vector touch the element"
    REDUCTION_LANES = "two lanes of one vector update the element of a reduction"
    THREADS = "two iterations of a parallel loop touch the element"
    REDUCTION_THREADS = "two iterations of a parallel loop update the element of a reduction"
    INSTRUCTION = "one instruction adds the terms in an order of its own"
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
    """Statement instance of a witness, with one of its accesses.

    Attributes:
        statement, instance: the statement and the values of its indices.
        action: ``"writes"``, ``"reads"`` or ``"runs"``.
        access: the access in the statement's text, ``a[i, j + 1]``; None for ``"runs"``.
        array, element: the element that it touches; for a buffer, the slot in memory.
        tile: for a buffer, the tile to which the element belongs.
        old: its timestamp in the declared program; None for a statement that a step created.
        new: its timestamp in the schedule; None if the schedule never runs it.
        location: the source location of the access or statement.
        depends_on: the array elements in the subscripts, ``idx[i]``. If there are any, the instance
            *may* touch the element.
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
    """Smallest counterexample in numbers: one instance, or a source that must precede a sink.

    If an element depends on data, the witness is conservative: it exists for some data within the
    declared ranges of values.
    """

    parameters: tuple[tuple[str, int], ...]
    source: Occurrence
    sink: Occurrence | None = None

    @property
    def depends_on(self) -> tuple[str, ...]:
        """The array elements in the subscripts of both accesses; usually none."""
        elements = self.source.depends_on + (self.sink.depends_on if self.sink else ())
        return tuple(dict.fromkeys(elements))


@dataclass(frozen=True)
class OffendingStep:
    """Offending step: the step after the longest legal prefix of the schedule.

    Attributes:
        index: its position among the schedule's steps, from 0.
        text: the step as a call.
        location: the user's source line.
    """

    index: int
    text: str
    location: SourceLocation | None


@dataclass(frozen=True)
class Violation:
    """Violation of one legality property, with its witness.

    Attributes:
        kind, cause: the violated property and the exact cause.
        witness: the counterexample.
        dependence: the kind of the broken dependence; None if the violation is not a dependence.
        array: the array of the violation; None if there is none.
        shape: the extents of ``array`` at the witness's parameters, without tile dimensions.
        loop: the loop that breaks the property; None if no loop does.
        offending_step: the offending step; None if the declared kernel is at fault, or if the
        search for
            the step exceeded its quota.
        in_kernel: whether the declared kernel, before any step, is at fault.
    """

    kind: ViolationKind
    cause: Cause
    witness: Witness
    dependence: DependenceKind | None = None
    array: str | None = None
    shape: tuple[int, ...] = ()
    loop: str | None = None
    offending_step: OffendingStep | None = None
    in_kernel: bool = False


@dataclass(frozen=True)
class Checked:
    """Size of a check: counts of judged statements, dependences, accesses and buffers."""

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


@dataclass(frozen=True, repr=False)
class Verdict:
    """Verdict of the legality checker.

    Attributes:
        violation: the violation of an illegal schedule, else None.
        reason: the explanation of a refusal for a person; empty if the schedule is legal.
        checked: the size of the check; all zero if the verdict is unknown.
        doubted: a violation that isl reported and that plain arithmetic does not confirm, which is
            a bug in polysched; the verdict is unknown. None otherwise.
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
        """Format the verdict: the proved counts, the explanation with witness, or the reason."""
        match self.kind:
            case VerdictKind.LEGAL:
                return f"legal; proved: {self.checked}"
            case VerdictKind.ILLEGAL:
                return self.reason
            case VerdictKind.UNKNOWN:
                return f"unknown: {self.reason}"

    def __repr__(self) -> str:
        """Format the first line of the text; ``str(verdict)`` is the whole text."""
        return f"<Verdict {str(self).splitlines()[0]}>"

    def _repr_html_(self) -> str:
        reason = self.reason.removeprefix(f"{self.kind.value}: ")
        body = preformatted(reason) if reason else ""
        return titled(self.kind.value, body, VERDICT_COLORS[self.kind])

    def raise_if_refused(self, advice: Sequence[str] = ()) -> None:
        """Raise an error unless the schedule is proved legal.

        Args:
            advice: lines to append to the explanation of an illegal schedule, such as its repairs.

        Raises:
            IllegalScheduleError: the schedule is illegal; the message is the explanation.
            UnknownLegalityError: legality is unknown; the message is the reason.
        """
        if self.kind is VerdictKind.ILLEGAL:
            error = IllegalScheduleError("\n".join((self.reason, *advice)), self, tuple(advice))
            if not advice and self.violation is not None and not self.violation.in_kernel:
                error.add_note(
                    "For which parameters it is legal: schedule.condition(). What would make it "
                    "legal: schedule.repairs()."
                )
            raise error
        if self.kind is VerdictKind.UNKNOWN:
            raise UnknownLegalityError(f"cannot prove the schedule legal: {self.reason}", self)


class RefusedScheduleError(ScheduleError):
    """Refused schedule: it is not proved legal.

    Attributes:
        verdict: the verdict, with the reason.
        advice: the lines of the message after the reason: the picture of the witness, the condition
            under which the schedule is legal, and the repairs.
    """

    def __init__(self, message: str, verdict: Verdict, advice: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.verdict = verdict
        self.advice = advice


class IllegalScheduleError(RefusedScheduleError):
    """Illegal schedule; the message holds the witness."""


class UnknownLegalityError(RefusedScheduleError):
    """Schedule that could be proved neither legal nor illegal."""
