from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.repairs.repair_vector import distributed, fewer_lanes, other_loops
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul
from tests.legality.repairing import case_of


def sum_and_scale() -> Kernel:
    """``S``, a prefix sum that no vector can compute, and ``T``, which doubles it."""
    build = KernelBuilder("sum_and_scale")
    n = build.parameter("n", minimum=1)
    s, t = build.inout("s", i32, (n + 1,)), build.output("t", i32, (n + 1,))
    with build.loops(i=(1, n + 1)) as i:
        with build.statement("S"):
            s[i] = s[i - 1] + s[i]
        with build.statement("T"):
            t[i] = 2 * s[i]
    return build.kernel()


def test_lanes_are_halved() -> None:
    edits = fewer_lanes(case_of(Schedule(copy_shifted(0, 1)).vectorize("j", 16, into="lane")))
    assert [edit.inserted for edit in edits] == [
        (Vectorize("j", lanes, "lane"),) for lanes in (8, 4, 2)
    ]


def test_two_lanes_cannot_be_halved() -> None:
    assert fewer_lanes(case_of(Schedule(copy_shifted(0, 1)).vectorize("j", 2))) == []


def test_other_loops_from_the_inside_out() -> None:
    edits = other_loops(case_of(Schedule(matmul()).vectorize("k", 8)))
    assert [edit.inserted for edit in edits] == [
        (Vectorize("update.j", 8),),
        (Vectorize("update.i", 8),),
    ]


def test_only_the_statement_that_allows_it_becomes_a_vector() -> None:
    (edit,) = distributed(case_of(Schedule(sum_and_scale()).vectorize("i", 8)))
    assert edit.inserted == (Distribute("i"), Vectorize("T.i", 8))
    assert edit.removed == 1


def test_nothing_to_distribute() -> None:
    assert distributed(case_of(Schedule(copy_shifted(0, 1)).vectorize("j", 4))) == []


def test_other_steps_are_none_of_its_business() -> None:
    case = case_of(Schedule(copy_shifted(1, -1)).reorder("j", "i"))
    assert fewer_lanes(case) == []
    assert other_loops(case) == []
    assert distributed(case) == []


def test_outer_loops_for_threads_first() -> None:
    edits = other_loops(case_of(Schedule(matmul()).parallel("k")))
    assert [edit.inserted for edit in edits] == [(Parallel("update.i"),), (Parallel("update.j"),)]


def test_only_the_statement_that_allows_it_is_shared_among_threads() -> None:
    (edit,) = distributed(case_of(Schedule(sum_and_scale()).parallel("i")))
    assert edit.inserted == (Distribute("i"), Parallel("T.i"))
