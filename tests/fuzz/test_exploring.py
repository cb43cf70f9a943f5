"""The checker against judges that know nothing of it, on random schedules, both ways."""

import random
from dataclasses import replace

import islpy as isl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polysched.errors import ScheduleError
from polysched.fuzz import exploring
from polysched.fuzz.exploring import Explored, Found, explore, explore_in, is_meant, judge_again
from polysched.fuzz.generate.python_text import script
from polysched.fuzz.generate.randomness import Integers
from polysched.fuzz.judge.judgment import Finding, Mode
from polysched.legality.verdicts.verdict import Verdict
from polysched.schedule.primitives.reverse import Reverse
from polysched.schedule.schedule import Schedule
from tests.fuzz.judging import APART, JUDGES, PREFIX, accepts_all, case
from tests.support.effort import cases

CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large]


def drawn(data: st.DataObject) -> Integers:
    def integers(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    return integers


def told(found: list[Found]) -> str:
    """All of what is wrong."""
    return "\n".join(
        script(one.case.sketch, one.case.steps, comment=f"{one.finding.value}\n{one.detail}")
        for one in found
        if one.case is not None
    )


@settings(max_examples=cases(15), suppress_health_check=CHECKS)
@given(st.data())
def test_the_verdict_on_order_is_that_of_enumeration(data: st.DataObject) -> None:
    found = explore_in(Mode.ORDER, drawn(data), JUDGES, attempts=5).found
    assert not found, told(found)


@settings(max_examples=cases(10), suppress_health_check=CHECKS)
@given(st.data())
def test_what_is_accepted_computes_the_right_results(data: st.DataObject) -> None:
    found = explore_in(Mode.RUN, drawn(data), JUDGES, attempts=4).found
    assert not found, told(found)


@settings(max_examples=cases(4), suppress_health_check=CHECKS)
@given(st.data())
def test_machine_code_computes_the_right_results(data: st.DataObject) -> None:
    found = explore_in(Mode.MACHINE, drawn(data), JUDGES, attempts=3).found
    assert not found, told(found)


def test_legal_and_illegal_schedules_are_met_and_small_ones_are_never_unknown() -> None:
    explored = Explored()
    for seed in range(30):
        explored.add(explore_in(Mode.ORDER, random.Random(seed).randint, JUDGES, attempts=6))
    assert not explored.found, told(explored.found)
    assert explored.counts["order: unknown"] == 0
    assert explored.counts["order: legal"] >= 20
    assert explored.counts["order: illegal"] >= 20


def test_a_seed_gives_the_same_again() -> None:
    assert explore(3, JUDGES).counts == explore(3, JUDGES).counts


def test_a_wrong_checker_is_found_out() -> None:
    explored = Explored()
    for seed in range(12):
        integers = random.Random(seed).randint
        explored.add(explore_in(Mode.ORDER, integers, replace(JUDGES, checker=accepts_all)))
    assert explored.counts[Finding.ACCEPTED_ILLEGAL.value] >= 5
    assert {one.finding for one in explored.found} <= {
        Finding.ACCEPTED_ILLEGAL,
        Finding.WRONG_RESULT,
        Finding.NO_CODE,
    }


def test_a_case_is_judged_again() -> None:
    judgment = judge_again(case(PREFIX, Reverse("i")), replace(JUDGES, checker=accepts_all))
    assert judgment is not None
    assert judgment.finding is Finding.ACCEPTED_ILLEGAL
    assert judge_again(case(PREFIX, Reverse("j")), JUDGES) is None
    assert judge_again(case(replace(PREFIX, body=())), JUDGES) is None


def fails(schedule: Schedule) -> Verdict:
    raise ZeroDivisionError("of the checker")


def test_a_crash_is_a_finding() -> None:
    judgment = judge_again(case(APART), replace(JUDGES, checker=fails))
    assert judgment is not None
    assert judgment.finding is Finding.CRASH
    assert judgment.detail == "ZeroDivisionError: of the checker"


def test_a_crash_in_a_step_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(schedule: Schedule, step: object) -> Schedule:
        raise KeyError("of the step")

    monkeypatch.setattr(exploring.Schedule, "then", broken)
    explored = explore_in(Mode.ORDER, random.Random(0).randint, JUDGES, attempts=1, seed=7)
    (found,) = explored.found
    assert (found.seed, found.finding) == (7, Finding.CRASH)
    assert found.detail == "KeyError: 'of the step'"
    judgment = judge_again(case(APART, Reverse("i")), JUDGES)
    assert judgment is not None
    assert judgment.finding is Finding.CRASH


def test_errors_of_isl_are_not_meant() -> None:
    assert is_meant(ScheduleError("does not fit"))
    hidden = ScheduleError("reverse('i'): inside a step")
    hidden.__context__ = isl.Error("inside a step")
    assert not is_meant(hidden)
    assert not is_meant(KeyError())
