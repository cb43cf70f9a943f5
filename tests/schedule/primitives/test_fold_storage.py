from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import executed, time_columns
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Constant, as_expression
from polysched.ir.expr.functions import cast
from polysched.ir.semantics.points import evaluate_many, points, values
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import (
    Cause,
    IllegalScheduleError,
    VerdictKind,
    ViolationKind,
)
from polysched.loops.verify.last_writer import last_writer_errors
from polysched.lower import compile
from polysched.schedule.core.program import Program
from polysched.schedule.primitives.fold_storage import FoldStorage
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.reverse import Reverse
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.split import Split
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.effort import cases
from tests.support.showing import before_and_after


def stages(n: kernels.Size = None) -> Kernel:
    """``P: t = 2 x + 1``, then ``C`` from three elements of ``t``."""
    build = KernelBuilder("stages")
    size = kernels.extent(build, "n", n)
    x, y = build.input("x", i32, (size + 2,)), build.output("y", i32, (size,))
    t = build.temporary("t", i32, (size + 2,))
    with build.loops(i=size + 2) as i, build.statement("P"):
        t[i] = 2 * x[i] + 1
    with build.loops(i=size) as i, build.statement("C"):
        y[i] = t[i] + 3 * t[i + 1] - t[i + 2]
    return build.kernel()


def fused(n: kernels.Size = None) -> Schedule:
    return Schedule(stages(n)).shift("C.i", 2).fuse("P.i", "C.i")


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    check_golden("schedule/fold_storage.txt", before_and_after(fused().fold_storage("t", "d0", 3)))


def test_stencil_stages() -> None:
    assert_agrees(fused().fold_storage("t", "d0", 3), *spread("n"))


def test_more_slots_than_needed() -> None:
    assert_agrees(fused().fold_storage("t", "d0", 4), *spread("n"))


@pytest.mark.parametrize(("size", "writer"), [(1, "P[1]"), (2, "P[2]")])
def test_too_few_slots(size: int, writer: str) -> None:
    verdict = check(fused().fold_storage("t", "d0", size))
    violation = verdict.violation
    assert violation is not None
    assert (violation.kind, violation.cause) == (ViolationKind.STORAGE, Cause.OVERWRITTEN)
    assert violation.witness.parameters == (("n", 1),)
    assert f"{writer} would overwrite t_folded[0] before C[0] reads it." in verdict.reason
    assert (
        f"fold_storage(array='t', dimension='d0', size={size}) lets a value in t_folded be "
        "overwritten while it is needed" in verdict.reason
    )


def test_a_later_step_mends_it() -> None:
    early = Schedule(stages()).fold_storage("t", "d0", 3)
    with pytest.raises(IllegalScheduleError, match="P\\[3\\] would overwrite t_folded\\[0\\]"):
        compile(early)
    assert_agrees(early.shift("C.i", 2).fuse("P.i", "C.i"), *spread("n"))


def test_a_later_step_breaks_it() -> None:
    schedule = fused().fold_storage("t", "d0", 3)
    apart = schedule.split("i", 4).reverse("ii")
    assert not check(apart).is_legal
    verdict = check(schedule.distribute("i"))
    assert verdict.violation is not None
    assert verdict.violation.offending_step is not None
    assert verdict.violation.offending_step.text.startswith("distribute")
    assert verdict.violation.cause is Cause.OVERWRITTEN


def test_two_values_in_the_opposite_order() -> None:
    kernel = kernels.chain()
    schedule = Schedule(kernel).fuse("P.i", "C.i").fuse("P.j", "C.j")
    once = schedule.fold_storage("t", "d1", 1).fold_storage("t_folded", "d0", 1, into="cell")
    assert_agrees(once, *spread("n", "m"))
    assert_agrees(schedule.reverse("i").fold_storage("t", "d0", 1), *spread("n", "m"))
    assert_agrees(schedule.fold_storage("t", "d0", 1).reverse("i"), *spread("n", "m"))


def test_an_order_that_nobody_can_judge_after_a_copy() -> None:
    schedule = Schedule(kernels.chain()).fuse("P.i", "C.i")
    copied = schedule.fold_storage("t", "d0", 1).pack("t_folded", "C.j")
    assert_agrees(copied, *spread("n", "m"))
    verdict = check(copied.reverse("i"))
    assert verdict.kind is VerdictKind.UNKNOWN
    assert "share memory since a fold_storage() before the copy" in verdict.reason


def test_slots_in_a_buffer_are_no_elements() -> None:
    """Both elements that ``S`` reads are in one slot when the producer's tile becomes a buffer."""
    build = KernelBuilder("neighbors")
    n = build.parameter("n", minimum=1)
    t, y = build.temporary("t", i32, (n + 1,)), build.output("y", i32, (n,))
    with build.loops(i=n + 1) as i, build.statement("P"):
        t[i] = cast(i, i32)
    with build.loops(i=n) as i, build.statement("S"):
        y[i] = t[i + 1] - t[i]
    schedule = (
        Schedule(build.kernel()).fold_storage("t", "d0", 1).compute_at("P", "S.i", recompute=True)
    )
    for one in (schedule, schedule.fold_storage("t_folded_at_i", "d0", 1, into="cell")):
        verdict = check(one)
        assert verdict.kind is VerdictKind.UNKNOWN
        assert "share memory since a fold_storage() before the copy" in verdict.reason


def test_contracted_twice_where_a_slot_is_read_and_written() -> None:
    """``P`` reads the slot that it writes, but not the element: no value is carried on there."""
    build = KernelBuilder("recurrence")
    x, y = build.input("x", i32, (12, 6)), build.output("y", i32, (6,))
    t = build.temporary("t", i32, (12, 6))
    with build.loops(i=3, j=6) as (i, j), build.statement("Z"):
        t[i, j] = x[i, j]
    with build.loops(i=(3, 12), j=6) as (i, j), build.statement("P"):
        t[i, j] = 2 * t[i - 3, j] + x[i, j]
    with build.loops(j=6) as j, build.statement("C"):
        y[j] = t[11, j]
    once = Schedule(build.kernel()).fold_storage("t", "d0", 3)
    assert_agrees(once)
    reason = check(once.fold_storage("t_folded", "d1", 2, into="small")).reason
    assert "P[11,2] would overwrite small[2,0] before C[0] reads it." in reason


def test_rows_in_turn() -> None:
    schedule = Schedule(kernels.blur()).compute_at("t", "C.i").fold_storage("t", "d0", 3)
    assert_agrees(schedule, *spread("n", "m"))
    assert not last_writer_errors(schedule, {"n": 7, "m": 4})
    assert not check(
        Schedule(kernels.blur()).compute_at("t", "C.i").fold_storage("t", "d0", 2)
    ).is_legal


def test_rows_in_turn_in_vectors() -> None:
    schedule = (
        Schedule(kernels.blur(11, 21))
        .compute_at("t", "C.i")
        .fold_storage("t", "d0", 3)
        .vectorize("P.j", 8)
        .vectorize("C.j", 8)
    )
    assert_agrees(schedule)
    assert schedule.program.arrays["t_folded"].shape == (Constant(3), Constant(21))


def test_unrolled_by_the_slots() -> None:
    schedule = fused().fold_storage("t", "d0", 3).split("i", 3).unroll("ii")
    assert_agrees(schedule, *spread("n"))


def test_lanes_of_one_slot() -> None:
    schedule = fused().fold_storage("t", "d0", 3).vectorize("i", 4)
    violation = check(schedule).violation
    assert violation is not None
    assert violation.kind in (ViolationKind.VECTOR, ViolationKind.STORAGE)
    assert check(fused().fold_storage("t", "d0", 8).vectorize("i", 4)).is_legal
    assert_agrees(fused().fold_storage("t", "d0", 8).vectorize("i", 4), *spread("n"))


@pytest.mark.parametrize("order", ["any", "exact"])
def test_a_reduction_carries_its_value_on(order: str) -> None:
    build = KernelBuilder("sums")
    n, m = build.parameter("n"), build.parameter("m")
    x, y = build.input("x", i32, (n, m)), build.output("y", i32, (n,))
    total = build.temporary("total", i32, (n,))
    with build.loops(i=n) as i:
        with build.statement("zero"):
            total[i] = 0
        with build.loops(j=m) as j, build.statement("add", order=order):
            total[i] += x[i, j]
        with build.statement("result"):
            y[i] = 3 * total[i]
    schedule = Schedule(build.kernel())
    assert_agrees(schedule.fold_storage("total", "d0", 1), *spread("n", "m"))
    apart = schedule.distribute("zero.i", after="zero").fold_storage("total", "d0", 1)
    assert (
        "zero[1] would overwrite total_folded[0] before result[0] reads it" in check(apart).reason
    )


def test_a_buffer_of_pack() -> None:
    schedule = Schedule(kernels.blur(9, 13)).pack("a", "P.i").fold_storage("a_packed", "d1", 2)
    assert not check(schedule).is_legal
    near = Schedule(kernels.blur(9, 13)).pack("a", "P.i").fold_storage("a_packed", "d1", 14)
    assert_agrees(near)


def test_promoted_afterwards() -> None:
    schedule = Schedule(kernels.blur(9, 13)).compute_at("t", "C.i").fold_storage("t", "d0", 3)
    assert_agrees(schedule.promote("t_folded", "C.i"))
    assert_agrees(schedule.split("C.i", 4).promote("t_folded", "io", into="rows"))


def test_a_small_extent_stays() -> None:
    schedule = Schedule(kernels.blur(2, 5)).fold_storage("t", "d1", 8)
    assert schedule.program.arrays["t_folded"].shape == (as_expression(2) + 2, Constant(5))
    assert_agrees(schedule)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (FoldStorage("tt", "d0", 2), "no array 'tt'; did you mean 't'?"),
        (FoldStorage("t", "d2", 2), "array 't' has no dimension 'd2'; known are 'd0'"),
        (
            FoldStorage("c", "d0", 2),
            "array 'c' is an output and keeps its shape; fold_storage takes a",
        ),
        (
            FoldStorage("t", "d0", 0),
            "the size of fold_storage('t') is 0; expected a positive integer",
        ),
        (FoldStorage("t", "d0", 2, "x"), "'x' cannot name the folded array 't': it is taken"),
    ],
)
def test_messages(step: FoldStorage, message: str) -> None:
    kernel = stages() if step.array == "t" else kernels.blur()
    with pytest.raises(ScheduleError) as caught:
        Schedule(kernel).then(step)
    assert message in str(caught.value)


# -- random stages, the verdict against running through the program -----------------------------


def random_stages(random: Random) -> Kernel:
    """Two or three stages over one temporary, in one to three sweeps; sizes are literals."""
    build = KernelBuilder("random_stages")
    size = random.randint(2, 5)
    x = build.input("x", i32, (size + 4,))
    t, y = build.temporary("t", i32, (size + 4,)), build.output("y", i32, (3, size))
    sweeps, stride = random.randint(1, 3), random.choice([1, 1, 2])
    with build.loops(s=sweeps) as s:
        with build.loops(i=size + 4) as i, build.statement("P"):
            t[i] = x[i]
        if random.randint(0, 2):
            start = random.randint(0, 2)
            order = random.choice(["any", "exact"])
            with (
                build.loops(i=(start, size + start, stride)) as i,
                build.statement("U", order=order),
            ):
                t[i] += x[i]
        if random.randint(0, 2):
            with build.loops(i=size) as i, build.statement("V"):
                t[i] = t[i + random.randint(1, 3)] + x[i]
        with build.loops(i=size) as i, build.statement("C"):
            y[s, i] = t[i + random.randint(0, 4)] - t[i + random.randint(0, 2)]
    return build.kernel()


def random_order(random: Random, schedule: Schedule) -> Schedule:
    names = list(schedule.kernel.statements)
    for _ in range(random.randint(1, 7)):
        one, two = random.choice(names), random.choice(names)
        number = len(schedule.steps)
        options: list[Step] = [
            Shift(f"{one}.i", random.randint(1, 4)),
            Fuse(f"{one}.i", f"{two}.i", "i"),
            Fuse(f"{one}.i", f"{two}.i", "i"),
            Fuse(f"{one}.i", f"{two}.i", "i"),
            Reverse(f"{one}.i"),
            Split(f"{one}.i", 2, (f"o{number}", f"i{number}")),
        ]
        try:
            schedule = schedule.then(random.choice(options))
        except ScheduleError:
            continue
    return schedule


def sources(program: Program, slots: int | None) -> list[Any]:
    """For each read of ``t``, in a fixed order of the instances, which write it sees.

    Args:
        program: the program in its order, not contracted.
        slots: elements that are equal modulo this number share memory; None: no two do.
    """
    tree = executed(program.tree)
    runs: list[tuple[tuple[int, ...], str, tuple[int, ...]]] = []
    for statement in program.statements.values():
        rows = points(statement.domain, {})
        columns = [
            np.full(len(rows), column) if isinstance(column, int) else values(column, rows, {})
            for column in time_columns(tree, statement.name)
        ]
        times = np.stack([*columns], axis=1).tolist()
        runs += [
            (tuple(time), statement.name, tuple(row))
            for time, row in zip(times, rows.tolist(), strict=True)
        ]
    memory: dict[int, Any] = {}
    seen = []
    for _, name, instance in sorted(runs):
        statement = program.statements[name]
        variables = dict(zip(statement.indices, instance, strict=True))
        for position, access in [*enumerate(statement.reads, 1), (0, statement.target)]:
            if access.array == "t":
                element = int(evaluate_many(access.subscripts[0], variables))
                slot = element if slots is None else element % slots
                if position:
                    seen.append((name, instance, position, memory.get(slot)))
                else:
                    memory[slot] = (name, instance)
    return sorted(seen, key=repr)


def test_the_last_step_is_judged_exactly() -> None:
    verdicts = []
    for seed in range(cases(12)):
        random = Random(seed)
        schedule = random_order(random, Schedule(random_stages(random)))
        if not check(schedule).is_legal:
            continue
        slots = random.randint(1, 7)
        keeps = sources(schedule.program, slots) == sources(schedule.program, None)
        verdict = check(schedule.fold_storage("t", "d0", slots))
        assert verdict.is_legal == keeps, (seed, verdict.reason)
        verdicts.append(keeps)
    assert {*verdicts} == {True, False}


def test_whenever_it_is_contracted_it_is_judged_exactly() -> None:
    verdicts = []
    for seed in range(cases(16)):
        random = Random(seed)
        first = random_order(random, Schedule(random_stages(random)))
        slots = random.randint(1, 7)
        schedule = random_order(random, first.fold_storage("t", "d0", slots))
        plain = first
        for step in schedule.steps[len(first.steps) + 1 :]:
            plain = plain.then(step)
        if not check(plain).is_legal:
            continue
        keeps = sources(plain.program, slots) == sources(plain.program, None)
        assert check(schedule).is_legal == keeps, seed
        verdicts.append(keeps)
    assert {*verdicts} == {True, False}


def test_threads_do_not_store_at_once_what_nobody_reads() -> None:
    build = KernelBuilder("unread")
    n = build.parameter("n")
    t = build.temporary("t", i32, (n,))
    with build.loops(i=n) as i, build.statement("S"):
        t[i] = 1
    schedule = Schedule(build.kernel()).fold_storage("t", "d0", 2)
    assert check(schedule).is_legal
    assert check(schedule.split("i", 2).parallel("ii")).is_legal
    verdict = check(schedule.parallel("i"))
    assert verdict.violation is not None
    assert verdict.violation.cause is Cause.THREADS
    assert verdict.violation.array == "t_folded"


def test_pairs_of_many_pieces_do_not_end_the_process() -> None:
    """Coalescing them with unknown integer divisions is a segmentation fault inside of isl."""
    build = KernelBuilder("pieces")
    n, m = build.parameter("N", minimum=0, maximum=4), build.parameter("M", minimum=1, maximum=4)
    a, b = build.output("A", i32, (14, 14)), build.input("B", i32, (14, 22))
    with build.loops(i=m, j=n) as (i, j):
        with build.statement("S0"):
            a[i, j] = 1
        with build.loops(k=(i, m)) as k, build.statement("S1", order="any"):
            a[i, j] *= b[(j + 1) % 3, (k + 1) % 3 + 8] - b[k, 2 * i + 6]
    schedule = Schedule(build.kernel()).pack("B", "S1.i", into="packed")
    assert schedule.fold_storage("packed", "d0", 3).program.folded
