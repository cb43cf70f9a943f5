"""Pictures word for word; what is in them is compared with enumeration in test_plane.py."""

from dataclasses import replace

import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import Sequence
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.reports.picture import WIDTH, picture
from polysched.legality.verdicts.verdict import Violation
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, producer_consumer, seidel
from tests.legality.test_check import seidel_with_copy


def violation_of(schedule: Schedule) -> Violation:
    found = check(schedule).violation
    assert found is not None
    return found


def drawn(schedule: Schedule) -> list[str]:
    return list(picture(schedule.program, violation_of(schedule)))


def wavefront(extent: int) -> Kernel:
    """``A[i, j] = A[i - 1, j + 1] + 1``, of fixed size."""
    build = KernelBuilder("wavefront")
    a = build.inout("A", i32, (extent, extent))
    with build.loops(i=(1, extent), j=extent - 1) as (i, j), build.statement("S"):
        a[i, j] = a[i - 1, j + 1] + 1
    return build.kernel()


def far(distance: int, extent: int) -> Kernel:
    """``A[i + distance] = A[i] + 1``."""
    build = KernelBuilder("far")
    a = build.inout("A", i32, (extent + distance,))
    with build.loops(i=extent) as i, build.statement("S"):
        a[i + distance] = a[i] + 1
    return build.kernel()


def test_both_ends_in_one_plane() -> None:
    assert drawn(Schedule(copy_shifted(1, -1)).reorder("j", "i")) == [
        "instances of S    order of the schedule",
        "i\\j  2  3         i\\j   2   3",
        "  2  .  A           2  1   3A",
        "  3  B  .           3  2B  4",
        "A = S[2,3], B = S[3,2]",
    ]


def test_a_part_of_a_large_domain() -> None:
    expected = [
        "instances of S             order of the schedule",
        "i\\j  0  1  2  3  4  ...    i\\j   0    1    2    3    4  ...",
        "  1  .  A  .  .  .           1  1    9A  17   25   33",
        "  2  B  .  .  .  .           2  2B  10   18   26   34",
        "  3  .  .  .  .  .           3  3   11   19   27   35",
        "  4  .  .  .  .  .           4  4   12   20   28   36",
        "  5  .  .  .  .  .           5  5   13   21   29   37",
        "  6  .  .  .  .  .           6  6   14   22   30   38",
        "  7  .  .  .  .  .           7  7   15   23   31   39",
        "  8  .  .  .  .  .           8  8   16   24   32   40",
        "A = S[1,1], B = S[2,0]",
    ]
    assert drawn(Schedule(wavefront(9)).reorder("j", "i")) == expected
    onwards = [*expected[:-1], "...                        ...", expected[-1]]
    assert drawn(Schedule(wavefront(10**6)).reorder("j", "i")) == onwards


def test_ends_far_apart() -> None:
    assert drawn(Schedule(far(900, 1000)).reverse("i")) == [
        "instances of S                 order of the schedule",
        "i  0  1  ...  900  901  ...    i   0   1  ...  900  901  ...",
        "   A  .         B    .            4A  3         2B   1",
        "A = S[0], B = S[900]",
    ]


def test_lanes_have_one_number() -> None:
    assert drawn(Schedule(copy_shifted(0, 1)).vectorize("j", 4)) == [
        "S at i = 2    order of the schedule",
        "j  2  3       j   2   3",
        "   A  B          1A  1B",
        "A = S[2,2], B = S[2,3]",
    ]


def test_iterations_of_a_parallel_loop_have_one_number() -> None:
    assert drawn(Schedule(copy_shifted(1, 0)).parallel("i"))[2:4] == [
        "   A  B          1A  1B",
        "A = S[2,2], B = S[3,2]",
    ]


def test_a_tile_that_runs_too_late() -> None:
    assert drawn(Schedule(seidel()).tile(("t", "i"), (4, 4))) == [
        "instances of S     order of the schedule",
        "t\\i  1  2  3  4    t\\i   1   2   3   4",
        "  0  .  .  .  A      0  1   2   3   7A",
        "  1  .  .  B  .      1  4   5   6B  8",
        "A = S[0,4], B = S[1,3]",
    ]


def test_two_statements_one_below_the_other() -> None:
    assert drawn(Schedule(producer_consumer(1)).fuse("P.i", "C.i")) == [
        "instances of P    order of the schedule",
        "i  0  1  2  3     i   0   1   2   3",
        "   .  A  .  .        1   3A  5   6",
        "instances of C    order of the schedule",
        "i  0  1           i   0   1",
        "   B  .              2B  4",
        "A = P[1], B = C[0]",
    ]


def test_the_order_of_statements_counts() -> None:
    assert drawn(Schedule(seidel_with_copy()).distribute("i")) == [
        "instances of T    order of the schedule",
        "i  1  2           i   1   2",
        "   A  .              3A  4",
        "instances of S    order of the schedule",
        "i  1  2           i   1   2",
        "   .  B              1   2B",
        "A = T[1], B = S[2]",
    ]


def test_a_copy_of_a_tile_with_a_long_title() -> None:
    schedule = Schedule(matmul()).promote("C", "update.j").shift("update.j", 1, "update")
    assert drawn(schedule) == [
        "update at i = 0    order of the schedule",
        "j\\k  0             j\\k   0",
        "  0  A               0  2A",
        "C_local_out at at_i = 0, C_...    order of the schedule",
        "at_j\\C_local_out_d0  0            at_j\\C_local_out_d0   0",
        "                  0  B                              0  1B",
        "A = update[0,0,0], B = C_local_out[0,0,0,0]",
    ]


def test_one_instance_alone_has_no_picture() -> None:
    schedule = Schedule(copy_shifted(3, 0))
    assert violation_of(schedule).witness.sink is None
    assert drawn(schedule) == []


def test_a_statement_in_no_loop_has_no_picture() -> None:
    build = KernelBuilder("total")
    s = build.inout("s", i32, ())
    x = build.input("x", i32, (4,))
    with build.statement("init"):
        s[()] = 0
    with build.loops(i=4) as i, build.statement("add"):
        s[()] = s[()] + x[i]
    schedule = Schedule(build.kernel())
    tree = schedule.program.tree
    assert isinstance(tree, Sequence)
    backwards = replace(schedule.program, tree=Sequence(tree.children[::-1]))
    found = violation_of(replace(schedule, programs=(schedule.program, backwards)))
    assert found.witness.source.instance == ()
    assert picture(backwards, found) == ()


def test_without_room_for_the_order_the_instances_stay() -> None:
    assert drawn(Schedule(far(2**40, 2**41)).reverse("i")) == [
        "instances of S",
        "i  0  1  ...  1099511627776  1099511627777  ...",
        "   A  .                   B              .",
        "A = S[0], B = S[1099511627776]",
    ]


def test_names_too_long_for_a_line_have_no_picture() -> None:
    build = KernelBuilder("long")
    a = build.inout("A", i32, (9,))
    with build.loops(**{"i" * WIDTH: (1, 9)}) as i, build.statement("S"):
        a[i] = a[i - 1]
    assert drawn(Schedule(build.kernel()).reverse("i" * WIDTH)) == []


def test_a_domain_that_takes_isl_too_long_has_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Schedule(wavefront(9)).reorder("j", "i")
    found = violation_of(schedule)
    monkeypatch.setattr("polysched.legality.reports.picture.QUOTA", 1)
    assert picture(schedule.program, found) == ()
