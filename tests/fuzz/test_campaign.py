import pytest

from polysched.fuzz import campaign
from polysched.fuzz.campaign import Plan, run
from polysched.fuzz.judge.judgment import Finding


def test_pairs_on_two_processes() -> None:
    told: list[str] = []
    outcome = run(Plan(seed=100, jobs=2, pairs=15), told.append)
    assert outcome.pairs >= 15
    assert outcome.seeds == len(told)
    assert outcome.explored.found == []
    assert told[-1] == f"{outcome.pairs} pairs"


def test_seconds() -> None:
    outcome = run(Plan(seconds=0.0))
    assert (outcome.pairs, outcome.seeds) == (0, 0)


def test_a_seed_that_takes_too_long_is_a_finding() -> None:
    told: list[int] = []
    plan = Plan(seed=5, pairs=1, most_found=2, patience=0.0)
    outcome = run(plan, on_finding=lambda found: told.append(found.seed))
    assert told == [5, 6]
    assert [(one.seed, one.finding) for one in outcome.explored.found] == [
        (5, Finding.HUNG),
        (6, Finding.HUNG),
    ]
    assert outcome.explored.counts[Finding.HUNG.value] == 2
    assert outcome.explored.found[0].case is None


def test_a_process_that_dies_is_a_finding() -> None:
    worker = campaign._started(Plan())
    worker.process.kill()
    worker.process.join()
    worker.seed = 3
    result = campaign._result(worker, True, 60.0)
    assert result is not None
    (found,) = result.found
    assert (found.seed, found.finding, found.detail) == (3, Finding.DIED, "exit code -9")


def test_a_process_makes_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """isl and LLVM keep memory, so no process lives for a whole night."""
    started = []

    def start(plan: Plan) -> campaign._Worker:
        started.append(original(plan))
        return started[-1]

    original = campaign._started
    monkeypatch.setattr(campaign, "SEEDS_A_PROCESS", 2)
    monkeypatch.setattr(campaign, "_started", start)
    outcome = run(Plan(seed=100, pairs=20, most_found=1))
    assert outcome.pairs >= 20
    assert outcome.explored.found == []
    assert len(started) == outcome.seeds // 2 + 1 > 1
    assert not any(worker.process.is_alive() for worker in started)
