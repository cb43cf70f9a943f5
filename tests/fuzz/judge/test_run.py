import pytest

from polysched.errors import LoweringError
from polysched.fuzz.judge.judgment import NO_LOOPS, Finding, Judgment, Mode
from polysched.fuzz.judge.run import UNSEEN, judge_run
from polysched.fuzz.judge.subject import Subject
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Verdict, VerdictKind
from polysched.loops.ir.nodes import LoopProgram
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul
from tests.support.kernels import chain, prefix

LEGAL = Verdict(VerdictKind.LEGAL)


def judged(schedule: Schedule, verdict: Verdict | None = None) -> Judgment:
    return judge_run(Subject(schedule.kernel), schedule, verdict or check(schedule))


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(matmul("any")).split("k", 2).promote("C", "ko"),
        Schedule(matmul()).split("k", 2).promote("C", "ko"),
        Schedule(chain()).parallel("P.i").vectorize("C.j", 2),
        Schedule(prefix()).reverse("i"),
    ],
)
def test_right_verdicts(schedule: Schedule) -> None:
    assert judged(schedule) == Judgment(Mode.RUN, check(schedule).kind)


@pytest.mark.parametrize(
    ("schedule", "detail"),
    [
        (Schedule(prefix()).reverse("i"), "S[2] reads s[1]: declared S[1], here"),
        (Schedule(prefix()).vectorize("i", 2), "S[3] reads s[2]: declared S[2], here"),
        # Whatever the order of the iterations, they must not depend on each other.
        (Schedule(matmul("any")).parallel("k"), "touches C[0, 0]"),
        (Schedule(matmul()).reverse("k"), "reads C"),
    ],
)
def test_an_illegal_schedule_accepted(schedule: Schedule, detail: str) -> None:
    found = judged(schedule, LEGAL)
    assert found.finding is Finding.WRONG_RESULT
    assert detail in found.detail


def test_refused_but_nothing_is_wrong() -> None:
    refusal = check(Schedule(prefix()).reverse("i"))
    assert judged(Schedule(prefix()), refusal).remark == UNSEEN


def test_a_schedule_without_loops_is_remarked(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: Program) -> LoopProgram:
        raise LoweringError("no loops could be generated")

    monkeypatch.setattr("polysched.fuzz.judge.run.generate_loops", none)
    found = judged(Schedule(prefix()))
    assert found == Judgment(Mode.RUN, VerdictKind.LEGAL, remark=NO_LOOPS)
