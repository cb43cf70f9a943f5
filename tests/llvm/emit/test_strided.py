"""Code for arrays with strides: the right elements, nothing between them, vectors of neighbors."""

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import ALL_DTYPES, DType, boolean, f32
from polysched.ir.expr.expressions import Operand
from polysched.llvm.emit.module import emit_module
from polysched.lower import lower, show
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees, spread
from tests.support.effort import cases
from tests.support.strided import plane, product, rows_of_sums

MACHINE = load_machine("znver5")


def sizes(*values: int) -> list[dict[str, int]]:
    """Sizes of `product` with some gap behind every row."""
    return [
        {**size, "lda": size["terms"] + 3, "ldb": size["terms"], "ldc": size["n"] + 5}
        for size in spread("m", "n", "terms", values=values)
    ]


@pytest.mark.parametrize("accumulate", [False, True])
def test_a_tile_in_registers(accumulate: bool) -> None:
    schedule = Schedule(product(accumulate=accumulate))
    schedule = schedule.split("update.i", 2, into=("io", "ii")).vectorize("update.j", 8)
    schedule = schedule.reorder("io", "update.j", "k", "ii").unroll("ii")
    assert_agrees(schedule, *sizes(1, 4, 8, 9))


def test_lanes_that_are_columns_of_a_row_major_array() -> None:
    schedule = Schedule(product()).vectorize("update.i", 8).vectorize("start.i0", 8)
    assert_agrees(schedule, *sizes(1, 7, 8))


def test_the_distance_of_lanes_in_a_column_is_computed_outside_of_the_loops() -> None:
    schedule = Schedule(product()).vectorize("update.i", 8)
    assert "strided(a[k + 8*i*a.stride0], a.stride0)" in show(schedule, "vector", MACHINE)
    # Two arrays in the whole vectors, and two in the last one.
    assert show(schedule, "asm", MACHINE).count("vpmullq") <= 4


def test_in_parallel() -> None:
    schedule = Schedule(product()).parallel("start.i0").parallel("update.i")
    assert_agrees(schedule, *sizes(1, 5))


def test_packed_copies() -> None:
    schedule = Schedule(product()).split("update.i", 4, into=("io", "ii"))
    schedule = schedule.pack("a", "io").vectorize("update.j", 8)
    assert_agrees(schedule, *sizes(1, 4, 9))


@settings(deadline=None, max_examples=cases(20))
@given(
    shape=st.tuples(st.integers(1, 19), st.integers(1, 19)),
    gaps=st.tuples(*[st.integers(0, 3)] * 2),
    inner=st.tuples(*[st.integers(1, 3)] * 2),
    by_columns=st.tuples(st.booleans(), st.booleans()),
    loop=st.sampled_from(["i", "j", None]),
)
def test_literal_strides(
    shape: tuple[int, int],
    gaps: tuple[int, int],
    inner: tuple[int, int],
    by_columns: tuple[bool, bool],
    loop: str | None,
) -> None:
    rows, columns = shape

    def strides(which: int, width: int) -> tuple[int, int]:
        step = inner[which]
        if by_columns[which]:
            return step, step * rows + gaps[which]
        return step * width + gaps[which], step

    kernel = plane(rows, columns, strides(0, columns + 1), strides(1, columns))
    schedule = Schedule(kernel)
    assert_agrees(schedule if loop is None else schedule.vectorize(loop, 8))


@pytest.mark.parametrize("dtype", [one for one in ALL_DTYPES if one != boolean], ids=str)
def test_element_types(dtype: DType) -> None:
    assert_agrees(Schedule(plane(5, 21, (30, 1), (1, 7), dtype)).vectorize("j", 8))


def column(strides: tuple[Operand, ...] | None, loop: str) -> str:
    """The LLVM IR of a sum in registers, its lanes along ``loop``."""
    schedule = Schedule(rows_of_sums(strides, f32, 32)).vectorize(loop, 16)
    order = ("j", "i", "k", "jv")
    if loop == "i":
        schedule = Schedule(tall(strides)).vectorize(loop, 16)
        order = ("i", "j", "k", "iv")
    return emit_module(lower(schedule.reorder(*order)), MACHINE)


def tall(strides: tuple[Operand, ...] | None) -> Kernel:
    """``y[i, j] += sum over k of x[k, i, j]`` with 32 rows of 3."""
    build = KernelBuilder("sums")
    x = build.input("x", f32, (7, 32, 3), strides=(96, 1, 32))
    y = build.inout("y", f32, (32, 3), strides=strides)
    with build.loops(i=32, j=3, k=7) as (i, j, k), build.statement("S", order="any"):
        y[i, j] += x[k, i, j]
    return build.kernel()


def test_lanes_are_contiguous_where_the_stride_is_one() -> None:
    for text in (column((40, 1), "j"), column((1, 40), "i")):
        assert "gather" not in text
        assert "scatter" not in text
        assert "load <16 x float>" in text
        assert text.count("alloca <16 x float>") == 1  # the sums are in a register
    assert "scatter" in column((1, 40), "j")
    assert "llvm.masked.store.v16f32" in column((80, 2), "j")
    assert "scatter" in column((200, 5), "j")


def test_accumulators_along_another_dimension_compute_the_same() -> None:
    for strides in (None, (3, 1), (1, 32), (1, 40), (2, 80)):
        schedule = Schedule(tall(strides)).vectorize("i", 16)
        assert_agrees(schedule.reorder("i", "j", "k", "iv"))


def test_nothing_is_assumed_of_the_alignment_of_rows() -> None:
    """A vector load at an odd leading dimension is aligned to its elements alone."""
    build = KernelBuilder("k")
    lda = build.parameter("lda", minimum=64)
    x = build.input("x", f32, (8, 64), strides=(lda, 1))
    y = build.output("y", f32, (8, 64), strides=(68, 1))
    with build.loops(i=8, j=64) as (i, j):
        y[i, j] = x[i, j]
    text = emit_module(lower(Schedule(build.kernel()).vectorize("j", 16)), MACHINE)
    vectors = [line for line in text.splitlines() if "<16 x float>" in line]
    assert {line.rsplit("align ")[-1] for line in vectors} == {"4"}


def test_texts_name_the_strides() -> None:
    schedule = Schedule(product())
    assert "input a: f32[m, terms] strides (lda, 1)" in show(schedule, "domain")
    text = show(schedule, "c")
    assert "c[i*ldc + j] = c[i*ldc + j] + a[i*lda + k]*b[k + j*ldb];" in text
    assert "int64_t lda, int64_t ldb, int64_t ldc)" in text


def test_strides_of_one_dimension_and_none() -> None:
    build = KernelBuilder("k")
    x = build.input("x", "i32", (9,), strides=(3,))
    y = build.output("y", "i32", (), strides=())
    y[()] = 0
    with build.loops(i=9) as i:
        y[()] += x[i]
    assert_agrees(Schedule(build.kernel()))
    assert prod(build.kernel().arrays["y"].shape or (1,)) == 1


def test_subscripts_from_an_array_with_strides() -> None:
    build = KernelBuilder("gather")
    n, m = build.parameter("n"), build.parameter("m", minimum=1)
    idx = build.input("idx", "i32", (n,), values=(0, m), strides=(5,))
    x = build.input("x", f32, (m,), strides=(2,))
    y = build.output("y", f32, (n,))
    with build.loops(i=n) as i, build.statement("S"):
        y[i] = x[idx[i]]
    assert_agrees(Schedule(build.kernel()).vectorize("i", 8), *spread("n", "m", values=(1, 8, 19)))
