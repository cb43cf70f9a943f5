"""Convert verdicts and legality reports to plain data for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from polysched.ir.expr.source import SourceLocation
from polysched.legality.repairs.repair import Edit, OrderEdit, Repair
from polysched.legality.reports.answer import Answer
from polysched.legality.verdicts.explain import sentence
from polysched.legality.verdicts.verdict import Occurrence, Timestamp, Verdict, Violation
from polysched.schedule.table import format_step


def as_json(verdict: Verdict) -> dict[str, Any]:
    """Convert a verdict to dictionaries, lists, strings and numbers for :func:`json.dumps`."""
    return {
        "verdict": verdict.kind.value,
        "reason": verdict.reason,
        "checked": asdict(verdict.checked),
        "violation": None if verdict.violation is None else _violation(verdict.violation),
    }


def answer_as_json(answer: Answer) -> dict[str, Any]:
    """Convert a legality report to plain data, as ``polysched check --json`` prints it.

    ============ ===================================================================================
    target       the user's name of the schedule
    kernel       the kernel's name
    steps        the steps: ``text``, and ``location`` (``file``, ``line``, ``column``; or null)
    verdict      ``"legal"``, ``"illegal"`` or ``"unknown"``
    reason       the explanation for a person, empty if legal
    checked      how many ``statements``, ``dependences``, ``accesses`` and ``buffers`` were judged
    violation    null unless illegal; else an object:

                 - ``what`` and ``cause``: names of :class:`ViolationKind` and :class:`Cause` in
                   small letters; ``because``: the sentence of the explanation
                 - ``dependence`` (``"flow"``, ``"anti"``, ``"output"``), ``array`` and ``loop``,
                   each or null; ``shape``: the array's extents where an access leaves it
                 - ``may``: whether the element depends on data, so that the witness is conservative
                 - ``step``: the offending step: ``index`` from 0, ``text``, ``location``; null if
                   the kernel is at fault (``in_kernel``) or the step was not found in time
                 - ``parameters``: the values of the witness
                 - ``source``, and ``sink`` or null: ``statement``, ``instance`` (values of its
                   indices), ``action``, ``access``, ``array``, ``element``, ``tile``,
                   ``depends_on``, ``old`` and ``new`` (timestamps: lists of ``loop`` and ``value``,
                   or null), ``location``
    picture      lines of text, empty if nothing can be drawn
    condition    the condition on the parameters under which it is legal, as text; or null
    repairs      a list of ``description``, ``changes``, and ``steps`` of the repaired schedule
    ============ ===================================================================================
    """
    schedule = answer.schedule
    return {
        "target": answer.label,
        "kernel": schedule.kernel.name,
        "steps": [
            {"text": format_step(step), "location": _location(location)}
            for step, location in zip(schedule.steps, schedule.locations, strict=True)
        ],
        **as_json(answer.verdict),
        "picture": list(answer.picture),
        "condition": None if answer.condition is None else str(answer.condition),
        "repairs": [repair_as_json(repair) for repair in answer.repairs],
    }


def repair_as_json(repair: Repair) -> dict[str, Any]:
    """Convert a repair to plain data: its changes, and all steps of the repaired schedule."""
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
    witness, step = violation.witness, violation.offending_step
    return {
        "what": violation.kind.value,
        "cause": violation.cause.name.lower(),
        "dependence": violation.dependence.value if violation.dependence else None,
        "array": violation.array,
        "shape": list(violation.shape),
        "loop": violation.loop,
        "may": bool(witness.depends_on),
        "in_kernel": violation.in_kernel,
        "step": None if step is None else asdict(step),
        "parameters": dict(witness.parameters),
        "source": _occurrence(witness.source),
        "sink": None if witness.sink is None else _occurrence(witness.sink),
        "because": sentence(violation),
    }


def _occurrence(occurrence: Occurrence) -> dict[str, Any]:
    return {
        "statement": occurrence.statement,
        "instance": list(occurrence.instance),
        "action": occurrence.action,
        "depends_on": list(occurrence.depends_on),
        "access": occurrence.access,
        "array": occurrence.array,
        "element": list(occurrence.element),
        "tile": list(occurrence.tile),
        "old": _timestamp(occurrence.old),
        "new": _timestamp(occurrence.new),
        "location": _location(occurrence.location),
    }


def _timestamp(time: Timestamp | None) -> list[dict[str, Any]] | None:
    if time is None:
        return None
    return [{"loop": name, "value": value} for name, value in time]


def _location(location: SourceLocation | None) -> dict[str, Any] | None:
    return None if location is None else asdict(location)
