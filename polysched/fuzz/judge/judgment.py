"""Judgments of the fuzzer: modes, findings, and the result for one schedule."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from polysched.legality.verdicts.verdict import VerdictKind


class Mode(Enum):
    """Mode of judging a verdict: enumeration of pairs, interpreted loops, or machine code."""

    ORDER = "order"
    RUN = "run"
    MACHINE = "machine code"


class Finding(Enum):
    """Defect of polysched that a judge found."""

    ACCEPTED_ILLEGAL = "accepted although illegal"
    REFUSED_LEGAL = "refused although legal"
    WRONG_WITNESS = "refused with a false witness"
    WRONG_RESULT = "accepted, but the results are wrong"
    NO_CODE = "accepted, but its loops have no machine code"
    CRASH = "an error that should not be"
    DIED = "the process died"
    HUNG = "no answer"


NO_LOOPS = "accepted, but no loops could be generated"
"""Remark: isl lost instances or took too long, and polysched reported it."""


@dataclass(frozen=True)
class Judgment:
    """Verdict of the checker, and the result of an independent judge.

    Attributes:
        verdict: the checker's verdict; None if the checker crashed.
        finding: the defect; None if there is none.
        detail: the defect explained for a person.
        remark: an event to count that is not a defect; empty if there is none.
    """

    mode: Mode
    verdict: VerdictKind | None
    finding: Finding | None = None
    detail: str = ""
    remark: str = ""
