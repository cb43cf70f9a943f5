"""What the standard demands of a log (OASIS SARIF 2.1.0), checked by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from polysched.ir.expr.source import SourceLocation
from polysched.legality.reports.answer import Answer, answer
from polysched.legality.reports.report import answer_as_json
from polysched.legality.reports.sarif import as_sarif
from polysched.legality.verdicts.verdict import Cause
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, producer_consumer

HERE = Path(__file__).resolve()
ROOT = HERE.parents[3]


def logged(*answers: Answer, root: Path = ROOT, version: str | None = "1.2") -> dict[str, Any]:
    """The only run of the log: through text and back."""
    log = json.loads(json.dumps(as_sarif(answers, root, version)))
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert set(run) == {"tool", "originalUriBaseIds", "columnKind", "results"}
    return dict(run)


def illegal() -> Answer:
    return answer("it", Schedule(producer_consumer(1)).fuse("P.i", "C.i"))


def test_a_legal_schedule_has_no_result() -> None:
    assert logged(answer("it", Schedule(matmul())))["results"] == []


def test_the_tool_and_its_rules() -> None:
    driver = logged()["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("polysched", "1.2")
    names = [rule["id"] for rule in driver["rules"]]
    assert len(set(names)) == len(names) == len(Cause) + 1
    assert names[-1] == "unknown"
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"].endswith(".")
        assert rule["help"]["text"]
        assert rule["defaultConfiguration"]["level"] in {"error", "warning"}
    assert "version" not in logged(version=None)["tool"]["driver"]


def test_an_illegal_schedule() -> None:
    found = illegal()
    run = logged(found)
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("loop", "error")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "loop"
    lines = result["message"]["text"].splitlines()
    assert lines[0].startswith("it is illegal: fuse(first='P.i', second='C.i') breaks a flow")
    assert "  A = P[1], B = C[0]" in lines
    assert lines[-2:] == [f"Try: {repair.description}" for repair in found.repairs]
    assert result["properties"]["polysched"] == json.loads(json.dumps(answer_as_json(found)))


def test_the_places() -> None:
    (result,) = logged(illegal())["results"]
    (location,) = result["locations"]
    place = location["physicalLocation"]
    assert place["artifactLocation"] == {
        "uri": "tests/legality/reports/test_sarif.py",
        "uriBaseId": "ROOT",
    }
    line = HERE.read_text(encoding="utf-8").splitlines()[place["region"]["startLine"] - 1]
    assert ".fuse(" in line
    related = result["relatedLocations"]
    assert [one["id"] for one in related] == [1, 2]
    assert [one["message"]["text"] for one in related] == [
        "P[1] writes t[1], was at (i=1), now at (i=1)",
        "C[0] reads t[1], was at (i=0), now at (i=0)",
    ]
    for one in related:
        artifact = one["physicalLocation"]["artifactLocation"]
        assert artifact["uri"] == "tests/legality/kernels.py"


def test_files_outside_the_root_have_absolute_addresses(tmp_path: Path) -> None:
    run = logged(illegal(), root=tmp_path)
    assert run["originalUriBaseIds"] == {"ROOT": {"uri": f"{tmp_path.as_uri()}/"}}
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": HERE.as_uri()}


def at(location: SourceLocation | None) -> dict[str, Any]:
    """The result of a schedule whose steps, and kernel, are said to be written at a place."""
    schedule = illegal().schedule
    kernel = replace(schedule.kernel, location=location)
    moved = replace(schedule, kernel=kernel, locations=(location,))
    (result,) = logged(answer("it", moved))["results"]
    return dict(result)


def test_a_column_where_one_is_known() -> None:
    (location,) = at(SourceLocation(str(ROOT / "a b.sched"), 3, 7))["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b.sched", "uriBaseId": "ROOT"},
        "region": {"startLine": 3, "startColumn": 7},
    }


def test_text_without_a_file_has_no_place() -> None:
    assert "locations" not in at(SourceLocation("<stdin>", 3))
    assert "locations" not in at(None)


def test_a_fault_of_the_kernel_is_at_its_statement() -> None:
    (result,) = logged(answer("it", Schedule(copy_shifted(3, 0))))["results"]
    assert result["ruleId"] == "outside"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "tests/legality/kernels.py"
    assert place == result["relatedLocations"][0]["physicalLocation"]


def test_unknown_is_a_warning_at_the_last_step() -> None:
    run = logged(answer("it", Schedule(matmul()).split("k", 4), quota=10))
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("unknown", "warning")
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "unknown"
    assert result["message"]["text"].startswith("it is unknown: isl needs more than the 10")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "tests/legality/reports/test_sarif.py"
    assert "relatedLocations" not in result


def test_unknown_without_steps_is_at_the_kernel() -> None:
    (result,) = logged(answer("it", Schedule(matmul()), quota=10))["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "tests/legality/kernels.py"


def test_braces_are_no_placeholders() -> None:
    (result,) = logged(replace(illegal(), label="a{0}.py"))["results"]
    assert result["message"]["text"].startswith("a{{0}}.py is illegal: ")
