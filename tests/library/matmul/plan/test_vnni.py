"""Products of small integers whose terms are multiplied in groups."""

from __future__ import annotations

from itertools import product as combinations

import numpy as np
import pytest

from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.expr.dtypes import DType, f32, i8, i16, i32, u8
from polysched.library.matmul.dispatch.call import matmul
from polysched.library.matmul.dispatch.compiled import product_kernel
from polysched.library.matmul.kernel.declare import Sizes, Stack, matmul_kernel
from polysched.library.matmul.kernel.epilogue import PLAIN
from polysched.library.matmul.kernel.operands import Stored, VnniLayout
from polysched.library.matmul.plan.planner import B_BLOCKS_OUTERMOST, plan
from polysched.library.matmul.plan.problem import Problem
from polysched.library.matmul.plan.vnni import vnni_layout_of
from polysched.library.matmul.schedule.build import matmul_schedule
from polysched.machine.load import load_machine
from tests.library.matmul.products import COMPUTED, TRANSPOSED, AnyArray
from tests.support.effort import covering, sampled

ENOUGH = Sizes(64, 64, 64)
MACHINES = {name: load_machine(name) for name in ("zen4", "skylake-avx512", "haswell-avx2")}
FOUR, TWO = VnniLayout(4, u8, shift=128), VnniLayout(2, i8)


def some(dtype: DType, *shape: int) -> AnyArray:
    """Numbers of all sizes, the first of the type, whose products are the largest, among them."""
    generator = np.random.default_rng(sum(shape))
    numbers = generator.integers(dtype.lowest, dtype.highest, shape, endpoint=True)
    extreme = generator.random(shape) < 0.3
    return np.where(extreme, dtype.lowest, numbers).astype(dtype.numpy())


def expected(a: AnyArray, b: AnyArray) -> AnyArray:
    """The sums, which wrap."""
    return np.matmul(a.astype("i8"), b.astype("i8")).astype("i4")


@pytest.mark.parametrize(
    ("types", "vnni"),
    [
        ((i8, u8), VnniLayout(4, u8)),
        ((u8, i8), VnniLayout(4, i8)),
        ((u8, u8), VnniLayout(4, i8, shift=-128)),
    ],
)
def test_bytes_of_either_sign_are_multiplied_as_they_are(
    types: tuple[DType, DType], vnni: VnniLayout
) -> None:
    a, b = (Stored(dtype=None if own == i8 else own) for own in types)
    problem = Problem(ENOUGH, i8, a=a, b=b)
    assert problem.types == types
    assert vnni_layout_of(problem, MACHINES["zen4"]) == vnni
    assert vnni_layout_of(problem, MACHINES["haswell-avx2"]) == VnniLayout(2, types[1])


@pytest.mark.parametrize(
    ("dtype", "machine", "vnni"),
    [
        (i8, "zen4", FOUR),
        (i8, "skylake-avx512", TWO),
        (i8, "haswell-avx2", TWO),
        (i16, "zen4", VnniLayout(2, i16)),
        (i16, "haswell-avx2", VnniLayout(2, i16)),
        (i32, "zen4", None),
        (f32, "zen4", None),
    ],
)
def test_the_instructions_of_the_machine_decide(
    dtype: DType, machine: str, vnni: VnniLayout | None
) -> None:
    assert vnni_layout_of(Problem(ENOUGH, dtype), MACHINES[machine]) == vnni


def test_a_copy_has_to_pay() -> None:
    zen4 = MACHINES["zen4"]
    costs = zen4.costs
    too_few = {"m": costs.vnni_rows - 1}, {"k": costs.vnni_terms - 1}
    for sizes in (ENOUGH._replace(**fewer) for fewer in too_few):
        assert vnni_layout_of(Problem(sizes, i8), zen4) is None
    few = ENOUGH._replace(m=costs.vnni_pair_rows - 1)
    assert vnni_layout_of(Problem(few, i8), zen4) == FOUR
    assert vnni_layout_of(Problem(few, i16), zen4) is None
    assert vnni_layout_of(Problem(ENOUGH, i8, a=COMPUTED), zen4) is None
    assert vnni_layout_of(Problem(ENOUGH, i8, b=COMPUTED), zen4) is None
    assert vnni_layout_of(Problem(ENOUGH, i8, accumulator=i8), zen4) is None


def test_a_stack_has_no_sums_of_rows() -> None:
    assert vnni_layout_of(Problem(ENOUGH._replace(batch=2), i8), MACHINES["zen4"]) == TWO


def test_rows_that_are_none_in_memory_are_copied() -> None:
    for a, is_copied in ((Stored(), False), (Stored(strides=(99, 1)), False), (TRANSPOSED, True)):
        found = vnni_layout_of(Problem(ENOUGH, i8, a=a), MACHINES["zen4"])
        assert found is not None
        assert found.copies_a == is_copied


KINDS = [
    ((66, 33, 18), False, False),
    ((73, 70, 63), True, False),
    ((65, 17, 127), False, True),
    ((100, 31, 300), True, True),
]


@covering(1, kind=KINDS, **{"machine, dtype": [*combinations(MACHINES, (i8, i16))]})
def test_values(dtype: DType, kind: tuple[tuple[int, int, int], bool, bool], machine: str) -> None:
    if MACHINES[machine].missing_on(load_machine(None)):
        pytest.skip("its code does not run here")
    (m, n, k), is_transposed_a, is_transposed_b = kind
    a, b = some(dtype, m, k), some(dtype, k, n)
    problem = Problem(Sizes(m, n, k), dtype, a=Stored(is_transposed_a), b=Stored(is_transposed_b))
    kernel = product_kernel(problem, (), PLAIN, 1, MACHINES[machine])
    found = kernel(
        np.ascontiguousarray(a.T if is_transposed_a else a),
        np.ascontiguousarray(b.T if is_transposed_b else b),
    )
    np.testing.assert_array_equal(found, expected(a, b))


@covering(
    1, dtype=[i8, i16], sizes=[(300, 310, 401), (16, 24, 9000), (128, 2000, 64)], threads=[3, 1]
)
def test_threads(dtype: DType, sizes: tuple[int, int, int], threads: int) -> None:
    """Parts of rows, of columns, of the sums; blocks of these too."""
    m, n, k = sizes
    a, b = some(dtype, m, k), some(dtype, k, n)
    np.testing.assert_array_equal(matmul(a, b, threads=threads), expected(a, b))


@pytest.mark.parametrize("dtype", [i8, i16], ids=str)
def test_finishes(dtype: DType) -> None:
    a, b = some(dtype, 70, 50), some(dtype, 50, 30)
    old, bias = some(i32, 70, 30), some(i32, 30)
    sums = expected(a, b)
    np.testing.assert_array_equal(matmul(a, b, old.copy(), beta=1), old + sums)
    np.testing.assert_array_equal(
        matmul(a, b, old.copy(), alpha=3, beta=-2, bias=bias, activation="relu"),
        np.maximum(0, 3 * sums - 2 * old + bias),
    )


@pytest.mark.parametrize("dtype", sampled([i8, i16], 2), ids=str)
def test_parts_of_matrices_and_stacks(dtype: DType) -> None:
    a, b = some(dtype, 3, 40, 100), some(dtype, 3, 50, 90)
    for left, right in (
        (a[0, :, 3:53], b[0]),
        (a[0, :, ::2], b[0, :, ::2]),
        (a[0, ::2, :50], b[0, :, 7:]),
        (a[:, :, :50], b),
        (a[1, :, :50], b),
        (a[..., 50:], b[2]),
        (a[..., :50], b[:, :, ::-1]),
    ):
        np.testing.assert_array_equal(matmul(left, right), expected(left, right))
    wide = np.zeros((40, 200), np.int32)
    matmul(a[0, :, :50], b[0], wide[:, 5:95])
    np.testing.assert_array_equal(wide[:, 5:95], expected(a[0, :, :50], b[0]))
    assert not wide[:, :5].any()
    assert not wide[:, 95:].any()


@pytest.mark.parametrize(("dtype", "instruction"), [(i8, "vpdpbusd"), (i16, "vpdpwssd")], ids=str)
def test_the_innermost_loop(dtype: DType, instruction: str) -> None:
    """One instruction for each sum, which reads what all lanes share, and a load for each vector of
    columns.
    """
    problem, machine = Problem(Sizes(96, 128, 256), dtype), MACHINES["zen4"]
    config = plan(problem, machine)
    kernel = matmul_kernel(96, 128, 256, dtype=dtype, vnni=vnni_layout_of(problem, machine))
    function, *_ = parse(matmul_schedule(kernel, config, machine).show("asm", machine))
    loop = hot_loop(function)
    assert loop is not None
    found = [one.mnemonic for one in loop.body if one.mnemonic == instruction]
    vectors = config.inner_n // 16
    assert len(found) == config.inner_m * vectors
    assert loop.counts.fma_broadcast + loop.counts.broadcasts * vectors == len(found)
    assert loop.counts.vector_loads <= vectors
    assert loop.counts.spills == loop.counts.shuffles == loop.counts.gathers == 0


def test_the_schedule_is_proved() -> None:
    for machine, dtype in combinations(MACHINES.values(), (i8, i16)):
        for a in (Stored(), TRANSPOSED):
            problem = Problem(Sizes(70, 60, 71), dtype, a=a, b=TRANSPOSED)
            vnni = vnni_layout_of(problem, machine)
            assert vnni is not None
            kernel = matmul_kernel(70, 60, 71, dtype=dtype, a=a, b=TRANSPOSED, vnni=vnni)
            assert matmul_schedule(kernel, plan(problem, machine), machine).check().is_legal


def test_a_far_b_whose_rows_meet_in_one_set_is_copied_in_long_pieces() -> None:
    zen4, far = MACHINES["zen4"], Sizes(16, 4096, 2048)
    config = plan(Problem(far, i8), zen4)
    assert (config.k_block, config.n_block, config.order) == (256, 1024, B_BLOCKS_OUTERMOST)
    for sizes, b in (
        (far._replace(n=4000), Stored()),
        (far._replace(m=200), Stored()),
        (far._replace(k=100), Stored()),
        (far, TRANSPOSED),
    ):
        assert plan(Problem(sizes, i8, b=b), zen4).n_block is None
    a, b = some(i8, 11, 600), some(i8, 600, 4096)
    np.testing.assert_array_equal(matmul(a, b, threads=1), expected(a, b))


@pytest.mark.parametrize(("rows", "is_far"), [(2048, True), (100, False)])
def test_rows_beyond_the_caches_are_prefetched_where_they_lie(rows: int, is_far: bool) -> None:
    machine = load_machine("skylake-avx512")
    sizes = Sizes(rows, 256, 2048)
    for a, terms in ((Stored(), 2048), (Stored(is_transposed=True), 2048), (Stored(), 2047)):
        problem = Problem(sizes._replace(k=terms), i16, a=a)
        layout = vnni_layout_of(problem, machine)
        assert layout is not None
        in_place = not layout.copies_a
        assert in_place is (a == Stored() and terms == 2048)
        assert plan(problem, machine, 1).prefetch_a is (is_far and in_place)


def test_a_stack_of_products() -> None:
    problem = Problem(Sizes(70, 20, 30, batch=2), i16)
    kernel = product_kernel(problem, (Stack(2, of_a=False),), PLAIN, 1)
    a, b = some(i16, 70, 30), some(i16, 2, 30, 20)
    np.testing.assert_array_equal(kernel(a, b), expected(a, b))
