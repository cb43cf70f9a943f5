import pytest

from polysched.fuzz.judgment import NO_LOOPS, Finding, Judgment, Mode
from polysched.fuzz.run_judge import UNSEEN, judge_run
from polysched.fuzz.subject import Subject
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import i32
from polysched.legality.check import check
from polysched.legality.verdict import Verdict, VerdictKind
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


def test_instances_that_isl_loses_are_remarked() -> None:
    """isl leaves out an element of the copy into the buffer; that is noticed, and no code made."""
    build = KernelBuilder("lost")
    n = build.parameter("N")
    b = build.inout("B", i32, (3 * n + 10, 2 * n + 6))
    with build.loops(j=n) as j, build.statement("S"):
        b[j, j % 2] = b[0, j % 3 + 1]
    schedule = Schedule(build.kernel()).promote("B", "j")
    assert judged(schedule) == Judgment(Mode.RUN, VerdictKind.LEGAL, remark=NO_LOOPS)
