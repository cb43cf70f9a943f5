"""Answers as SARIF 2.1.0, the format in which sites that host code take the findings of tools.

Standard: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0" (2020).

One run with one result for each refused schedule; a legal one has none. A repair is told in the
message and not as a ``fix``: that needs the text to put into the file, and what a step is written
like there (a loop, a helper function) is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from polysched.ir.source import SourceLocation
from polysched.legality.answer import Answer
from polysched.legality.explain import describe
from polysched.legality.report import answer_as_json
from polysched.legality.rules import HELP
from polysched.legality.verdict import Cause, Occurrence, Verdict, VerdictKind

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
UNKNOWN_RULE = "unknown"

_ROOT = "ROOT"
_UNKNOWN_TEXT = "it could be neither proved that the schedule is legal nor that it is not"
_UNKNOWN_HELP = (
    "isl ran out of operations or time. Give the check a larger --quota or more --seconds, or take "
    "fewer or smaller steps."
)


def as_sarif(answers: Iterable[Answer], root: Path, version: str | None) -> dict[str, Any]:
    """One SARIF log, ready for :func:`json.dumps`.

    A result is at the line of the guilty step, at that of the statement if the kernel itself is at
    fault, and at that of the last step if legality is unknown (level ``warning``, else ``error``).
    Related locations are those of the statements of the witness. The property ``polysched`` holds
    the record of :func:`polysched.legality.report.answer_as_json`.

    Args:
        root: the absolute path of the folder to which files below it are given relative.
        version: polysched's; None if it is not known.
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
    place = _place(_location(answer), root)
    if place is not None:
        result["locations"] = [{"physicalLocation": place}]
    related = [
        {"id": number, "physicalLocation": found, "message": {"text": _literal(describe(one))}}
        for number, one in enumerate(_occurrences(verdict), start=1)
        if (found := _place(one.location, root)) is not None
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
    """A message without placeholders: braces are written twice."""
    return text.replace("{", "{{").replace("}", "}}")


def _location(answer: Answer) -> SourceLocation | None:
    """The line to blame, or the nearest that is known."""
    violation, schedule = answer.verdict.violation, answer.schedule
    if violation is None:
        to_blame = schedule.locations[-1] if schedule.locations else None
    elif violation.in_kernel:
        to_blame = violation.witness.source.location
    else:
        to_blame = violation.guilty.location if violation.guilty else None
    return to_blame or schedule.kernel.location


def _occurrences(verdict: Verdict) -> list[Occurrence]:
    if verdict.kind is not VerdictKind.ILLEGAL or verdict.violation is None:
        return []
    witness = verdict.violation.witness
    return [witness.source] if witness.sink is None else [witness.source, witness.sink]


def _place(location: SourceLocation | None, root: Path) -> dict[str, Any] | None:
    """A place in a file; None for text that was never in one, such as ``<stdin>``."""
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
