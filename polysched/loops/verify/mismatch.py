"""What a last-writer run finds."""

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
        statement: the statement that runs; the array for what is left at the end.
        instance: its instance; the element for what is left at the end.
        element: the element that it touches, as text; empty for a number of runs.
        declared: what the program says, as text.
        found: what the loops do.
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
