"""Exceptions of polysched. Any other exception that reaches the user is a bug."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class PolyschedError(Exception):
    """Base class; the message names the object at fault, the expected input and the remedy."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the attributes: processes of a pool hand on their errors."""
        return _unpickled, (type(self), self.args), vars(self)


def _unpickled(kind: type[PolyschedError], arguments: tuple[Any, ...]) -> PolyschedError:
    return kind.__new__(kind, *arguments)


class KernelError(PolyschedError):
    """A kernel declaration is malformed: a type, shape, subscript or bound."""


class NoAttributeError(KernelError, AttributeError):
    """An expression lacks the attribute that the caller uses, as in ``x[i].sum()``."""


class EmptyDomainError(KernelError):
    """A statement has an empty iteration domain for all parameter values."""


class ScheduleError(PolyschedError):
    """A schedule step cannot be applied to the program."""


class LoopReferenceError(ScheduleError):
    """A step names a loop that does not exist, or that the step cannot transform.

    Attributes:
        reference: the loop name as the step spells it.
        problem: the problem with the loop; the first part of the message.
        advice: the default second part of the message; a caller may replace it by better advice.
    """

    def __init__(self, reference: str, problem: str, advice: str) -> None:
        super().__init__(f"{problem}{advice}")
        self.reference = reference
        self.problem = problem
        self.advice = advice


class StepError(ScheduleError):
    """A step of a schedule could not be applied; the message quotes the step.

    Attributes:
        step: the step as text.
        reason: the message without the step.
        reference: the name of the loop at fault as the step spells it; None if no loop is at fault.
    """

    def __init__(self, step: str, reason: str, reference: str | None = None) -> None:
        super().__init__(f"{step}: {reason}")
        self.step = step
        self.reason = reason
        self.reference = reference


class InstructionError(PolyschedError):
    """The declaration of a machine instruction is malformed."""


class LoweringError(PolyschedError):
    """The code generator cannot lower a scheduled program to loops or machine code."""


class CodeTooLargeError(LoweringError):
    """The generated code is so large that LLVM would need minutes and gigabytes to compile it."""


class CallError(PolyschedError):
    """An argument of a call does not match the kernel's signature."""


class OutOfMemoryError(CallError, MemoryError):
    """A call cannot allocate its outputs or the kernel's workspace."""


class SubscriptError(CallError, IndexError):
    """A subscript that a kernel computed from data was outside of its array."""


class MachineError(PolyschedError):
    """A machine description is unknown, unreadable, malformed or incompatible with this host."""


class AssemblyError(PolyschedError):
    """The instruction counter cannot parse an assembly text."""


class BenchError(PolyschedError):
    """A benchmark cannot run with the requested settings, contestants or sizes."""


class PlotError(PolyschedError):
    """A plot cannot be drawn with the requested dimensions, sizes or file."""


class ExportError(PolyschedError):
    """An export failed: invalid names, unwritable files or a linker error."""


class CacheWarning(UserWarning):
    """The object cache on disk is unusable or ignores a setting; the message gives the reason."""


class SlowScheduleWarning(UserWarning):
    """A legal schedule is predicted to be far slower than the program as written."""


class FrontendError(PolyschedError):
    """A frontend's source text is malformed, or uses a construct that kernels do not support.

    Attributes:
        reason: the message without the source location and the quoted source line.
        location: the `polysched.ir.expr.source.SourceLocation`; None if it is unknown.
    """

    def __init__(self, message: str, reason: str | None = None, location: object = None) -> None:
        super().__init__(message)
        self.reason = message if reason is None else reason
        self.location = location


class UnboundError(FrontendError, UnboundLocalError):
    """A variable of a Python function has no value where it is read, for the sizes of a call."""


class TargetError(PolyschedError):
    """The command line's ``FILE.py:NAME`` does not yield a kernel or schedule."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Suggest alternatives for an unknown `name`: the nearest of the `known` names, else all.

    Returns text to append directly after the name, e.g. ``"; did you mean 'co' or 'ci'?"``.
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
