"""Write legality reports as SARIF 2.1.0, the format of code scanning services.

Standard: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0" (2020).

The log has one run with one result for each refused schedule. A legal schedule has no result. A
repair is part of the message and not a ``fix``: a ``fix`` needs the replacement text, and the
source text of a step is not known (a loop or a helper function may have made it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from polysched.ir.expr.source import SourceLocation
from polysched.legality.reports.answer import Answer
from polysched.legality.reports.report import answer_as_json
from polysched.legality.verdicts.explain import describe
from polysched.legality.verdicts.verdict import Cause, Occurrence, Verdict, VerdictKind

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
UNKNOWN_RULE = "unknown"

_ROOT = "ROOT"
_UNKNOWN_TEXT = "the schedule could be proved neither legal nor illegal"
_UNKNOWN_HELP = (
    "isl ran out of operations or time. Give the check a larger --quota or more --seconds, or take "
    "fewer or smaller steps."
)


def as_sarif(answers: Iterable[Answer], root: Path, version: str | None) -> dict[str, Any]:
    """Make a SARIF log, ready for :func:`json.dumps`.

    The location of a result is the line of the offending step. If the kernel is at fault, it is the
    line of the statement. If legality is unknown (level ``warning``, else ``error``), it is the
    line of the last step. The related locations are the statements of the witness. The property
    ``polysched`` holds the record of :func:`polysched.legality.reports.report.answer_as_json`.

    Args:
        root: the absolute path of a folder; paths of files below it are written relative to it.
        version: the version of polysched; None if unknown.
    """
    driver: dict[str, Any] = {"name": "polysched", "rules": _rules()}
    if version is not None:
        driver["version"] = version
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "originalUriBaseIds": {_ROOT: {"uri": f"{root.as_uri().rstrip('/')}/"}},
                "columnKind": "unicodeCodePoints",
                "results": [
                    _result(answer, root) for answer in answers if not answer.verdict.is_legal
                ],
            }
        ],
    }


def _rules() -> list[dict[str, Any]]:
    rules = [_rule(_rule_name(cause), cause.value, HELP[cause], "error") for cause in Cause]
    return [*rules, _rule(UNKNOWN_RULE, _UNKNOWN_TEXT, _UNKNOWN_HELP, "warning")]


def _rule(name: str, text: str, help_text: str, level: str) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": f"{text[0].upper()}{text[1:]}."},
        "help": {"text": help_text},
        "defaultConfiguration": {"level": level},
    }


def _rule_name(cause: Cause) -> str:
    return cause.name.lower().replace("_", "-")


def _result(answer: Answer, root: Path) -> dict[str, Any]:
    verdict = answer.verdict
    cause = verdict.violation.cause if verdict.violation else None
    index = len(Cause) if cause is None else list(Cause).index(cause)
    result = {
        "ruleId": UNKNOWN_RULE if cause is None else _rule_name(cause),
        "ruleIndex": index,
        "level": "warning" if cause is None else "error",
        "message": {"text": _literal(_message(answer))},
        "properties": {"polysched": answer_as_json(answer)},
    }
    location = _physical_location(_location(answer), root)
    if location is not None:
        result["locations"] = [{"physicalLocation": location}]
    related = [
        {
            "id": number,
            "physicalLocation": physical,
            "message": {"text": _literal(describe(occurrence))},
        }
        for number, occurrence in enumerate(_occurrences(verdict), start=1)
        if (physical := _physical_location(occurrence.location, root)) is not None
    ]
    if related:
        result["relatedLocations"] = related
    return result


def _message(answer: Answer) -> str:
    verdict = answer.verdict
    reason = verdict.reason.removeprefix(f"{verdict.kind.value}: ")
    lines = [f"{answer.label} is {verdict.kind.value}: {reason}"]
    lines += [f"  {line}" for line in answer.picture]
    if answer.condition is not None:
        lines.append(f"Legal if and only if {answer.condition}.")
    lines += [f"Try: {repair.description}" for repair in answer.repairs]
    return "\n".join(lines)


def _literal(text: str) -> str:
    """Escape a message: SARIF reads single braces as placeholders."""
    return text.replace("{", "{{").replace("}", "}}")


def _location(answer: Answer) -> SourceLocation | None:
    """Return the source line of a result, or the nearest line that is known."""
    violation, schedule = answer.verdict.violation, answer.schedule
    if violation is None:
        location = schedule.locations[-1] if schedule.locations else None
    elif violation.in_kernel:
        location = violation.witness.source.location
    else:
        location = violation.offending_step.location if violation.offending_step else None
    return location or schedule.kernel.location


def _occurrences(verdict: Verdict) -> list[Occurrence]:
    if verdict.kind is not VerdictKind.ILLEGAL or verdict.violation is None:
        return []
    witness = verdict.violation.witness
    return [witness.source] if witness.sink is None else [witness.source, witness.sink]


def _physical_location(location: SourceLocation | None, root: Path) -> dict[str, Any] | None:
    """Return a SARIF physical location; None for text outside of files, such as ``<stdin>``."""
    if location is None or location.file.startswith("<"):
        return None
    path = root / location.file
    artifact = {"uri": path.as_uri()}
    if path.is_relative_to(root):
        artifact = {"uri": quote(path.relative_to(root).as_posix()), "uriBaseId": _ROOT}
    region = {"startLine": location.line}
    if location.column is not None:
        region["startColumn"] = location.column
    return {"artifactLocation": artifact, "region": region}


_ORDER = (
    "Every instance that touches an element must run in the order of the program wherever one of "
    "the two writes. Remove the offending step, or insert skew(), shift() or another reorder() "
    "before it."
)
_REDUCTION = (
    "The order of the reduction is free, but its instances must not update one element at once. "
    "Give each its own partial result with rfactor(), or choose a loop that the element depends on."
)
_STORAGE = (
    "A buffer has memory for one tile at a time, and each iteration of a parallel loop around has "
    "its own. Make it at an outer loop, or keep the loops that make and use a tile together."
)

HELP: Mapping[Cause, str] = MappingProxyType(
    {
        Cause.LOOP: _ORDER,
        Cause.SEQUENCE: "Statements of one iteration must stand in an order that keeps their "
        "dependences. Remove the offending step, or shift() the later statement.",
        Cause.LANES: "All lanes of a vector read before any of them writes. Use fewer lanes than "
        "the distance of the dependence, or another loop.",
        Cause.REDUCTION_LANES: _REDUCTION,
        Cause.THREADS: "The iterations of a parallel loop run in any order and at once. Choose a "
        "loop that carries no dependence, distribute() it, or give each iteration its own copy of "
        "a scratch array with privatize().",
        Cause.REDUCTION_THREADS: _REDUCTION,
        Cause.INSTRUCTION: "An instruction that adds terms in an order of its own needs a "
        "reduction whose order is free. Declare the reduction with order='any', or take another "
        "instruction.",
        Cause.SHARED_BYTE: "Threads must not touch one byte of a packed array that is written. "
        "Split the loop by a multiple of 8 and run the outer one in parallel, or declare the array "
        "with rows='padded' and run a loop over rows in parallel.",
        Cause.SAME_TIME: "Two instances of a statement have one timestamp. Remove the offending "
        "step.",
        Cause.TWO_TILES: _STORAGE,
        Cause.LIFETIME: _STORAGE,
        Cause.OVERWRITTEN: "Elements that share memory must not be needed at the same time. Keep "
        "more of them apart: fold_storage() to a larger size, or let the reader run sooner.",
        Cause.INTERRUPTED: "If the order of a reduction is free, each tile must be copied into its "
        "buffer, updated and copied back before another tile of the element starts. Keep these "
        "loops together.",
        Cause.OUTSIDE: "An access must stay inside its array for all parameters of the context. "
        "Make the array larger, the loops shorter, or assume() what holds of the parameters.",
        Cause.NEVER_WRITTEN: "Outputs and temporaries start undefined. Write the element first, or "
        "declare the array inout.",
        Cause.LOST: "Every instance of the kernel must run. Remove the offending step.",
        Cause.ADDED: "Nothing may run that is not part of the kernel. Remove the offending step.",
    }
)
"""For each cause, the rule and the advice."""
