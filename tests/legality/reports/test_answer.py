from polysched.legality.reports.answer import answer
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
