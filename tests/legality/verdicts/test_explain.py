"""The texts that a refused schedule answers with, word for word."""

import re

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.check import check
from polysched.legality.verdicts.explain import describe
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, interrupted_sums, matmul, windows
from tests.legality.test_check import seidel_with_copy


def explanation(schedule: Schedule) -> list[str]:
    """The lines of the explanation, the place of the offending step as ``(FILE)``."""
    text = check(schedule).reason
    return re.sub(r"\(\S*test_explain\.py:\d+\)", "(FILE)", text).splitlines()


def test_a_loop_that_runs_the_wrong_way() -> None:
    assert explanation(Schedule(copy_shifted(1, -1)).reorder("j", "i")) == [
        "illegal: reorder(order=('j', 'i')) breaks a flow dependence on A    (FILE)",
        "  with N = 5, M = 5:",
        "  S[2,3] writes A[2,3]    was at (i=2, j=3)    now at (j=3, i=2)",
        "  S[3,2] reads A[2,3]     was at (i=3, j=2)    now at (j=2, i=3)",
        "  The program runs S[2,3] first, the schedule S[3,2]: loop j runs 2 before 3.",
    ]


def test_statements_in_the_wrong_order() -> None:
    assert explanation(Schedule(seidel_with_copy()).distribute("i")) == [
        "illegal: distribute(loop='i') breaks a flow dependence on B    (FILE)",
        "  with N = 3:",
        "  T[1] writes B[1]    was at (i=1)    now at (i=1)",
        "  S[2] reads B[1]     was at (i=2)    now at (i=2)",
        "  The program runs T[1] first, the schedule S[2]: statement S now stands before T.",
    ]


def test_lanes_that_need_each_other() -> None:
    assert explanation(Schedule(copy_shifted(0, 1)).vectorize("j", 4)) == [
        "illegal: vectorize(loop='j', lanes=4) puts both ends of a flow dependence on A into one "
        "vector    (FILE)",
        "  with N = 4, M = 5:",
        "  S[2,2] writes A[2,2]    was at (i=2, j=2)    now at (i=2, j=0, jv=2)",
        "  S[2,3] reads A[2,2]     was at (i=2, j=3)    now at (i=2, j=0, jv=3)",
        "  Lanes 2 and 3 of vector loop jv run together, all reads before all writes: S[2,3] reads "
        "A[2,2] before S[2,2] has written it.",
    ]


def test_lanes_of_a_free_reduction() -> None:
    assert explanation(Schedule(matmul("any")).vectorize("k", 8))[-1] == (
        "  Lanes 0 and 1 of vector loop kv run together: the order of the reduction is free, but "
        "no two of its instances may update C[0,0] at once."
    )


def test_two_tiles_in_one_memory() -> None:
    schedule = Schedule(matmul()).promote("C", "update.j").vectorize("update.j", 4)
    assert explanation(schedule) == [
        "illegal: vectorize(loop='update.j', lanes=4) breaks the lifetime of buffer C_local    "
        "(FILE)",
        "  with N = 2:",
        "  update[0,0,0] reads C_local[0,0] of tile (0, 0)           was at (i=0, j=0, k=0)    now "
        "at (i=0, j=0, k=0, jv=0)",
        "  C_local_in[0,1,0,1] writes C_local[0,0] of tile (0, 1)                              now "
        "at (i=0, j=0, d0=0, d1=0, jv=1)",
        "  Buffer C_local has memory for one tile at a time: C_local_in[0,1,0,1] overwrites "
        "C_local[0,0] for tile (0, 1) before update[0,0,0] has read it for tile (0, 0).",
    ]


def test_all_tiles_at_once() -> None:
    schedule = Schedule(windows()).promote("t", "i").distribute("k").distribute("i")
    assert explanation(schedule) == [
        "illegal: distribute(loop='i') breaks the lifetime of buffer t_local    (FILE)",
        "  with N = 2:",
        "  T[0,0] reads t_local[0,0] of tile (0)     was at (i=0, k=0)    now at (i=0, k=0)",
        "  S[1,0] writes t_local[0,0] of tile (1)    was at (i=1, k=0)    now at (i=1, k=0)",
        "  Buffer t_local has memory for one tile at a time: S[1,0] overwrites t_local[0,0] for "
        "tile (1) before T[0,0] has read it for tile (0).",
    ]


def test_an_addition_that_is_lost() -> None:
    assert explanation(interrupted_sums())[1:] == [
        "  with n = 2:",
        "  y_local_in[0,1] reads y[1]    now at (t=1)",
        "  y_local_in[1,1] reads y[1]    now at (t=2)",
        "  Both tiles add to the element; y_local_in[1,1] reads it before what y_local_in[0,1] has "
        "read is written back, and the other way round: one addition is lost.",
    ]


def test_a_copy_has_no_place_in_the_program() -> None:
    schedule = Schedule(matmul()).promote("C", "update.j").shift("update.j", 1, "update")
    lines = explanation(schedule)
    assert lines[3] == (
        "  C_local_out[0,0,0,0] reads C_local[0,0] of tile (0, 0)                              "
        "now at (i=0, j=0, d0=0, d1=0)"
    )
    assert lines[4] == (
        "  update[0,0,0] must run before C_local_out[0,0,0,0], which the schedule runs first: loop "
        "j runs 0 before 1."
    )


def test_both_lanes_write() -> None:
    build = KernelBuilder("last")
    n = build.parameter("N", minimum=1)
    a = build.output("A", i32, (n,))
    with build.loops(i=n) as i, build.statement("S"):
        a[i // 2] = 1
    assert explanation(Schedule(build.kernel()).vectorize("i", 4)) == [
        "illegal: vectorize(loop='i', lanes=4) puts both ends of an output dependence on A into "
        "one vector    (FILE)",
        "  with N = 2:",
        "  S[0] writes A[0]    was at (i=0)    now at (i=0, iv=0)",
        "  S[1] writes A[0]    was at (i=1)    now at (i=0, iv=1)",
        "  Lanes 0 and 1 of vector loop iv run together: both write A[0], and which of the two "
        "stays is left to chance.",
    ]


def test_an_occurrence_in_a_line() -> None:
    violation = check(Schedule(copy_shifted(1, -1)).reorder("j", "i")).violation
    assert violation is not None
    assert describe(violation.witness.source) == (
        "S[2,3] writes A[2,3], was at (i=2, j=3), now at (j=3, i=2)"
    )
