"""Packed arrays in kernels: the reference, the loops and machine code agree bit for bit."""

import pytest

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, f64, i8, i64
from polysched.schedule.schedule import Schedule
from tests.support import packed_kernels
from tests.support.differential import assert_agrees, spread
from tests.support.effort import covering

EDGES = [{"n": n} for n in (1, 7, 8, 9, 15, 16, 17, 31, 64, 65, 70)]
TYPES = ("i1", "u1", "u2", "i3", "i4", "u4", "i5", "u7", "i9", "u12", "i20", "i31", "u31")
MACHINES = ("host", "haswell-avx2", "generic")


@covering(1, lanes=[1, 16, 64], dtype=TYPES)
def test_vectors_of_neighbors(dtype: str, lanes: int) -> None:
    for kernel in (packed_kernels.unpack(dtype), packed_kernels.pack(dtype)):
        schedule = Schedule(kernel)
        if lanes > 1:
            schedule = schedule.vectorize("i", lanes)
        assert_agrees(schedule, *EDGES)


@covering(1, dtype=["u1", "i3", "i5", "u9"], lanes=[2, 4])
def test_vectors_that_end_inside_a_byte(dtype: str, lanes: int) -> None:
    for kernel in (packed_kernels.unpack(dtype), packed_kernels.pack(dtype)):
        assert_agrees(Schedule(kernel).vectorize("i", lanes), *EDGES[:5], interpreted=False)


@pytest.mark.parametrize("dtype", ["u1", "i3", "i5", "u9"])
def test_what_stands_behind_a_vector_in_its_last_byte_stays(dtype: str) -> None:
    schedule = Schedule(packed_kernels.first_halves(dtype)).vectorize("j", 4)
    assert_agrees(schedule, {"n": 1}, {"n": 3})


@covering(
    1, dtype=["u1", "i4", "u5", "i13", "u20"], machine=["skylake-avx512", "haswell-avx2", "generic"]
)
def test_other_machines_give_the_same_bits(dtype: str, machine: str) -> None:
    for kernel in (packed_kernels.unpack(dtype), packed_kernels.pack(dtype)):
        assert_agrees(Schedule(kernel).vectorize("i", 16), *EDGES[::2], machine=machine)


@covering(1, dtype=["u2", "i4", "i5", "u12"], first=[1, 2, 3, 5])
def test_vectors_that_begin_inside_a_byte(dtype: str, first: int) -> None:
    for kernel in (
        packed_kernels.unpack(dtype, first=first),
        packed_kernels.pack(dtype, first=first),
    ):
        assert_agrees(Schedule(kernel).vectorize("i", 16), *EDGES[::2], interpreted=False)


@covering(1, wide=[i8, i64, f32, f64], dtype=["i4", "u4", "i7"])
def test_conversions_to_and_from_other_types(dtype: str, wide: object) -> None:
    for kernel in (packed_kernels.unpack(dtype, wide), packed_kernels.pack(dtype, wide)):
        assert_agrees(Schedule(kernel).vectorize("i", 16), *EDGES[::3])


@covering(1, dtype=["u1", "i4", "i5", "u12"], rows=["padded", "contiguous"])
def test_rows_and_gathered_columns(dtype: str, rows: str) -> None:
    kernel = packed_kernels.halves(dtype, rows)
    sizes = spread("n", "m", values=(1, 5, 8, 17))
    assert_agrees(Schedule(kernel), *sizes[::3])
    assert_agrees(Schedule(kernel).vectorize("j", 8), *sizes)
    assert_agrees(Schedule(kernel).vectorize("i", 8), *sizes, interpreted=False)
    tiled = Schedule(kernel).tile(("i", "j"), (2, 16)).vectorize("ji", 8).unroll("ii", "ji")
    assert_agrees(tiled, *sizes, interpreted=False)


@pytest.mark.parametrize("dtype", ["i3", "u4", "i9"])
def test_elements_with_gaps_between_them(dtype: str) -> None:
    assert_agrees(Schedule(packed_kernels.every_other(dtype)), *EDGES[:4])
    assert_agrees(Schedule(packed_kernels.every_other(dtype)).vectorize("i", 8), *EDGES[:6])


@pytest.mark.parametrize("dtype", ["i4", "u5"])
def test_a_product_with_packed_operands_copied_once(dtype: str) -> None:
    schedule = Schedule(packed_kernels.product(dtype)).tile(("i", "j"), (4, 16))
    schedule = schedule.reorder("io", "jo", "term", "ii", "ji").pack("b", "jo")
    schedule = schedule.vectorize("ji", 16).unroll("ii")
    assert_agrees(schedule, *spread("m", "n", "k", values=(1, 5, 17)), interpreted=False)


@pytest.mark.parametrize("rows", ["padded", "contiguous"])
def test_sums_that_wrap_in_registers_or_in_memory(rows: str) -> None:
    schedule = Schedule(packed_kernels.sums("i5", rows))
    sizes = spread("n", "m", values=(1, 5, 17))
    assert_agrees(schedule, *sizes)
    assert_agrees(schedule.reorder("k", "i", "j").vectorize("j", 8), *sizes)
    tiled = schedule.tile(("i", "j"), (2, 16)).reorder("io", "jo", "k", "ii", "ji")
    assert_agrees(tiled.vectorize("ji", 8).unroll("ii", "ji"), *sizes, interpreted=False)


@pytest.mark.parametrize("dtype", ["i4", "u3"])
def test_threads_that_have_bytes_of_their_own(dtype: str) -> None:
    split = Schedule(packed_kernels.pack(dtype)).split("i", 16, into=("part", "at"))
    schedule = split.parallel("part").vectorize("at", 16)
    assert_agrees(schedule, *EDGES, interpreted=False)


def test_sign_and_arithmetic_of_odd_widths() -> None:
    kernel = packed_kernels.arithmetic("i5")
    assert_agrees(Schedule(kernel), *EDGES[:5])
    assert_agrees(Schedule(kernel).vectorize("i", 8), *EDGES[:5])


@pytest.mark.parametrize("lanes", [1, 8])
def test_temporaries_have_a_container_for_each(lanes: int) -> None:
    schedule = Schedule(packed_kernels.scratch("i5"))
    if lanes > 1:
        schedule = schedule.vectorize("i", lanes).vectorize("j", lanes)
    assert_agrees(schedule, *EDGES[:6])


@covering(2, dtype=["u2", "i4", "u1"], length=[34, 66, 20, 36, 3], machine=["host", "haswell-avx2"])
def test_a_tail_of_one_byte_writes_no_other(dtype: str, length: int, machine: str) -> None:
    build = KernelBuilder("tail")
    a = build.inout("a", dtype, (length,), rows="contiguous")
    with build.loops(i=length) as i:
        a[i] = a[i] + 1
    for lanes in (16, 32, 64):
        schedule = Schedule(build.kernel()).vectorize("i", lanes)
        assert_agrees(schedule, machine=machine, interpreted=False)


@pytest.mark.parametrize("dtype", ["u2", "i4"])
def test_a_row_of_one_byte_leaves_the_next_row(dtype: str) -> None:
    build = KernelBuilder("rows")
    a = build.inout("a", dtype, (4, 8 // int(dtype[1:])), rows="contiguous")
    with build.loops(i=4, j=8 // int(dtype[1:])) as (i, j), build.statement("S"):
        a[i, j] = a[i, j] + 1
    for schedule in (Schedule(build.kernel()), Schedule(build.kernel()).reverse("i")):
        assert_agrees(schedule.vectorize("j", 16), interpreted=False)
