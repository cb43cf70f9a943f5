import json

import pytest

from polysched.bench.legality import CheckTime, LegalityResult
from polysched.cli.benchmarks import legality as bench_legality
from polysched.fuzz.campaign import Outcome, Plan
from polysched.fuzz.exploring import Explored, Found
from polysched.fuzz.judge.judgment import Finding
from tests.cli.conftest import Polysched


def judged(*, wrong: bool) -> LegalityResult:
    explored = Explored()
    explored.counts.update({"pairs": 60, "order: legal": 40, "order: illegal": 20})
    if wrong:
        explored.found.append(Found(12, None, Finding.DIED, "exit code -6"))
    check = CheckTime("convolution", 14, "legal", 0.025, 0.03, 9)
    hostile = CheckTime("hostile tiling", 39, "unknown", 9.5, 10.0, 1)
    return LegalityResult(Outcome(explored, 2.0, 8), (check,), hostile, 10.0)


def test_legality(polysched: Polysched, monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[Plan] = []

    def measure(plan: Plan, progress: object) -> LegalityResult:
        plans.append(plan)
        return judged(wrong=False)

    monkeypatch.setattr(bench_legality, "measure_legality", measure)
    result = polysched("bench", "legality", "--pairs", "60", "--seed", "3", "--jobs", "1")
    assert (result.exit_code, result.stderr) == (0, "")
    assert plans == [Plan(seed=3, jobs=1, pairs=60)]
    assert "60 pairs of a kernel and a schedule, 30.0 a second" in result.stdout
    assert "25.0 ms" in result.stdout
    assert "10000.0 ms" in result.stdout
    said = json.loads(polysched("bench", "legality", "--json").stdout)
    assert said["random"]["verdicts"] == {"legal": 40, "illegal": 20, "unknown": 0}
    assert said["checks"][0]["cpu_seconds"] == 0.025


def test_legality_that_is_wrong(polysched: Polysched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        bench_legality, "measure_legality", lambda plan, progress: judged(wrong=True)
    )
    result = polysched("bench", "legality")
    assert result.exit_code == 1
    assert "wrong at seed 12; this is a defect of polysched" in result.stderr
