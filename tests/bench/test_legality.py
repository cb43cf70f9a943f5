import json

import pytest

from polysched.bench.legality import (
    SCHEDULES,
    CheckTime,
    hostile,
    measure_legality,
    packed_matmul,
    time_check,
)
from polysched.errors import BenchError
from polysched.fuzz.campaign import Plan
from polysched.legality import check as checker
from polysched.legality.check import check, find_violation
from polysched.legality.verdicts.verdict import Violation
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.split import Split

OPERATIONS = 1_000_000
"""Of isl for one question; the hardest one of these schedules takes 100,000 to 300,000."""


@pytest.mark.parametrize("name", SCHEDULES)
def test_full_schedules_are_legal_and_quick(name: str) -> None:
    measured = time_check(name, SCHEDULES[name](), 1)
    assert (measured.what, measured.verdict, measured.runs) == (name, "legal", 1)
    assert measured.steps >= 12
    assert measured.wall_seconds >= 0
    # Counted in isl's operations for one question, since times vary with the load of the machine.
    assert check(SCHEDULES[name](), quota=OPERATIONS).is_legal


def test_what_was_found_legal_is_judged_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []

    def counted(program: Program) -> Violation | None:
        judged.append(program)
        return find_violation(program)

    monkeypatch.setattr(checker, "find_violation", counted)
    schedule = packed_matmul()
    assert check(schedule).is_legal
    assert time_check("again", schedule, 2).verdict == "legal"
    assert len(judged) == 3


def test_the_matmul_packs_and_keeps_a_tile_in_registers() -> None:
    arrays = packed_matmul().program.arrays
    assert {"A_packed", "B_packed", "C_local"} <= arrays.keys()


def test_a_hostile_schedule_ends_in_time() -> None:
    schedule = hostile()
    assert sum(isinstance(step, Split) for step in schedule.steps) == 36
    measured = time_check("hostile", schedule, 1, seconds=0.1)
    assert measured.verdict == "unknown"
    # The process lives on.
    assert time_check("again", packed_matmul(), 1).verdict == "legal"


def test_everything_is_measured() -> None:
    told: list[str] = []
    result = measure_legality(Plan(seed=41, pairs=1), runs=1, limit=0.2, progress=told.append)
    said = json.loads(json.dumps(result.as_record()))
    assert said["random"]["pairs"] >= 1
    assert [one["what"] for one in said["checks"]] == list(SCHEDULES)
    assert said["hostile"]["verdict"] == "unknown"
    assert said["hostile"]["limit_seconds"] == 0.2
    assert isinstance(result.hostile, CheckTime)
    assert told[-1] == "checking a hostile schedule"


def test_no_runs() -> None:
    with pytest.raises(BenchError, match="at least 1 run, got runs=0"):
        measure_legality(Plan(), runs=0)
