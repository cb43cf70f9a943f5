import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from polysched.fuzz import __main__ as command
from polysched.fuzz.campaign import Outcome, Plan
from polysched.fuzz.exploring import Explored, Found
from polysched.fuzz.judge.judgment import Finding
from tests.fuzz.judging import APART, case


def test_a_run() -> None:
    result = CliRunner().invoke(command.main, ["--pairs", "5", "--jobs", "1", "--seed", "41"])
    assert result.exit_code == 0, result.output
    assert "pairs of a kernel and a schedule" in result.output
    assert result.output.endswith("nothing wrong\n")


def test_one_seed_tells_its_cases() -> None:
    result = CliRunner().invoke(command.main, ["--only", "--seed", "41"])
    assert result.exit_code == 0, result.output
    assert "build = KernelBuilder('random')" in result.stderr
    assert result.stdout == ""


def finds(plan: Plan, *, on_finding: Callable[[Found], None]) -> Outcome:
    explored = Explored()
    explored.counts.update({"pairs": 4, Finding.CRASH.value: 1})
    explored.found.append(Found(plan.seed, case(APART), Finding.CRASH, "ValueError: no"))
    on_finding(explored.found[0])
    return Outcome(explored, 1.0, 1)


def test_a_finding_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run", finds)
    result = CliRunner().invoke(command.main, ["--seconds", "1", "--seed", "8"])
    assert result.exit_code == 1
    assert "WRONG: an error that should not be: 1" in result.output
    assert result.stderr == "seed 8: an error that should not be: ValueError: no\n"
    assert "# seed 8: an error that should not be\n# ValueError: no\n" in result.output
    result = CliRunner().invoke(command.main, ["--seconds", "1", "--json"])
    assert json.loads(result.stdout.splitlines()[0])["findings"][Finding.CRASH.value] == 1


def test_one_way_of_judging() -> None:
    options = ["--pairs", "3", "--jobs", "1", "--seed", "41", "--mode", "run", "--json"]
    result = CliRunner().invoke(command.main, options)
    assert result.exit_code == 0, result.output
    judged = json.loads(result.output)["judged"]
    assert judged
    assert all(name.startswith(("run: ", "order: illegal")) for name in judged)
