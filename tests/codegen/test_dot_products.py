"""Sums of products of small integers: which statements become one instruction, and what it adds."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import polysched as ps
from polysched.codegen.assembly import parse
from polysched.codegen.dot_instructions import has_dot_product
from polysched.machine.load import load_machine
from tests.support.differential import AnyArray, assert_agrees

VNNI_MACHINE = "zen4"
LANES = {VNNI_MACHINE: 16, "skylake-avx512": 16, "haswell-avx2": 8, "generic": 4}

M, N, GROUPS = 3, 40, 5


def rows_by_columns(
    x_type: ps.DType, y_type: ps.DType, together: int, total: ps.DType = ps.i32, n: int = N
) -> ps.Kernel:
    """``s[m, n] = sum over g, r of x[m, together*g + r] * y[g, n, r]``."""
    build = ps.KernelBuilder("dot")
    x = build.input("x", x_type, (M, together * GROUPS))
    y = build.input("y", y_type, (GROUPS, n, together))
    s = build.output("s", total, (M, n))
    with build.loops(m=M, n=n) as (m, column), build.statement("init"):
        s[m, column] = 0
    with build.loops(m=M, g=GROUPS, n=n, r=together) as (m, g, column, r), build.statement("add"):
        s[m, column] += ps.cast(x[m, together * g + r], total) * ps.cast(y[g, column, r], total)
    return build.kernel()


def in_vectors(kernel: ps.Kernel, lanes: int) -> ps.Schedule:
    """Sums in registers, columns in lanes, the terms of a group one after the other."""
    return (
        ps.Schedule(kernel)
        .reorder("add.m", "g", "add.n", "r")
        .promote("s", at="add.m", lanes=lanes)
        .vectorize("add.n", lanes)
        .unroll("r")
    )


def dots(schedule: ps.Schedule, machine: str) -> Counter[str]:
    """The calls of intrinsics for dot products."""
    called = re.findall(r'call [^@]*@"llvm\.x86\.([a-z0-9.]+)"', schedule.show("llvm", machine))
    return Counter("vpdp" if "vpdp" in name else "pmadd" for name in called)


def extremes(kernel: ps.Kernel) -> dict[str, AnyArray]:
    """Arguments in which the first and the last number of each type meet in every combination."""
    generator = np.random.default_rng(0)
    found = {}
    for name in "xy":
        array = kernel.arrays[name]
        ends = [array.dtype.lowest, array.dtype.highest, 0, 1]
        shape = tuple(int(str(extent)) for extent in array.shape)
        found[name] = generator.choice(ends, shape).astype(array.dtype.numpy())
    return found


def expected(x: AnyArray, y: AnyArray) -> AnyArray:
    """The sums, which wrap."""
    columns = y.transpose(0, 2, 1).reshape(-1, y.shape[1])
    return (x.astype("i8") @ columns.astype("i8")).astype("i4")


FORMS = [
    (ps.u8, ps.i8, 4),
    (ps.i8, ps.u8, 4),
    (ps.i16, ps.i16, 2),
    (ps.i8, ps.i8, 2),
    (ps.u8, ps.i16, 2),
    (ps.u8, ps.u8, 2),
]


@pytest.mark.parametrize("machine", LANES)
@pytest.mark.parametrize(("x_type", "y_type", "together"), FORMS)
def test_values(x_type: ps.DType, y_type: ps.DType, together: int, machine: str) -> None:
    """Of whole vectors and of a part of one, with what only wraps or is negative by its sign."""
    schedule = in_vectors(rows_by_columns(x_type, y_type, together), LANES[machine])
    assert bool(dots(schedule, machine)) == (together == 2 or machine == VNNI_MACHINE)
    if load_machine(machine).missing_on(load_machine(None)):
        pytest.skip("its code does not run here")
    given = extremes(schedule.kernel)
    found = schedule.compile(load_machine(machine))(**given)
    np.testing.assert_array_equal(found, expected(**given))


def test_the_largest_products_of_words_wrap() -> None:
    schedule = in_vectors(rows_by_columns(ps.i16, ps.i16, 2), 16)
    x = np.full((M, 2 * GROUPS), -(2**15), np.int16)
    y = np.full((GROUPS, N, 2), -(2**15), np.int16)
    np.testing.assert_array_equal(schedule.compile()(x, y), expected(x, y))


@pytest.mark.parametrize(
    ("form", "instructions"),
    [
        (FORMS[0], {"vpdpbusd": 3}),
        (FORMS[2], {"vpdpwssd": 3}),
        (FORMS[3], {"vpdpwssd": 3}),
    ],
)
def test_one_instruction_for_a_group(
    form: tuple[ps.DType, ps.DType, int], instructions: dict[str, int]
) -> None:
    """Three vectors of columns."""
    schedule = in_vectors(rows_by_columns(*form, n=48), 16).unroll("add.n")
    function, *_ = parse(schedule.show("asm", VNNI_MACHINE))
    found = Counter(one.mnemonic for one in function.instructions if "vpdp" in one.mnemonic)
    assert found == instructions
    assert function.counts.gathers == function.counts.spills == 0


@pytest.mark.parametrize("together", [3, 6, 8])
def test_lanes_that_are_further_apart_than_a_group(together: int) -> None:
    schedule = in_vectors(rows_by_columns(ps.u8, ps.i8, together), 16)
    assert not dots(schedule, VNNI_MACHINE)
    assert_agrees(schedule, {})


def test_more_terms_than_a_group() -> None:
    """Two groups, whose lanes lie one behind the other each."""
    build = ps.KernelBuilder("dot")
    x = build.input("x", ps.i8, (8,))
    y = build.input("y", ps.u8, (2, 16, 4))
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, k=8) as (column, k):
        s[column] += ps.cast(x[k], ps.i32) * ps.cast(y[k // 4, column, k % 4], ps.i32)
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16).unroll("k")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 2}
    assert_agrees(schedule, {})


def test_both_factors_differ_by_lanes() -> None:
    build = ps.KernelBuilder("dots")
    x, y = (build.input(name, ps.i16, (GROUPS, 16, 2)) for name in "xy")
    s = build.inout("s", ps.i32, (16,))
    with build.loops(g=GROUPS, n=16, r=2) as (g, column, r):
        s[column] += ps.cast(x[g, column, r], ps.i32) * ps.cast(y[g, column, r], ps.i32)
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16).unroll("r")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 1}
    assert_agrees(schedule, {})


def test_a_loop_of_known_length_is_checked_by_the_interpreter_too() -> None:
    for form in FORMS:
        assert_agrees(in_vectors(rows_by_columns(*form), 16), {})


@pytest.mark.parametrize(
    ("shape", "terms", "by_columns"),
    [
        pytest.param((4, 16), 4, True, id="terms a row apart"),
        pytest.param((16, 8), 2, False, id="lanes in rows of eight"),
    ],
)
def test_what_does_not_lie_as_a_group(shape: tuple[int, int], terms: int, by_columns: bool) -> None:
    """Computed term by term."""
    build = ps.KernelBuilder("dots")
    x = build.input("x", ps.i16, (terms,))
    y = build.input("y", ps.i16, shape)
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, r=terms) as (column, r):
        factor = y[r, column] if by_columns else y[column, r]
        s[column] += ps.cast(x[r], ps.i32) * ps.cast(factor, ps.i32)
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16).unroll("r")
    assert not dots(schedule, VNNI_MACHINE)
    assert_agrees(schedule, {})


def test_strides_known_at_the_call_only() -> None:
    build = ps.KernelBuilder("dots")
    apart = build.parameter("apart", minimum=2)
    x = build.input("x", ps.i16, (2,))
    y = build.input("y", ps.i16, (16, 2), strides=(apart, 1))
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, r=2) as (column, r):
        s[column] += ps.cast(x[r], ps.i32) * ps.cast(y[column, r], ps.i32)
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16).unroll("r")
    assert not dots(schedule, VNNI_MACHINE)
    memory = np.arange(16 * 5, dtype=np.int16)
    rows = np.lib.stride_tricks.as_strided(memory, (16, 2), (10, 2))
    found = np.zeros(16, np.int32)
    schedule.compile()(np.array([3, -2], np.int16), rows, found)
    np.testing.assert_array_equal(found, 3 * rows[:, 0].astype("i4") - 2 * rows[:, 1])


@pytest.mark.parametrize(
    ("x_strides", "y_strides"), [((2,), None), ((33,), None), (None, (2, 33)), ((3,), (4, 2))]
)
def test_terms_that_lie_apart(
    x_strides: tuple[int, ...] | None, y_strides: tuple[int, ...] | None
) -> None:
    """Subscripts that are neighbors, of arrays in which no elements are."""
    build = ps.KernelBuilder("dots")
    x = build.input("x", ps.i16, (2,), strides=x_strides)
    y = build.input("y", ps.i16, (16, 2), strides=y_strides)
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, r=2) as (column, r):
        s[column] += ps.cast(x[r], ps.i32) * ps.cast(y[column, r], ps.i32)
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16).unroll("r")
    assert not dots(schedule, VNNI_MACHINE)
    assert_agrees(schedule, {}, given={"x": np.array([3, -2], np.int16)})


@pytest.mark.parametrize("total", [ps.i64, ps.u32, ps.f32])
def test_other_sums(total: ps.DType) -> None:
    schedule = in_vectors(rows_by_columns(ps.i16, ps.i16, 2, total), 8)
    assert not dots(schedule, VNNI_MACHINE)
    assert_agrees(schedule, {})


def test_an_update_that_reads_what_it_writes() -> None:
    build = ps.KernelBuilder("dots")
    s = build.inout("s", ps.i32, (18,))
    y = build.input("y", ps.i16, (16, 2))
    with build.loops(n=16, r=2) as (column, r):
        product = ps.cast(ps.cast(s[r + 16], ps.i16), ps.i32) * ps.cast(y[column, r], ps.i32)
        s[column] += product
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16).unroll("r")
    assert not dots(schedule, VNNI_MACHINE)
    assert_agrees(schedule, {})


def test_which_there_are() -> None:
    vnni = load_machine(VNNI_MACHINE).enabled_features
    plain = load_machine("skylake-avx512").enabled_features
    assert has_dot_product(ps.i8, ps.u8, 4, 16, vnni)
    assert not has_dot_product(ps.i8, ps.i8, 4, 16, vnni)
    assert not has_dot_product(ps.i8, ps.u8, 4, 16, plain)
    assert not has_dot_product(ps.i8, ps.u8, 4, 32, vnni)
    assert has_dot_product(ps.i16, ps.i16, 2, 4, frozenset({"sse2"}))
    assert not has_dot_product(ps.i16, ps.i16, 2, 8, frozenset({"sse2"}))
    assert not has_dot_product(ps.u16, ps.i16, 2, 4, frozenset({"sse2"}))
    assert has_dot_product(ps.u8, ps.i8, 4, 8, frozenset({"avxvnni"}))
    assert not has_dot_product(ps.u8, ps.i8, 4, 8, frozenset({"avx512vnni"}))


def test_a_transposition_that_is_asked_for_is_done() -> None:
    schedule = in_vectors(rows_by_columns(ps.i16, ps.i16, 2, n=32), 16)
    assert dots(schedule, VNNI_MACHINE)
    assert not dots(schedule.transpose("nv", "r"), VNNI_MACHINE)


def test_terms_on_the_stack_are_read_whole_within_their_array() -> None:
    """Masked vectors of groups are as many elements as lanes times terms."""
    build = ps.KernelBuilder("dots")
    x, y = build.input("x", ps.u8, (8,)), build.input("y", ps.i8, (2, 10, 4))
    t, s = build.temporary("t", ps.i8, (2, 10, 4)), build.inout("s", ps.i32, (10,))
    with build.loops(g=2, n=10, r=4) as (g, n, r), build.statement("copy"):
        t[g, n, r] = y[g, n, r]
    with build.loops(g=2, n=10, r=4) as (g, n, r), build.statement("add"):
        s[n] += ps.cast(x[4 * g + r], ps.i32) * ps.cast(t[g, n, r], ps.i32)
    schedule = ps.Schedule(build.kernel()).reorder("add.g", "add.n", "add.r")
    schedule = schedule.vectorize("add.n", 16).unroll("add.g", "add.r")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 2}
    # Of 80 bytes the first 64 are read whole, but not those from the 40th on; s is no own array.
    text = schedule.show("llvm", VNNI_MACHINE)
    assert text.count('call <16 x i32> @"llvm.masked.load') == 3
    assert_agrees(schedule, {}, machine=VNNI_MACHINE)


def test_one_column_beside_whole_vectors() -> None:
    """Its sum is a lane of a register as those of the others are."""
    schedule = in_vectors(rows_by_columns(ps.u8, ps.i8, 4, n=33), 16).unroll("add.n")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 3}
    assert_agrees(schedule, {}, machine=VNNI_MACHINE)


@pytest.mark.parametrize("together", [2, 4])
def test_groups_are_copied_by_whole_vectors(together: int) -> None:
    """Rows of a few elements that lie one behind the other, up to a part of a vector of rows."""
    build = ps.KernelBuilder("copy")
    x = build.input("x", ps.i16, (together * GROUPS, N))
    y = build.output("y", ps.i16, (GROUPS, N, together))
    with build.loops(g=GROUPS, n=N, r=together) as (group, n, r):
        y[group, n, r] = x[together * group + r, n] + 1
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16).unroll("r")
    text = schedule.show("llvm", VNNI_MACHINE)
    assert not re.search(r"scatter|masked\.store|store <[248] x", text)
    assert_agrees(schedule, {}, machine=VNNI_MACHINE)


def test_few_columns_of_an_array_of_a_size_known_at_the_call_only() -> None:
    build = ps.KernelBuilder("copy")
    size = build.parameter("size", minimum=1)
    x, y = build.input("x", ps.i16, (4, 2, 16)), build.output("y", ps.i16, (4, 32 * size))
    with build.loops(g=4, n=32 * size) as (group, n), build.statement("clear"):
        y[group, n] = 0
    with build.loops(g=4, n=16, r=2) as (group, n, r), build.statement("copy"):
        y[group, 2 * n + r] = x[group, r, n]
    schedule = ps.Schedule(build.kernel()).vectorize("copy.n", 16).unroll("r")
    assert not re.search(r"scatter|masked\.store", schedule.show("llvm", VNNI_MACHINE))
    assert_agrees(schedule, {"size": 1}, {"size": 3}, machine=VNNI_MACHINE)


@pytest.mark.parametrize(("dtype", "together"), [(ps.i8, 4), (ps.u8, 4), (ps.i16, 2), (ps.u8, 2)])
def test_terms_that_are_no_products(dtype: ps.DType, together: int) -> None:
    build = ps.KernelBuilder("sums")
    x, s = build.input("x", dtype, (20, together)), build.inout("s", ps.i32, (20,))
    with build.loops(n=20, r=together) as (n, r):
        s[n] += ps.cast(x[n, r], ps.i32)
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16).unroll("r")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 2}
    ends = np.resize(np.array([dtype.lowest, dtype.highest, 1]), (20, together))
    given = {"x": ends.astype(dtype.numpy())}
    for machine in (VNNI_MACHINE, "haswell-avx2"):
        assert_agrees(schedule, {}, given=given, machine=machine)


def test_products_and_other_terms_are_no_group() -> None:
    build = ps.KernelBuilder("sums")
    x, s = build.input("x", ps.i16, (16, 2)), build.inout("s", ps.i32, (16,))
    with build.loops(n=16) as n:
        s[n] += ps.cast(x[n, 0], ps.i32)
        s[n] += ps.cast(x[n, 1], ps.i32) * ps.cast(x[n, 1], ps.i32)
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16)
    assert not dots(schedule, VNNI_MACHINE)
    assert_agrees(schedule, {})


def test_terms_that_are_shared_are_read_once_until_something_is_written() -> None:
    build = ps.KernelBuilder("dots")
    x, y = build.inout("x", ps.i16, (2,)), build.input("y", ps.i16, (16, 2))
    s = build.inout("s", ps.i32, (3, 16))
    for row in range(3):
        with build.loops(n=16, r=2) as (n, r), build.statement(f"row_{row}"):
            s[row, n] += ps.cast(x[r], ps.i32) * ps.cast(y[n, r], ps.i32)
    with build.loops(i=2) as i, build.statement("change"):
        x[i] = x[i] + 1
    with build.loops(n=16, r=2) as (n, r), build.statement("row_3"):
        s[0, n] += ps.cast(x[r], ps.i32) * ps.cast(y[n, r], ps.i32)
    schedule = ps.Schedule(build.kernel()).unroll("i")
    for row in range(4):
        schedule = schedule.vectorize(f"row_{row}.n", 16).unroll(f"row_{row}.r")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 4}
    assert_agrees(schedule, {}, machine=VNNI_MACHINE)
