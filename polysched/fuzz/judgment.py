"""What judging one schedule gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from polysched.legality.verdict import VerdictKind


class Mode(Enum):
    """How a verdict is judged."""

    ORDER = "order"
    RUN = "run"
    MACHINE = "machine code"


class Finding(Enum):
    """What must never be."""

    ACCEPTED_ILLEGAL = "accepted although illegal"
    REFUSED_LEGAL = "refused although legal"
    WRONG_WITNESS = "refused with a witness that is none"
    WRONG_RESULT = "accepted, but the results are wrong"
    NO_CODE = "accepted, but its loops have no machine code"
    CRASH = "an error that should not be"
    DIED = "the process died"
    HUNG = "no answer"


NO_LOOPS = "accepted, but no loops could be generated"
"""A remark: isl lost instances, or took too long; polysched noticed, and says so."""


@dataclass(frozen=True)
class Judgment:
    """A verdict beside what was found otherwise.

    Attributes:
        verdict: the checker's; None if it did not come to one.
        finding: what is wrong, None if nothing is.
        detail: what is wrong, for a person.
        remark: worth counting, but no defect; empty if there is nothing to say.
    """

    mode: Mode
    verdict: VerdictKind | None
    finding: Finding | None = None
    detail: str = ""
    remark: str = ""
