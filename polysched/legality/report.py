"""A verdict as plain data, for machines."""

from __future__ import annotations

from typing import Any

from polysched.ir.source import SourceLocation
from polysched.legality.explain import sentence
from polysched.legality.repair import Edit, OrderEdit, Repair
from polysched.legality.verdict import (
    Occurrence,
    Timestamp,
    Verdict,
    Violation,
)
from polysched.schedule.primitives import format_step


def as_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as dictionaries, lists, strings and numbers, ready for :func:`json.dumps`."""
    return {
        "verdict": verdict.kind.value,
        "reason": verdict.reason,
        "checked": {
            "statements": verdict.checked.statements,
            "dependences": verdict.checked.dependences,
            "accesses": verdict.checked.accesses,
            "buffers": verdict.checked.buffers,
        },
        "violation": None if verdict.violation is None else _violation(verdict.violation),
    }


def repair_as_json(repair: Repair) -> dict[str, Any]:
    """A repair as plain data: its changes, and all the steps of the repaired schedule."""
    return {
        "description": repair.description,
        "changes": [_edit(edit) for edit in repair.edits],
        "steps": [format_step(step) for step in repair.schedule.steps],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    if isinstance(edit, OrderEdit):
        return {"statement": edit.statement, "order": "any"}
    return {
        "index": edit.first,
        "removed": edit.removed,
        "inserted": [format_step(step) for step in edit.inserted],
    }


def _violation(violation: Violation) -> dict[str, Any]:
    witness, guilty = violation.witness, violation.guilty
    return {
        "what": violation.what.value,
        "cause": violation.cause.name.lower(),
        "dependence": violation.dependence.value if violation.dependence else None,
        "array": violation.array,
        "shape": list(violation.shape),
        "loop": violation.loop,
        "in_kernel": violation.in_kernel,
        "step": None
        if guilty is None
        else {
            "index": guilty.index,
            "text": guilty.text,
            "location": _location(guilty.location),
        },
        "parameters": dict(witness.parameters),
        "source": _occurrence(witness.source),
        "sink": None if witness.sink is None else _occurrence(witness.sink),
        "because": sentence(violation),
    }


def _occurrence(one: Occurrence) -> dict[str, Any]:
    return {
        "statement": one.statement,
        "instance": list(one.instance),
        "action": one.action,
        "access": one.access,
        "array": one.array,
        "element": list(one.element),
        "tile": list(one.tile),
        "old": _timestamp(one.old),
        "new": _timestamp(one.new),
        "location": _location(one.location),
    }


def _timestamp(time: Timestamp | None) -> list[dict[str, Any]] | None:
    if time is None:
        return None
    return [{"loop": name, "value": value} for name, value in time]


def _location(location: SourceLocation | None) -> dict[str, Any] | None:
    if location is None:
        return None
    return {"file": location.file, "line": location.line, "column": location.column}
