import pytest

from polysched.fuzz.judge.storage import clobbered_read
from polysched.legality.check import check
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul, windows
from tests.support.kernels import chain


def fused_chain() -> Schedule:
    return Schedule(chain()).fuse("P.i", "C.i").fuse("P.j", "C.j")


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(matmul()).promote("C", "update.j"),
        Schedule(windows()).promote("t", "i").collapse("i", "k", "ik"),
        Schedule(windows()).promote("t", "i").distribute("k").distribute("i"),
        Schedule(matmul()).promote("C", "update.j").vectorize("update.j", 4),
        fused_chain().fold_storage("t", "d0", 1),
        fused_chain().fold_storage("t", "d0", 1).reverse("i"),
        Schedule(chain()).fold_storage("t", "d0", 2),
    ],
)
def test_the_checker_agrees(schedule: Schedule) -> None:
    verdict = check(schedule)
    sizes = dict.fromkeys(schedule.kernel.parameters, 3)
    assert (clobbered_read(schedule.program, sizes, 2000) == "") == verdict.is_legal


def test_the_read_is_named() -> None:
    schedule = Schedule(windows()).promote("t", "i").distribute("k").distribute("i")
    assert clobbered_read(schedule.program, {"N": 2}, 2000) == (
        "T reads ('t_local', (0, 0, 0)) of ('S', 0), finds ('S', 8)"
    )


def test_too_many_instances() -> None:
    assert clobbered_read(Schedule(windows()).program, {"N": 9}, 100) is None
