"""Marks: the places of a witness's instances in a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polysched.legality.verdicts.verdict import Occurrence, Violation
from polysched.plot.dots import Place
from polysched.plot.instances import Instances
from polysched.plot.sizes import shows
from polysched.schedule.core.program import Program


@dataclass(frozen=True)
class Mark:
    """The mark of one instance of a witness; ``label`` is its name, such as ``S[0,1]``."""

    statement: str
    place: Place
    label: str


def marks(
    program: Program,
    violation: Violation | None,
    shown: Iterable[Instances],
    sizes: Mapping[str, int],
) -> tuple[tuple[Mark, ...], tuple[str, ...]]:
    """The marks of the witness, the source first, and notes on instances that are not shown."""
    if violation is None:
        return (), ()
    witness = violation.witness
    if not shows(program, violation, sizes):
        parameters = ", ".join(f"{name} = {value}" for name, value in witness.parameters)
        return (), (f"the witness of the violation holds at {parameters}, not at these sizes",)
    by_statement = {instances.statement: instances for instances in shown}
    marked, notes = [], []
    for occurrence in (witness.source, witness.sink):
        if occurrence is None:
            continue
        place = _place(by_statement.get(occurrence.statement), occurrence)
        if place is None:
            notes.append(f"{occurrence.name} of the witness is not in the picture")
        else:
            marked.append(Mark(occurrence.statement, place, occurrence.name))
    return tuple(marked), tuple(notes)


def _place(instances: Instances | None, occurrence: Occurrence) -> Place | None:
    if instances is None:
        return None
    rows = [tuple(row) for row in instances.rows.tolist()]
    if occurrence.instance not in rows:
        return None
    return tuple(instances.places[rows.index(occurrence.instance)].tolist())
