"""The errors polysched raises on purpose; everything else that escapes is a defect."""

import difflib
from collections.abc import Iterable


class PolyschedError(Exception):
    """Base of all: one message that names the thing, what was expected and what to do."""


class KernelError(PolyschedError):
    """A kernel declaration that is malformed: types, shapes, subscripts, bounds."""


class NoAttributeError(KernelError, AttributeError):
    """An expression is asked for what it does not have, such as ``x[i].sum()``."""


class EmptyDomainError(KernelError):
    """A statement that never runs, whatever the parameters are."""


class ScheduleError(PolyschedError):
    """A schedule step that cannot be applied to the program it was given."""


class LoopReferenceError(ScheduleError):
    """A step names a loop that is not there, or that is not as the step needs it.

    Attributes:
        reference: the name as the step gives it.
        what: what is wrong with the loop.
        advice: the rest of the message, where nothing better is known.
    """

    def __init__(self, reference: str, what: str, advice: str) -> None:
        super().__init__(f"{what}{advice}")
        self.reference = reference
        self.what = what
        self.advice = advice


class StepError(ScheduleError):
    """A step that could not be applied, in the terms of the schedule that it was given to.

    Attributes:
        step: the step as text.
        reason: why, a message without the step.
        reference: the loop that is at fault, as the step names it; None where it is something else.
    """

    def __init__(self, step: str, reason: str, reference: str | None = None) -> None:
        super().__init__(f"{step}: {reason}")
        self.step = step
        self.reason = reason
        self.reference = reference


class LoweringError(PolyschedError):
    """A scheduled program that the code generator cannot turn into loops or machine code."""


class CodeTooLargeError(LoweringError):
    """So much code that LLVM would take minutes and gigabytes for it."""


class CallError(PolyschedError):
    """An argument of a compiled kernel's call that does not fit."""


class OutOfMemoryError(CallError, MemoryError):
    """There is no memory for what a call needs: its outputs, or the kernel's workspace."""


class MachineError(PolyschedError):
    """A machine description is unknown, unreadable, malformed or does not fit this host."""


class AssemblyError(PolyschedError):
    """Assembly text that the counter cannot read."""


class BenchError(PolyschedError):
    """A race that cannot be run as asked: its rules, its contestants or its sizes."""


class PlotError(PolyschedError):
    """A picture that cannot be made as asked: its dimensions, its sizes, its file."""


class ExportError(PolyschedError):
    """An export that cannot be made as asked: its names, its files, its linker."""


class CacheWarning(UserWarning):
    """Compiled code is not kept on disk, or not as asked for; the message says why."""


class FrontendError(PolyschedError):
    """A source text of a frontend that is malformed, or says what a kernel cannot say.

    Attributes:
        reason: the message without the place and the line of the source.
        location: the place (`polysched.ir.source.SourceLocation`), None where there is none.
    """

    def __init__(self, message: str, reason: str | None = None, location: object = None) -> None:
        super().__init__(message)
        self.reason = message if reason is None else reason
        self.location = location


class TargetError(PolyschedError):
    """A file, or a name in it, that gives the command line no kernel or schedule."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown `name`: the nearest of `known` names, else all of them.

    Returns text that follows the name directly, e.g. ``"; did you mean 'co' or 'ci'?"``.
    """
    candidates = sorted(set(known))
    if not candidates:
        return "; there are none"
    nearest = difflib.get_close_matches(name, candidates, n=3, cutoff=0.6)
    if nearest:
        return f"; did you mean {_either(nearest)}?"
    return f"; known are {', '.join(map(repr, candidates))}"


def _either(names: list[str]) -> str:
    quoted = [repr(name) for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"
