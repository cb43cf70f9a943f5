"""Marks: the instances of a witness, where they are in a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polysched.legality.verdict import Occurrence, Violation
from polysched.plot.dots import Place
from polysched.plot.instances import Instances
from polysched.plot.sizes import shows
from polysched.schedule.program import Program


@dataclass(frozen=True)
class Mark:
    """One instance of the witness; ``label`` is its name, ``S[0,1]``."""

    statement: str
    place: Place
    label: str


def marks(
    program: Program,
    violation: Violation | None,
    found: Iterable[Instances],
    sizes: Mapping[str, int],
) -> tuple[tuple[Mark, ...], tuple[str, ...]]:
    """The instances of the witness, the source first, and in words why one is not there."""
    if violation is None:
        return (), ()
    witness = violation.witness
    if not shows(program, violation, sizes):
        given = ", ".join(f"{name} = {value}" for name, value in witness.parameters)
        return (), (f"the witness of the violation is one at {given}, not at these sizes",)
    places = {one.statement: one for one in found}
    marked, notes = [], []
    for one in (witness.source, witness.sink):
        if one is None:
            continue
        place = _place(places.get(one.statement), one)
        if place is None:
            notes.append(f"{one.name} of the witness is not in the picture")
        else:
            marked.append(Mark(one.statement, place, one.name))
    return tuple(marked), tuple(notes)


def _place(found: Instances | None, one: Occurrence) -> Place | None:
    if found is None:
        return None
    rows = [tuple(row) for row in found.rows.tolist()]
    if one.instance not in rows:
        return None
    return tuple(found.places[rows.index(one.instance)].tolist())
