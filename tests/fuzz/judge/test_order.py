from dataclasses import replace

import pytest

from polysched.fuzz.judge.judgment import Finding, Judgment, Mode
from polysched.fuzz.judge.order import judge_order
from polysched.fuzz.judge.subject import Subject
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Verdict, VerdictKind, ViolationKind
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, seidel
from tests.support.kernels import prefix
from tests.support.packed_kernels import every_other


def judged(schedule: Schedule, verdict: Verdict | None = None) -> Judgment:
    return judge_order(Subject(schedule.kernel), schedule, verdict or check(schedule))


def outside() -> Kernel:
    build = KernelBuilder("outside")
    n = build.parameter("N")
    a = build.inout("A", i32, (n,))
    with build.loops(i=n) as i, build.statement("S"):
        a[i + 1] = 1
    return build.kernel()


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(seidel()).skew("i", "t").tile(("t", "i"), (2, 2)),
        Schedule(seidel()).tile(("t", "i"), (2, 2)),
        Schedule(prefix()).vectorize("i", 8),
        Schedule(prefix()).parallel("i"),
        Schedule(copy_shifted(0, -1)).vectorize("j", 4),
        Schedule(copy_shifted(3, 0)),
        Schedule(outside()),
    ],
)
def test_right_verdicts(schedule: Schedule) -> None:
    verdict = check(schedule)
    assert judged(schedule, verdict) == Judgment(Mode.ORDER, verdict.kind)


def test_an_illegal_schedule_accepted() -> None:
    legal = Verdict(VerdictKind.LEGAL)
    found = judged(Schedule(prefix()).reverse("i"), legal)
    assert found.finding is Finding.ACCEPTED_ILLEGAL
    assert found.detail == "S[1] and S[2] are not kept apart, in that order"
    assert judged(Schedule(outside()), legal).detail == (
        "the kernel has an access outside an array"
    )


def test_a_legal_schedule_refused() -> None:
    refusal = check(Schedule(prefix()).reverse("i"))
    found = judged(Schedule(prefix()), refusal)
    assert found.finding is Finding.REFUSED_LEGAL
    assert found.detail.startswith("every pair of instances is kept at {'n': ")
    in_kernel = replace(check(Schedule(outside())))
    assert in_kernel.violation is not None
    violation = replace(in_kernel.violation, kind=ViolationKind.UNDEFINED)
    found = judged(Schedule(outside()), replace(in_kernel, violation=violation))
    assert found.finding is Finding.REFUSED_LEGAL


def test_a_witness_that_is_none() -> None:
    schedule = Schedule(matmul()).reverse("k")
    verdict = check(schedule)
    assert verdict.violation is not None
    witness = verdict.violation.witness
    assert witness.sink is not None
    wrong = replace(witness, sink=replace(witness.sink, instance=(0, 0, 0)))
    alone = replace(witness, sink=None)
    nameless = replace(witness, parameters=())
    details = []
    for changed in (wrong, alone, nameless):
        violation = replace(verdict.violation, witness=changed)
        found = judged(schedule, replace(verdict, violation=violation))
        assert found.finding is Finding.WRONG_WITNESS
        details.append(found.detail)
    assert details[0] == "update[0,0,0] and update[0,0,0] are kept apart at {'N': 2}"
    assert details[1] == "update[0,0,0] and nothing are kept apart at {'N': 2}"
    assert details[2] == "it has no value of N"


def test_what_is_too_large_is_remarked() -> None:
    build = KernelBuilder("large")
    a = build.inout("A", i32, (1001,))
    with build.loops(i=1000) as i, build.statement("S"):
        a[i + 1] = a[i]
    schedule = Schedule(build.kernel())
    assert judged(schedule).remark == "too large to enumerate"
    assert judged(schedule.reverse("i")).remark == ""


def whole_bytes() -> Kernel:
    """Contiguous rows of an even number of u4, so that each begins at a byte."""
    build = KernelBuilder("whole_bytes")
    n, m = build.parameter("n"), build.parameter("m")
    v = build.output("v", "u4", (n, 2 * m), rows="contiguous")
    with build.loops(i=n, j=2 * m) as (i, j), build.statement("S"):
        v[i, j] = 1
    return build.kernel()


def test_a_byte_shared_by_threads() -> None:
    """An accepted one is illegal, a refused one is confirmed, whole bytes are legal."""
    packed = Schedule(every_other("u2")).parallel("i")
    assert judged(packed) == Judgment(Mode.ORDER, VerdictKind.ILLEGAL)
    found = judged(packed, Verdict(VerdictKind.LEGAL))
    assert found.finding is Finding.ACCEPTED_ILLEGAL
    assert judged(Schedule(whole_bytes()).parallel("i")) == Judgment(Mode.ORDER, VerdictKind.LEGAL)
