"""Races of C functions; speeds are not asserted."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from polysched.bench.c_programs.code import STRICT_FLAGS, CCompiler
from polysched.bench.c_programs.programs import programs_of
from polysched.bench.c_programs.race import Contest, Raced, raced
from polysched.bench.measure.race import Outcome, Result, Rules
from polysched.machine.load import as_machine
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import needs_gcc

QUICK = Rules(rounds=1, seconds_budget=0.05)


def steady() -> float:
    """A peak that does not change."""
    return 1e9


def contest(*compilers: CCompiler) -> Contest:
    return Contest(compilers, as_machine(None), steady)


@needs_gcc
@pytest.mark.parametrize("fast_math", [False, True])
def test_a_race(fast_math: bool, folder: Path, tmp_path: Path) -> None:
    (program,) = programs_of(folder, ["largest"], fast_math=fast_math)
    missing = CCompiler("missing", ("no-such-cc",), STRICT_FLAGS)
    gcc = CCompiler("gcc", ("gcc",), STRICT_FLAGS)
    found = raced(program, contest(gcc, missing), tmp_path, QUICK)
    outcome = found.outcome
    assert [one.contestant for one in outcome.results] == ["auto", "unscheduled", "gcc"]
    assert {one.kernel for one in outcome.results} == {"largest n=77"}
    assert [one.contestant for one in outcome.withdrawn] == ["missing"]
    assert "cannot run 'no-such-cc'" in outcome.withdrawn[0].reason
    assert {one.over for one in found.speedups("auto")} == {"unscheduled", "gcc"}
    assert found.seconds["auto"] > 0


def test_without_a_compiler_polysched_is_the_reference(folder: Path, tmp_path: Path) -> None:
    (program,) = programs_of(folder, ["largest"])
    by_hand = replace(program, schedule=Schedule(program.kernel).split("i", 8))
    found = raced(by_hand, contest(), tmp_path, QUICK)
    assert [one.contestant for one in found.outcome.results] == ["polysched", "auto", "unscheduled"]


def result(name: str, fraction: float) -> Result:
    return Result("largest n=77", name, fraction, 1.0, 1.0, 3, 0.0)


@pytest.fixture
def race_of(folder: Path) -> Callable[..., Raced]:
    """Make the outcome of a race with these results."""
    (program,) = programs_of(folder, ["largest"])
    return lambda *results: Raced(program, Outcome(results, ()), {})


def test_ratios_are_over_all_others(race_of: Callable[..., Raced]) -> None:
    race = race_of(result("polysched", 0.6), result("unscheduled", 0.1), result("gcc", 0.2))
    found = race.speedups("polysched", "unscheduled")
    assert [(one.work, one.own, one.over) for one in found] == [
        ("largest", "polysched", "unscheduled"),
        ("largest", "polysched", "gcc"),
    ]
    assert [one.ratio for one in found] == pytest.approx([6, 3])


def test_a_program_without_a_schedule_races_as_it_is_written(race_of: Callable[..., Raced]) -> None:
    race = race_of(result("unscheduled", 0.1), result("gcc", 0.2))
    (found,) = race.speedups("polysched", "unscheduled")
    assert (found.own, found.over, found.ratio) == ("unscheduled", "gcc", 0.5)
    assert race.speedups("polysched") == ()


def test_there_is_no_ratio_to_a_compiler_that_is_held_back(race_of: Callable[..., Raced]) -> None:
    gcc = replace(result("gcc", 0.2), held_back="its kernels are narrow")
    assert race_of(result("polysched", 0.6), gcc).speedups("polysched") == ()


def test_threads_are_compared_with_one_thread(race_of: Callable[..., Raced]) -> None:
    race = race_of(*map(result, ("polysched", "auto", "auto_on_threads"), (0.2, 0.1, 0.3)))
    found = {(one.own, one.over): one.ratio for one in race.speedups("polysched")}
    assert found == {
        ("polysched", "auto"): pytest.approx(2),
        ("auto_on_threads", "auto on one thread"): pytest.approx(3),
    }
