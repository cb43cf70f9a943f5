import json
import os
from dataclasses import replace

from polysched.fuzz.campaign import Outcome
from polysched.fuzz.exploring import Explored, Found, explore
from polysched.fuzz.generate.sketch import ParameterSketch
from polysched.fuzz.judge.judgment import Finding
from polysched.fuzz.report import lines, record, reproducer, safe_reproducer
from polysched.schedule.primitives.reverse import Reverse
from polysched.schedule.primitives.split import Split
from tests.fuzz.judging import JUDGES, PREFIX, accepts_all, case

COUNTS = {
    "pairs": 30,
    "order: legal": 10,
    "order: illegal": 12,
    "run: legal": 7,
    "run: unknown": 1,
    "run: refused, perhaps legal": 2,
    "fits: Split": 4,
    "does not fit: Pack": 1,
}


def outcome(**more: int) -> Outcome:
    explored = Explored()
    explored.counts.update(COUNTS)
    explored.counts.update({name.replace("_", " "): count for name, count in more.items()})
    return Outcome(explored, 2.0, 5)


def test_the_record() -> None:
    said = json.loads(json.dumps(record(outcome())))
    assert said["pairs"] == 30
    assert said["pairs_per_second"] == 15
    assert said["verdicts"] == {"legal": 17, "illegal": 12, "unknown": 1}
    assert said["findings"] == dict.fromkeys((one.value for one in Finding), 0)
    assert said["judged"]["run: refused, perhaps legal"] == 2
    assert said["steps_that_fit"] == {"Split": 4}
    assert said["steps_that_do_not_fit"] == {"Pack": 1}


def test_the_text() -> None:
    text = "\n".join(lines(outcome()))
    assert text.startswith("5 kernels, 2.5 a second\n30 pairs of a kernel and a schedule, 15.0 a")
    assert text.endswith("nothing wrong")
    assert "  order: illegal: 12" in text


def test_the_text_of_something_wrong() -> None:
    text = "\n".join(lines(outcome(refused_although_legal=3)))
    assert text.endswith("WRONG: refused although legal: 3")


def test_what_is_counted_is_what_is_reported() -> None:
    explored = Explored()
    for seed in range(6):
        explored.add(explore(seed, JUDGES))
    said = record(Outcome(explored, 1.0, 6))
    assert sum(said["verdicts"].values()) == said["pairs"] > 0


def test_a_reproducer_is_small_and_runs() -> None:
    wrong = case(PREFIX, Split("i", 4, None), Reverse("ii"), Split("io", 2, None))
    found = Found(17, wrong, Finding.ACCEPTED_ILLEGAL, "before")
    text = reproducer(found, replace(JUDGES, checker=accepts_all))
    assert text.startswith("# seed 17, shrunk: accepted although illegal\n# S[")
    assert "schedule.then(Reverse(" in text
    assert "io" not in text
    exec(compile(text, "reproducer", "exec"), {})


def test_of_a_dead_process_only_the_seed_is_known() -> None:
    found = Found(9, None, Finding.DIED, "exit code -11")
    assert safe_reproducer(found) == (
        "# seed 9: the process died\n# exit code -11\n# python -m polysched.fuzz --only --seed 9\n"
    )


class Deadly(ParameterSketch):
    """Data that ends the process that unpacks it."""

    def __reduce__(self) -> tuple[object, ...]:
        return os._exit, (3,)


def test_what_ends_the_process_is_told_as_it_was_found() -> None:
    deadly = replace(PREFIX, parameters=(Deadly("N", 0, None),))
    found = Found(9, case(deadly, Reverse("i")), Finding.CRASH, "ValueError: no")
    text = safe_reproducer(found)
    assert text.startswith("# seed 9: an error that should not be\n# ValueError: no\n")
    assert "Reverse(loop='i')" in text
