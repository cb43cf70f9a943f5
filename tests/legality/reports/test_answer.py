from polysched.legality.reports.answer import HINT, advice, answer
from polysched.legality.reports.loop_reports import FREE_THE_ORDER
from polysched.legality.reports.picture import picture
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, producer_consumer


def test_of_a_legal_schedule_there_is_only_the_verdict() -> None:
    found = answer("it", Schedule(matmul()).split("k", 4))
    assert found.label == "it"
    assert found.verdict.is_legal
    assert (found.picture, found.condition, found.repairs) == ((), None, ())


def test_an_illegal_schedule_has_a_picture_and_repairs() -> None:
    schedule = Schedule(producer_consumer(1)).fuse("P.i", "C.i")
    found = answer("it", schedule)
    assert found.verdict.violation is not None
    assert found.picture == picture(schedule.program, found.verdict.violation)
    assert found.picture
    assert found.repairs[0].description.startswith("shift(")


def test_a_fault_of_the_kernel_has_no_repairs() -> None:
    found = answer("it", Schedule(copy_shifted(3, 0)))
    assert found.verdict.violation is not None
    assert (found.picture, found.repairs) == ((), ())


def test_an_unknown_verdict_stands_alone() -> None:
    found = answer("it", Schedule(matmul()).reverse("k"), quota=10)
    assert found.verdict.kind.value == "unknown"
    assert (found.picture, found.condition, found.repairs) == ((), None, ())


def test_a_sum_that_keeps_its_order_gets_a_hint() -> None:
    for schedule in (Schedule(matmul()).vectorize("k", 4), Schedule(matmul()).parallel("k")):
        hints = [line for line in advice(answer("it", schedule)) if line.startswith(HINT)]
        assert hints == [f"{HINT}{FREE_THE_ORDER}"]
    other = Schedule(producer_consumer(1)).fuse("P.i", "C.i")
    assert not any(line.startswith(HINT) for line in advice(answer("it", other)))
