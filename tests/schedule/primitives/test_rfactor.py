import random
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from polysched.errors import ScheduleError
from polysched.fuzz.judge.enumeration import keeps_order
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64, i8, i32, i64, u8, u64
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.functions import maximum, minimum
from polysched.legality.check import check
from polysched.legality.checks.order import keeps
from polysched.legality.verdicts.verdict import Cause
from polysched.lower import compile
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.analyzed import as_declared, assert_dependences_are_those_of_a_new_analysis
from tests.support.differential import NO_CACHE, assert_agrees, spread
from tests.support.effort import cases, covering
from tests.support.showing import before_and_after

SIZES = (0, 1, 4, 7, 8, 9)

OPERATORS: dict[str, Callable[[Expression, Expression], Expression]] = {
    "sum": lambda old, new: old + new,
    "difference": lambda old, new: old - new,
    "product": lambda old, new: old * new,
    "smallest": minimum,
    "largest": maximum,
}


def dot(dtype: DType = f32, order: str | None = "any", n: kernels.Size = None) -> Kernel:
    """``S: r = r + x[k] * y[k]``, started with 0."""
    build = KernelBuilder("dot")
    size = kernels.extent(build, "n", n)
    x, y = build.input("x", dtype, (size,)), build.input("y", dtype, (size,))
    result = build.output("r", dtype, ())
    with build.statement("zero"):
        result[()] = 0
    with build.loops(k=size) as k, build.statement("S", order=order):
        result[()] += x[k] * y[k]
    return build.kernel()


def rows(operator: str = "sum", dtype: DType = i32, *, triangular: bool = False) -> Kernel:
    """``S: r[i] = r[i] op x[i, k]``; triangular: ``k <= i``."""
    build = KernelBuilder("rows")
    n, m = build.parameter("n"), build.parameter("m")
    x, result = build.input("x", dtype, (n, n if triangular else m)), build.inout("r", dtype, (n,))
    end = Index("i") + 1 if triangular else m
    with build.loops(i=n, k=end) as (i, k), build.statement("S", order="any"):
        result[i] = OPERATORS[operator](result[i], x[i, k])
    return build.kernel()


def lanes(kernel: Kernel, count: int = 4) -> Schedule:
    """The loop k split, its lanes outside: what a vector of accumulators needs."""
    return Schedule(kernel).split("k", count).reorder("ki", "ko")


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(rows()).split("k", 8).rfactor("S", "ko")
    check_golden("schedule/rfactor.txt", before_and_after(schedule))


def test_loops_of_a_vector_of_accumulators(check_golden: Callable[[str, str], None]) -> None:
    schedule = lanes(dot(), 16).rfactor("S", "ki").vectorize("ki", 16)
    check_golden("schedule/rfactor_lanes.txt", before_and_after(schedule))


def test_lanes_are_legal_afterwards() -> None:
    before = check(lanes(dot()).vectorize("ki", 4))
    assert before.violation is not None
    assert before.violation.cause is Cause.REDUCTION_LANES
    assert check(lanes(dot()).rfactor("S", "ki").vectorize("ki", 4)).is_legal


def test_threads_are_legal_afterwards() -> None:
    split = Schedule(dot()).split("k", 8)
    before = check(split.parallel("ko"))
    assert before.violation is not None
    assert before.violation.cause is Cause.REDUCTION_THREADS
    assert check(split.rfactor("S", "ko").parallel("ko")).is_legal
    assert check(split.parallel("ko").rfactor("S", "ko")).is_legal


def test_the_combination_is_a_reduction_too() -> None:
    schedule = Schedule(dot()).split("k", 8).rfactor("S", "ko")
    verdict = check(schedule.parallel("each_ko"))
    assert verdict.violation is not None
    assert verdict.violation.cause is Cause.REDUCTION_THREADS
    assert check(schedule.reverse("each_ko")).is_legal


@pytest.mark.parametrize(
    ("operator", "dtype"),
    [
        *product(["sum", "difference", "product"], [u8, f32]),
        # Their neutral elements differ from type to type.
        *product(["smallest", "largest"], [i8, u8, i64, u64, f32, f64]),
    ],
    ids=str,
)
def test_operators(operator: str, dtype: DType) -> None:
    generator = np.random.default_rng(0)
    schedule = lanes(rows(operator, dtype)).rfactor("S", "ki").vectorize("ki", 4)
    for sizes in ({"n": 3, "m": 11}, {"n": 2, "m": 1}, {"n": 2, "m": 0}):
        shape = (sizes["n"], sizes["m"])
        if dtype.is_float:
            given = generator.choice([-2.0, -1.0, 1.0, 2.0], shape).astype(dtype.numpy())
        else:
            limits = np.iinfo(np.dtype(dtype.numpy()))
            given = generator.integers(limits.min, limits.max, shape, dtype.numpy(), endpoint=True)
        assert_agrees(schedule, sizes, given={"x": given})


@pytest.mark.parametrize("operator", ["smallest", "largest"])
def test_extremes_of_floats(operator: str) -> None:
    """Infinities and NaN, and rows in which a partial result is never updated."""
    schedule = lanes(rows(operator, f32)).rfactor("S", "ki").vectorize("ki", 4)
    x = np.array([[np.inf] * 3, [-np.inf] * 3, [1, np.nan, 2], [-0.0, 5, -7]], np.float32)
    for start in (np.inf, -np.inf, 1.5):
        given = {"x": x, "r": np.full(4, start, np.float32)}
        assert_agrees(schedule, {"n": 4, "m": 3}, given=given)


def test_the_sign_of_a_zero_survives() -> None:
    schedule = lanes(rows("sum", f32)).rfactor("S", "ki")
    result = np.array([-0.0], np.float32)
    compile(schedule, cache=NO_CACHE)(x=np.full((1, 5), -0.0, np.float32), r=result, n=1, m=5)
    assert np.signbit(result[0])


@pytest.mark.parametrize("operator", ["sum", "largest"])
@pytest.mark.parametrize("count", [4, 16])
def test_floats_against_numpy(operator: str, count: int) -> None:
    generator = np.random.default_rng(count)
    x = generator.standard_normal((3, 1003)).astype(np.float32)
    result = np.full(3, 0 if operator == "sum" else -np.inf, np.float32)
    schedule = lanes(rows(operator, f32), count).rfactor("S", "ki").vectorize("ki", count)
    compile(schedule, cache=NO_CACHE)(x=x, r=result, n=3, m=1003)
    expected = x.astype(np.float64).sum(1) if operator == "sum" else x.max(1)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("loop", ["ko", "ki", "i"])
@pytest.mark.parametrize("triangular", [False, True])
def test_every_loop(loop: str, triangular: bool) -> None:
    schedule = Schedule(rows(triangular=triangular)).split("k", 4).rfactor("S", loop)
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


@covering(1, loop=["update.i", "update.j", "lo", "li"], triangular=[False, True])
def test_matrix_product(loop: str, triangular: bool) -> None:
    schedule = Schedule(kernels.matmul(triangular=triangular)).split("l", 4).rfactor("update", loop)
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    names = ("m", "n") if triangular else ("m", "n", "k")
    assert_agrees(schedule, *spread(*names, values=(0, 1, 5, 8)))


@pytest.mark.parametrize("triangular", [False, True])
def test_matrix_product_in_chunks_of_the_depth(triangular: bool) -> None:
    """The loop outermost, the loops that index the result inside, a thread for each chunk."""
    schedule = Schedule(kernels.matmul(triangular=triangular))
    schedule = schedule.reorder("l", "update.i", "update.j").split("l", 4)
    schedule = schedule.rfactor("update", "lo")
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    names = ("m", "n") if triangular else ("m", "n", "k")
    schedule = schedule.vectorize("update.j", 4).vectorize("update_init.d1", 4)
    assert_agrees(schedule.parallel("lo"), *spread(*names, values=(0, 1, 5, 8)))


def test_lanes_side_by_side() -> None:
    schedule = Schedule(rows()).split("i", 2).split("k", 4).reorder("io", "ki", "ko", "ii")
    schedule = schedule.rfactor("S", "ki", order=("d0", "each_ki"))
    assert [str(one) for one in schedule.program.arrays["r_partial"].stored_shape] == ["2", "4"]
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    schedule = schedule.vectorize("ki", 4).unroll("S.ii")
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


def test_two_reductions_in_one_loop() -> None:
    schedule = Schedule(kernels.reductions()).split("j", 4).reorder("ji", "jo")
    schedule = schedule.rfactor("add", "ji").rfactor("compare", "ji")
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert_agrees(schedule.vectorize("ji", 4), *spread("n", "m", values=SIZES))


def chunks_and_lanes(length: int | None = None) -> Schedule:
    schedule = Schedule(dot(i32, n=length)).split("k", 16).split("ki", 4, ("kr", "kl"))
    schedule = schedule.reorder("kl", "kr").rfactor("S", "ko", into="chunk")
    return schedule.rfactor("S", "kl", into="lane")


def test_chunks_and_in_them_lanes() -> None:
    schedule = chunks_and_lanes()
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert set(schedule.program.statements) == {
        *("zero", "S", "chunk_init", "chunk_combine", "lane_init", "lane_combine")
    }
    assert_agrees(schedule.vectorize("kl", 4), *spread("n", values=(0, 1, 15, 16, 17, 33)))


@pytest.mark.parametrize("length", [1, 16, 33, 50])
def test_chunks_for_threads_and_in_them_lanes(length: int) -> None:
    assert_agrees(chunks_and_lanes(length).vectorize("kl", 4).parallel("ko"))


def test_combination_in_a_tree() -> None:
    schedule = Schedule(dot(i32)).split("k", 2).rfactor("S", "ko").split("each_ko", 4)
    schedule = schedule.rfactor("S_combine", "each_koo", into="quarter")
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert_agrees(
        schedule.parallel("ko").parallel("each_koo"), *spread("n", values=(0, 1, 7, 8, 33))
    )


def test_reduction_into_a_buffer() -> None:
    schedule = Schedule(rows()).split("k", 4).promote("r", "i").rfactor("S", "ko")
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert_agrees(schedule.parallel("ko"), *spread("n", "m", values=SIZES))


def test_partial_results_of_partial_results_have_dimensions_of_their_own() -> None:
    schedule = Schedule(dot()).rfactor("S", "k", into="first").rfactor("S", "k", into="second")
    assert schedule.program.arrays["second"].dimensions == ("each_k_2", "each_k")
    assert_agrees(schedule, *spread("n"))


def test_partial_results_in_registers() -> None:
    schedule = lanes(rows()).rfactor("S", "ki").promote("r_partial", "ki").vectorize("ki", 4)
    assert not check(schedule).is_legal  # lanes share what lives for one iteration
    schedule = lanes(rows()).rfactor("S", "ki").vectorize("ki", 4).unroll("each_ki")
    assert_agrees(schedule, *spread("n", "m", values=SIZES))


def test_stepped_loop() -> None:
    build = KernelBuilder("stepped")
    n = build.parameter("n")
    x, result = build.input("x", i32, (n,)), build.inout("r", i32, ())
    with build.loops(k=(1, n, 3)) as k, build.statement("S", order="any"):
        result[()] += x[k]
    schedule = Schedule(build.kernel()).rfactor("S", "k")
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert_agrees(schedule.parallel("k"), *spread("n", values=SIZES))


def test_a_reader_inside_the_loop_would_see_a_partial_sum() -> None:
    build = KernelBuilder("running")
    n = build.parameter("n")
    x, y, total = (
        build.input("x", i32, (n,)),
        build.output("y", i32, (n,)),
        build.inout("t", i32, ()),
    )
    with build.loops(k=n) as k:
        with build.statement("S", order="any"):
            total[()] += x[k]
        with build.statement("T"):
            y[k] = total[()]
    verdict = check(Schedule(build.kernel()).rfactor("S", "k"))
    assert verdict.violation is not None
    assert verdict.violation.cause is Cause.SEQUENCE
    assert "S_combine" in verdict.reason


def test_further_orders_are_judged_as_enumeration_judges_them() -> None:
    """What the translated dependences demand is what the program's own instances demand."""
    start = Schedule(rows(triangular=True)).split("k", 2).reorder("ki", "ko").rfactor("S", "ki")
    declared = as_declared(start.program)
    kept = []
    for seed in range(cases(12)):
        schedule = _with_random_steps(start, random.Random(seed))
        tree = executed(schedule.program.tree)
        kept.append(keeps(tree, schedule.program.dependences))
        really = all(keeps_order(declared, tree, {"n": n, "m": 3}) for n in (1, 3, 6))
        assert kept[-1] is really, schedule.trace()
    assert 1 < sum(kept) < len(kept) - 1


def _with_random_steps(schedule: Schedule, source: random.Random) -> Schedule:
    steps: list[Callable[[Schedule], Schedule]] = [
        lambda one: one.vectorize("S.ki", 2),
        lambda one: one.vectorize("S.ko", 2),
        lambda one: one.vectorize("each_ki", 2),
        lambda one: one.reverse("S.ko"),
        lambda one: one.reverse("S.ki"),
        lambda one: one.reverse("each_ki"),
        lambda one: one.fuse("S.ki", "each_ki", "f"),
        lambda one: one.distribute("ki"),
        lambda one: one.distribute("i"),
        lambda one: one.shift("f", source.choice([-1, 1]), "S_combine"),
        lambda one: one.reorder("ko", "S.ki"),
    ]
    for _ in range(source.randint(1, 4)):
        try:
            schedule = source.choice(steps)(schedule)
        except ScheduleError:
            continue
    return schedule


def test_order_of_the_program() -> None:
    expected = r"reduction 'S' must combine in the program's order.*declare it with order=\"any\""
    with pytest.raises(ScheduleError, match=expected):
        Schedule(dot(order="exact")).rfactor("S", "k")


def test_no_reduction() -> None:
    expected = r"'init' is not a reduction: expected 'c\[i, j\] = c\[i, j\] op e' with op one"
    with pytest.raises(ScheduleError, match=expected):
        Schedule(kernels.matmul()).rfactor("init", "j")


def test_unknown_statement() -> None:
    with pytest.raises(ScheduleError, match="no statement 'update2'; did you mean 'update'"):
        Schedule(kernels.matmul()).rfactor("update2", "l")


def test_unknown_loop() -> None:
    with pytest.raises(ScheduleError, match=r"no loop 'update.x'; did you mean 'update.l'"):
        Schedule(kernels.matmul()).rfactor("update", "x")


def test_loop_of_another_statement() -> None:
    with pytest.raises(ScheduleError, match=r"statement 'update' is not in loop 'init.i'"):
        Schedule(kernels.matmul()).rfactor("update", "init.i")


def test_names_taken() -> None:
    schedule = Schedule(dot()).split("k", 4).rfactor("S", "ko")
    with pytest.raises(ScheduleError, match="statement name 'S_init' is taken; pass another with"):
        schedule.rfactor("S", "ki")
    with pytest.raises(ScheduleError, match="'x' cannot name the buffer of array 'r'"):
        Schedule(dot()).rfactor("S", "k", into="x")


def test_a_buffer_made_inside_the_loop() -> None:
    schedule = Schedule(rows()).split("k", 4).promote("r", "ko")
    expected = "loop 'S.ko' touches several tiles of buffer 'r_local', one for each 'at_ko'"
    with pytest.raises(ScheduleError, match=expected):
        schedule.rfactor("S", "ko")


def test_a_combination_is_cut_again_in_loops_of_one_name() -> None:
    """The dimension of the result and the loop around the reduction are both named ``i``."""
    build = KernelBuilder("sums")
    x = build.input("x", i32, (5, 64))
    total = build.output("total", i32, (5,), dimensions="i")
    with build.loops(i=5) as i, build.statement("init"):
        total[i] = 0
    with build.loops(i=5, k=64) as (i, k), build.statement("S", order="any"):
        total[i] += x[i, k]
    schedule = (
        Schedule(build.kernel())
        .split("k", 16, into=("kv", "lane"))
        .reorder("lane", "kv")
        .rfactor("S", "lane", order=("i", "each_lane"))
        .split("S_combine.each_lane", 4, into=("p", "q"))
        .reorder("q", "p")
        .rfactor("S_combine", "q", into="f")
    )
    assert check(schedule).is_legal
    assert_agrees(schedule)
