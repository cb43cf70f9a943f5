from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import sub

import islpy as isl
import pytest

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.legality.check import check
from polysched.legality.checks.once import once_violation
from polysched.legality.verdicts.verdict import Cause, ViolationKind
from polysched.lower import lower
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees, spread
from tests.support.showing import before_and_after


def tiles(n: kernels.Size = None, m: kernels.Size = None, height: int = 4) -> Schedule:
    schedule = Schedule(kernels.blur(n, m)).tile(("C.i", "C.j"), (height, 8))
    return schedule.compute_at("t", at="jo", recompute=True)


def sharpened(n: kernels.Size = None, m: kernels.Size = None) -> Kernel:
    """Three stages: ``X`` blurs along a row, ``Y`` along a column, ``S`` sharpens by both."""
    build = KernelBuilder("sharpened")
    rows, columns = kernels.extent(build, "n", n, 1), kernels.extent(build, "m", m, 1)
    image = build.input("image", i32, (rows + 4, columns + 4))
    blur_x = build.temporary("blur_x", i32, (rows + 4, columns + 2))
    blur_y = build.temporary("blur_y", i32, (rows + 2, columns + 2))
    result = build.output("result", i32, (rows, columns))
    with build.loops(y=rows + 4, x=columns + 2) as (y, x), build.statement("X"):
        blur_x[y, x] = image[y, x] + image[y, x + 1] + image[y, x + 2]
    with build.loops(y=rows + 2, x=columns + 2) as (y, x), build.statement("Y"):
        blur_y[y, x] = blur_x[y, x] + blur_x[y + 1, x] + blur_x[y + 2, x]
    with build.loops(y=rows, x=columns) as (y, x), build.statement("S"):
        around = [blur_y[y + dy, x + dx] for dy in range(3) for dx in range(3)]
        result[y, x] = reduce(sub, around, 9 * blur_x[y + 1, x + 1])
    return build.kernel()


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    check_golden("schedule/recompute.txt", before_and_after(tiles()))


def test_tiles_with_a_halo() -> None:
    assert_agrees(tiles(), *spread("n", "m"))


@pytest.mark.parametrize("length", [1, 3, 4, 9])
def test_literal_sizes(length: int) -> None:
    assert_agrees(tiles(length, 11))


def test_halo_in_both_directions() -> None:
    schedule = (
        Schedule(sharpened())
        .tile(("S.y", "S.x"), (4, 8))
        .compute_at("blur_y", "xo", recompute=True)
        .compute_at("blur_x", "xo", recompute=True)
    )
    assert_agrees(schedule, *spread("n", "m"))
    names = [name for name in schedule.program.arrays if name.endswith("_at_xo")]
    assert names == ["blur_y_at_xo", "blur_x_at_xo"]
    vectors = schedule.vectorize("xi", 8).vectorize("X.x", 8).vectorize("Y.x", 8)
    assert_agrees(vectors, *spread("n", "m"))


def test_in_vectors_and_threads() -> None:
    schedule = tiles(height=8).vectorize("P.j", 8).vectorize("ji", 8).parallel("io")
    assert_agrees(schedule, *spread("n", "m", values=(1, 7, 8, 17)))
    reused = Schedule(kernels.blur()).split("C.i", 4).compute_at("t", "io").parallel("io")
    assert not check(reused).is_legal


def test_into_a_parallel_loop() -> None:
    schedule = Schedule(kernels.blur()).split("C.i", 4).parallel("io")
    assert_agrees(schedule.compute_at("t", "io", recompute=True), *spread("n", "m"))


def test_tiles_in_another_order() -> None:
    assert_agrees(tiles().reverse("io").reorder("jo", "io"), *spread("n", "m"))


def test_a_buffer_in_another_order() -> None:
    schedule = Schedule(kernels.blur()).tile(("C.i", "C.j"), (4, 8))
    schedule = schedule.compute_at("t", "jo", recompute=True, order=("d1", "d0"))
    buffer = schedule.program.arrays["t_at_jo"]
    assert buffer.dimensions[buffer.tile :] == ("d1", "d0")
    assert [str(extent) for extent in buffer.stored_shape] == ["8", "6"]
    assert_agrees(schedule.vectorize("P.i", 4), *spread("n", "m"))


def test_every_instance_of_a_consumer_is_a_tile() -> None:
    schedule = Schedule(kernels.blur()).compute_at("t", "C.j", recompute=True)
    assert_agrees(schedule, *spread("n", "m"))
    domain = schedule.program.statements["P"].domain
    expected = isl.Set(
        "[n, m] -> { P[at_i, at_j, i, j] : 0 <= at_i < n and at_i <= i <= at_i + 2 and j = at_j "
        "and 0 <= j < m }"
    )
    assert domain.is_equal(expected)


def test_again_at_an_inner_loop() -> None:
    schedule = tiles(height=8).split("ii", 2).compute_at("P", "iio", recompute=True)
    assert_agrees(schedule, *spread("n", "m"))
    origin = schedule.program.recomputed["P"]
    assert origin.range().is_equal(schedule.kernel.statements["P"].domain)


def test_contracted_in_a_tile() -> None:
    schedule = (
        tiles(height=8).shift("ii", 2).fuse("P.i", "ii", into="r").fold_storage("t_at_jo", "d0", 3)
    )
    assert_agrees(schedule, *spread("n", "m"))
    small = (
        tiles(height=8).shift("ii", 2).fuse("P.i", "ii", into="r").fold_storage("t_at_jo", "d0", 2)
    )
    violation = check(small).violation
    assert violation is not None
    assert violation.cause is Cause.OVERWRITTEN


def test_packed_and_promoted_afterwards() -> None:
    assert_agrees(tiles().pack("t_at_jo", "C.ii"), *spread("n", "m"))
    assert_agrees(tiles().pack("a", "jo").promote("c", "jo"), *spread("n", "m"))


def test_a_producer_that_reads_what_changes() -> None:
    build = KernelBuilder("sweeps")
    a = build.inout("a", i32, (20,))
    t = build.temporary("t", i32, (20,))
    with build.loops(s=3):
        with build.loops(i=20) as i, build.statement("P"):
            t[i] = 3 * a[i]
        with build.loops(i=(1, 19)) as i, build.statement("C"):
            a[i] = t[i - 1] - t[i] + t[i + 1]
    schedule = Schedule(build.kernel()).split("C.i", 4).compute_at("t", "io", recompute=True)
    verdict = check(schedule)
    assert verdict.violation is not None
    assert verdict.violation.kind is ViolationKind.ORDER
    assert verdict.violation.array == "a"
    reason = verdict.reason
    assert "P[0,1,0,3] reads a[3]    was at (s=0, i=3)    now at (s=0, io=1, i=3)" in reason


def test_a_temporary_written_in_every_sweep() -> None:
    build = KernelBuilder("sweeps")
    a, b = build.input("a", i32, (3, 20)), build.output("b", i32, (3, 18))
    t = build.temporary("t", i32, (20,))
    with build.loops(s=3) as s:
        with build.loops(i=20) as i, build.statement("P"):
            t[i] = 3 * a[s, i]
        with build.loops(i=18) as i, build.statement("C"):
            b[s, i] = t[i] - t[i + 1] + t[i + 2]
    schedule = Schedule(build.kernel()).split("C.i", 5).compute_at("t", "io", recompute=True)
    assert_agrees(schedule)
    assert_agrees(schedule.reorder("io", "s"))
    expected = isl.Set(
        "{ P[at_s, at_io, s, i] : 0 <= s < 3 and at_s = s and 0 <= at_io <= 3 and "
        "5 at_io <= i <= 5 at_io + 6 and i < 20 }"
    )
    assert schedule.program.statements["P"].domain.is_equal(expected)


@pytest.mark.parametrize("order", ["any", "exact"])
@pytest.mark.parametrize("declared", ["together", "apart"])
def test_a_reduction_with_its_first_value(order: str, declared: str) -> None:
    """Rows of a banded matrix times a vector, then sums of neighboring rows."""
    build = KernelBuilder("bands")
    n, m = build.parameter("n", minimum=1), build.parameter("m")
    x, y = build.input("x", i32, (n + 2, m)), build.output("y", i32, (n,))
    total = build.temporary("total", i32, (n + 2,))
    if declared == "together":
        with build.loops(i=n + 2) as i:
            with build.statement("zero"):
                total[i] = 1
            with build.loops(k=m) as k, build.statement("add", order=order):
                total[i] += x[i, k]
    else:
        with build.loops(i=n + 2) as i, build.statement("zero"):
            total[i] = 1
        with build.loops(k=m, i=n + 2) as (k, i), build.statement("add", order=order):
            total[i] += x[i, k]
    with build.loops(i=n) as i, build.statement("C"):
        y[i] = total[i] + total[i + 1] - total[i + 2]
    schedule = Schedule(build.kernel()).split("C.i", 4).compute_at("total", "io", recompute=True)
    assert check(schedule).is_legal, check(schedule).reason
    assert_agrees(schedule.parallel("io"), *spread("n", "m"))
    free = schedule.reverse("add.k")
    assert check(free).is_legal is (order == "any")


def test_two_writers_of_parts() -> None:
    schedule = Schedule(_two_writers()).split("C.i", 3).compute_at("t", "io", recompute=True)
    assert_agrees(schedule)


def test_a_lost_copy_and_a_strange_one() -> None:
    schedule = tiles(9, 9)
    program = schedule.program
    tree = executed(program.tree)
    assert once_violation(program, tree) is None
    statement = program.statements["P"]
    fewer = replace(statement, domain=statement.domain.subtract(isl.Set("{ P[a, b, 3, 2] }")))
    lost = once_violation(replace(program, statements={**program.statements, "P": fewer}), tree)
    assert lost is not None
    assert lost.cause is Cause.LOST
    assert lost.witness.source.name == "P[3,2]"
    strange = replace(
        program,
        recomputed={"P": program.recomputed["P"].subtract_domain(isl.Set("{ P[0, 0, 4, 2] }"))},
    )
    added = once_violation(strange, tree)
    assert added is not None
    assert added.cause is Cause.ADDED
    assert added.witness.source.name == "P[0,0,4,2]"


def test_one_copy_too_few_is_found_by_storage() -> None:
    """A value that only another tile computes is not there."""
    schedule = tiles(9, 9)
    program = schedule.program
    statement = program.statements["P"]
    fewer = replace(statement, domain=statement.domain.subtract(isl.Set("{ P[1, 0, 4, 2] }")))
    broken = replace(
        schedule,
        programs=(
            *schedule.programs[:-1],
            replace(
                program,
                statements={**program.statements, "P": fewer},
                dependences=tuple(
                    replace(one, relation=one.relation.intersect_domain(fewer.domain))
                    if one.source.statement == "P"
                    else one
                    for one in program.dependences
                ),
            ),
        ),
    )
    violation = check(broken).violation
    assert violation is not None
    assert violation.kind is ViolationKind.STORAGE


def test_the_witness_tells_both_times() -> None:
    schedule = tiles(9, 9).fuse("P.i", "ii", into="r")
    reason = check(schedule).reason
    assert "was at (i=" in reason
    assert "now at (io=" in reason


def test_buffers_are_small() -> None:
    loops = lower(tiles())
    assert [str(extent) for extent in loops.arrays["t_at_jo"].stored_shape] == ["6", "8"]


def test_floats_are_bit_equal() -> None:
    schedule = Schedule(kernels.blur(dtype=f32)).tile(("C.i", "C.j"), (8, 16))
    schedule = schedule.compute_at("t", "jo", recompute=True).vectorize("P.j", 16)
    assert_agrees(schedule.vectorize("ji", 16), *spread("n", "m"))


def test_messages() -> None:
    cases = [
        (
            Schedule(kernels.matmul()),
            ("init", "update.i"),
            "'init' writes 'c', an output: it must be written once only",
        ),
        (
            Schedule(_two_writers()),
            ("P", "C.i"),
            "array 't' is written by 'Q' too; recompute=True takes all that write an array at "
            "once: name the array, 't', instead of a statement",
        ),
        (
            Schedule(_running_sum()),
            ("P", "C.i"),
            "to compute what an iteration of loop 'C.i' reads of array 't', 'P' would need more "
            "from 'P' than the iteration reads itself; recompute=True takes producers that read",
        ),
        (
            Schedule(_two_readers()),
            ("P", "C.i"),
            "'D' reads array 't' outside of loop 'C.i', where its values would be gone; take a",
        ),
        (
            Schedule(kernels.blur()),
            ("P", "P.i"),
            "'P' is below loop 'P.i' already",
        ),
    ]
    for schedule, (producer, at), message in cases:
        with pytest.raises(ScheduleError) as caught:
            schedule.compute_at(producer, at, recompute=True)
        assert message in str(caught.value)


def _two_writers() -> Kernel:
    build = KernelBuilder("two_writers")
    t, y = build.temporary("t", i32, (8,)), build.output("y", i32, (8,))
    with build.loops(i=4) as i, build.statement("P"):
        t[i] = 1
    with build.loops(i=(4, 8)) as i, build.statement("Q"):
        t[i] = 2
    with build.loops(i=8) as i, build.statement("C"):
        y[i] = t[i]
    return build.kernel()


def _running_sum() -> Kernel:
    build = KernelBuilder("running_sum")
    t, y = build.temporary("t", i32, (9,)), build.output("y", i32, (8,))
    with build.loops(i=8) as i, build.statement("P"):
        t[i + 1] = t[i] + 1
    with build.loops(i=8) as i, build.statement("C"):
        y[i] = t[i + 1]
    return build.kernel()


def _two_readers() -> Kernel:
    build = KernelBuilder("two_readers")
    t = build.temporary("t", i32, (8,))
    y, z = build.output("y", i32, (8,)), build.output("z", i32, (8,))
    with build.loops(i=8) as i, build.statement("P"):
        t[i] = 1
    with build.loops(i=8) as i, build.statement("C"):
        y[i] = t[i]
    with build.loops(i=8) as i, build.statement("D"):
        z[i] = t[i]
    return build.kernel()
