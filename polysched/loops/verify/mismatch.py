"""Mismatches that a last-writer run reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from polysched.loops.verify.sources import Instance, bracketed


class MismatchKind(Enum):
    """The kind of a mismatch."""

    READ = "reads"
    CONTRIBUTION = "adds to"
    RACE = "touches"
    COUNT = "runs"
    RESULT = "ends as"


@dataclass(frozen=True)
class Mismatch:
    """One difference between the loops and the declared program.

    Attributes:
        statement: the statement that runs; for a final value, the array.
        instance: its instance; for a final value, the element.
        element: the accessed element, as text; empty for a wrong number of runs.
        declared: the behavior of the declared program, as text.
        found: the behavior of the loops, as text.
    """

    kind: MismatchKind
    statement: str
    instance: Instance
    element: str
    declared: str
    found: str

    def __str__(self) -> str:
        what = f"{bracketed(self.statement, self.instance)} {self.kind.value}"
        if self.element:
            what = f"{what} {self.element}"
        return f"{what}: declared {self.declared}, here {self.found}"
