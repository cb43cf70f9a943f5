"""Which schedules are legal, and of which kind the others are."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import Sequence
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Constant
from polysched.legality.check import check, find_violation
from polysched.legality.verdicts.verdict import (
    Cause,
    IllegalScheduleError,
    UnknownLegalityError,
    VerdictKind,
    ViolationKind,
)
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import (
    copy_shifted,
    matmul,
    producer_consumer,
    seidel,
    triangular_solve,
    windows,
)


def in_place() -> Kernel:
    """``A[i] = A[i + 1]`` and, with the same i, ``B[i] = A[i]``."""
    build = KernelBuilder("in_place")
    n = build.parameter("N", minimum=1)
    a, b = build.inout("A", i32, (n + 1,)), build.output("B", i32, (n,))
    with build.loops(i=n) as i:
        with build.statement("S"):
            a[i] = a[i + 1] + 1
        with build.statement("T"):
            b[i] = a[i]
    return build.kernel()


LEGAL: dict[str, Callable[[], Schedule]] = {
    "nothing": lambda: Schedule(matmul()),
    "tile of matmul": lambda: Schedule(matmul()).tile(("update.i", "update.j", "k"), (4, 8, 2)),
    "diagonal before reorder": lambda: Schedule(copy_shifted(1, 1)).reorder("j", "i"),
    "antidiagonal in vectors": lambda: Schedule(copy_shifted(1, -1)).vectorize("j", 4),
    "reads before writes": lambda: Schedule(copy_shifted(0, -1)).vectorize("j", 4),
    "skew makes tiles legal": lambda: Schedule(seidel()).skew("i", "t", 1).tile(("t", "i"), (4, 8)),
    "free reduction backwards": lambda: Schedule(matmul("any")).reverse("k"),
    "reverse twice": lambda: Schedule(matmul()).reverse("k").reverse("k"),
    "triangular distribute": lambda: Schedule(triangular_solve()).distribute("i"),
    "shift mends fuse": lambda: (
        Schedule(producer_consumer(1)).fuse("P.i", "C.i").shift("i", 1, "C")
    ),
    "lanes of different statements": lambda: Schedule(in_place()).vectorize("i", 4),
    "promote in the reduction": lambda: Schedule(matmul("any")).promote("C", "k"),
    "promote and vectors": lambda: (
        Schedule(matmul())
        .split("update.j", 8)
        .promote("C", "jo")
        .reorder("k", "ji")
        .vectorize("ji", 8)
    ),
    "pack": lambda: Schedule(matmul()).split("k", 4).pack("B", "ko"),
    "values cross iterations in a tile": lambda: Schedule(windows()).promote("t", "i"),
    "unroll": lambda: Schedule(seidel()).unroll("i", factor=4),
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal(name: str) -> None:
    verdict = check(LEGAL[name]())
    assert verdict.kind is VerdictKind.LEGAL, verdict.reason
    assert verdict.violation is None
    verdict.raise_if_refused()


ILLEGAL: dict[str, tuple[Callable[[], Schedule], ViolationKind, Cause, int]] = {
    "reorder": (
        lambda: Schedule(copy_shifted(1, -1)).reorder("j", "i"),
        ViolationKind.ORDER,
        Cause.LOOP,
        0,
    ),
    "reverse": (
        lambda: Schedule(copy_shifted(0, 1)).reverse("j"),
        ViolationKind.ORDER,
        Cause.LOOP,
        0,
    ),
    "anti dependence backwards": (
        lambda: Schedule(copy_shifted(0, -1)).reverse("j"),
        ViolationKind.ORDER,
        Cause.LOOP,
        0,
    ),
    "tile without skew": (
        lambda: Schedule(seidel()).tile(("t", "i"), (4, 8)),
        ViolationKind.ORDER,
        Cause.LOOP,
        0,
    ),
    "exact reduction backwards": (
        lambda: Schedule(matmul()).reverse("k"),
        ViolationKind.ORDER,
        Cause.LOOP,
        0,
    ),
    "fuse": (
        lambda: Schedule(producer_consumer(1)).fuse("P.i", "C.i"),
        ViolationKind.ORDER,
        Cause.LOOP,
        0,
    ),
    "distribute": (
        lambda: Schedule(in_place()).reverse("i").distribute("i").reverse("T.i"),
        ViolationKind.ORDER,
        Cause.LOOP,
        0,
    ),
    "distribute a recurrence": (
        lambda: Schedule(seidel_with_copy()).distribute("i"),
        ViolationKind.ORDER,
        Cause.SEQUENCE,
        0,
    ),
    "vectors of a recurrence": (
        lambda: Schedule(copy_shifted(0, 1)).vectorize("j", 4),
        ViolationKind.VECTOR,
        Cause.LANES,
        0,
    ),
    "vectors of a free reduction": (
        lambda: Schedule(matmul("any")).vectorize("k", 8),
        ViolationKind.VECTOR,
        Cause.REDUCTION_LANES,
        0,
    ),
    "vectors of an exact reduction": (
        lambda: Schedule(matmul()).split("k", 4).vectorize("ki", 4),
        ViolationKind.VECTOR,
        Cause.LANES,
        1,
    ),
    "vectors over tiles": (
        lambda: Schedule(matmul()).promote("C", "update.j").vectorize("update.j", 4),
        ViolationKind.STORAGE,
        Cause.TWO_TILES,
        1,
    ),
    "tiles that overlap": (
        lambda: (
            Schedule(matmul())
            .promote("C", "update.j")
            .shift("update.j", 1, "C_local_out")
            .shift("update.j", 1, "update")
        ),
        ViolationKind.STORAGE,
        Cause.TWO_TILES,
        1,
    ),
    "all tiles at once": (
        lambda: Schedule(windows()).promote("t", "i").distribute("k").distribute("i"),
        ViolationKind.STORAGE,
        Cause.TWO_TILES,
        2,
    ),
    "a copy before what it copies": (
        lambda: Schedule(matmul()).promote("C", "update.j").shift("update.j", 1, "update"),
        ViolationKind.ORDER,
        Cause.LOOP,
        1,
    ),
    "a pack before its array is written": (
        lambda: (
            Schedule(producer_consumer()).pack("t", "C.i").fuse("P.i", "C.i").shift("i", 1, "P")
        ),
        ViolationKind.ORDER,
        Cause.LOOP,
        2,
    ),
}


def seidel_with_copy() -> Kernel:
    """``S: A[i] = B[i - 1]`` and then, with the same i, ``T: B[i] = A[i]``."""
    build = KernelBuilder("ping_pong")
    n = build.parameter("N", minimum=2)
    a, b = build.inout("A", i32, (n,)), build.inout("B", i32, (n,))
    with build.loops(i=(1, n)) as i:
        with build.statement("S"):
            a[i] = b[i - 1] + 1
        with build.statement("T"):
            b[i] = a[i] + 1
    return build.kernel()


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal(name: str) -> None:
    make, what, cause, guilty = ILLEGAL[name]
    schedule = make()
    verdict = check(schedule)
    assert verdict.kind is VerdictKind.ILLEGAL
    assert verdict.checked.dependences == len(schedule.program.dependences)
    violation = verdict.violation
    assert violation is not None
    assert (violation.kind, violation.cause) == (what, cause)
    assert violation.offending_step is not None
    assert violation.offending_step.index == guilty
    assert not violation.in_kernel


def test_the_guilty_step_is_the_one_that_no_later_step_mends() -> None:
    schedule = (
        Schedule(producer_consumer(1))
        .fuse("P.i", "C.i")
        .shift("i", 1, "C")
        .split("i", 4)
        .reverse("io")
    )
    violation = check(schedule).violation
    assert violation is not None
    assert violation.offending_step is not None
    assert violation.offending_step.text == "reverse(loop='io')"
    assert violation.offending_step.location == schedule.locations[3]


def test_what_was_proved_is_counted() -> None:
    verdict = check(Schedule(matmul()).split("k", 4).pack("B", "ko"))
    assert verdict.checked.statements == 3
    assert verdict.checked.buffers == 1
    assert verdict.checked.accesses == 7
    assert verdict.checked.dependences > 5


def test_illegal_raises_with_the_explanation() -> None:
    verdict = check(Schedule(matmul()).reverse("k"))
    with pytest.raises(IllegalScheduleError, match="breaks a flow dependence on C") as caught:
        verdict.raise_if_refused()
    assert caught.value.verdict is verdict
    (note,) = caught.value.__notes__
    assert "schedule.condition()" in note
    assert "schedule.repairs()" in note


def test_no_repair_is_offered_for_a_kernel_that_is_wrong() -> None:
    build = KernelBuilder("outside")
    y = build.output("y", i32, 4)
    with build.loops(i=4) as i:
        y[i + 1] = 0
    with pytest.raises(IllegalScheduleError) as caught:
        check(Schedule(build.kernel())).raise_if_refused()
    assert not hasattr(caught.value, "__notes__")


def test_an_exceeded_quota_is_unknown_and_refused() -> None:
    verdict = check(Schedule(matmul()).split("k", 4).pack("B", "ko"), quota=100)
    assert verdict.kind is VerdictKind.UNKNOWN
    with pytest.raises(
        UnknownLegalityError, match="cannot prove the schedule legal: .* 100 operations"
    ) as caught:
        verdict.raise_if_refused()
    assert caught.value.verdict is verdict
    assert check(Schedule(matmul())).is_legal


def test_what_steps_have_made_is_judged_whatever_it_is() -> None:
    """Programs that no step makes, for each is careful; the checker does not rely on that."""
    program = Schedule(producer_consumer()).pack("t", "C.i").program
    assert find_violation(program) is None
    buffer = program.arrays["t_packed"]
    small = replace(buffer, shape=(*buffer.shape[: buffer.tile], Constant(0)))
    found = find_violation(replace(program, arrays={**program.arrays, "t_packed": small}))
    assert found is not None
    assert found.kind is ViolationKind.BOUNDS
    assert isinstance(program.tree, Sequence)
    without_consumer = replace(program, tree=program.tree.children[0])
    found = find_violation(without_consumer)
    assert found is not None
    assert found.kind is ViolationKind.ONCE


def test_a_step_that_spoils_the_storage_is_the_guilty_one() -> None:
    schedule = Schedule(windows()).promote("t", "i").distribute("k").distribute("i").reverse("S.k")
    violation = check(schedule).violation
    assert violation is not None
    assert violation.offending_step is not None
    assert violation.offending_step.index == 2
