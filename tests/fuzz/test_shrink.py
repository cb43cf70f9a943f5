"""The shrinker, given checkers that are wrong on purpose."""

import random
from dataclasses import replace

from polysched.errors import KernelError, ScheduleError
from polysched.fuzz.exploring import Case, explore_in, judge_again
from polysched.fuzz.generate.kernels import random_sketch
from polysched.fuzz.generate.sketch import assignments, declare
from polysched.fuzz.judge.judgment import Finding, Mode
from polysched.fuzz.shrink import candidates, shrink
from polysched.schedule.primitives.pack import Pack
from polysched.schedule.primitives.reverse import Reverse
from polysched.schedule.primitives.split import Split
from polysched.schedule.schedule import Schedule
from tests.fuzz.judging import JUDGES, PREFIX, accepts_all, case
from tests.support.effort import cases

WRONG = replace(JUDGES, checker=accepts_all)


def finding(judged: Case) -> Finding | None:
    judgment = judge_again(judged, WRONG)
    return None if judgment is None else judgment.finding


def test_a_wrong_case_becomes_small() -> None:
    """Whatever was accepted wrongly, two accesses and a step or two show it."""
    shrunk = 0
    for seed in range(40):
        explored = explore_in(Mode.ORDER, random.Random(seed).randint, WRONG, attempts=6)
        for one in explored.found:
            assert one.case is not None
            if one.case.mode is Mode.RUN or one.finding is not Finding.ACCEPTED_ILLEGAL:
                continue
            small = shrink(one.case, Finding.ACCEPTED_ILLEGAL, finding, attempts=400)
            assert finding(small) is Finding.ACCEPTED_ILLEGAL
            assert len(small.steps) <= 2
            assert len(list(assignments(small.sketch.body))) <= 2
            shrunk += 1
            break
        if shrunk == 3:
            return
    raise AssertionError("nothing was accepted wrongly")


def test_what_does_not_matter_is_left_out() -> None:
    wrong = case(PREFIX, Split("i", 4, None), Reverse("ii"), Split("io", 2, None))
    small = shrink(wrong, Finding.ACCEPTED_ILLEGAL, finding)
    assert [type(step) for step in small.steps] in ([Split, Reverse], [Reverse])
    assert small.steps[-1] in {Reverse("i"), Reverse("ii")}


def test_steps_become_simpler() -> None:
    steps = [
        one.steps[0] for one in candidates(case(PREFIX, Split("i", 4, ("a", "b")))) if one.steps
    ]
    assert Split("i", 3, ("a", "b")) in steps
    steps = [one.steps[0] for one in candidates(case(PREFIX, Pack("A", "i", ("d0",)))) if one.steps]
    assert Pack("A", "i") in steps


def test_it_stops() -> None:
    """Were everything wrong, the smallest case there is would be left."""
    for seed in range(4):
        sketch = random_sketch(random.Random(seed).randint)
        small = shrink(case(sketch, Reverse("i")), Finding.CRASH, lambda _: Finding.CRASH)
        assert small.steps == ()
        assert list(candidates(small)) == []


def test_attempts_are_limited() -> None:
    judged = []

    def count(candidate: Case) -> Finding | None:
        judged.append(candidate)
        return None

    shrink(case(PREFIX), Finding.CRASH, count, attempts=5)
    assert len(judged) == 5


def test_most_candidates_are_kernels() -> None:
    fit = total = 0
    for seed in range(cases(3)):
        for candidate in candidates(case(random_sketch(random.Random(seed).randint))):
            total += 1
            try:
                Schedule(declare(candidate.sketch))
            except (KernelError, ScheduleError):
                continue
            fit += 1
    assert fit > total / 2
