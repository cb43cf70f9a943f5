"""Tensorized nests: the values, the instruction, and the layouts that an instruction refuses."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

import polysched as ps
from polysched.errors import LoweringError
from polysched.inspect.assembly import parse
from polysched.instructions.lookup import sum_of_products
from polysched.machine.load import load_machine
from tests.support.differential import AnyArray, assert_agrees
from tests.support.effort import covering

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


def in_vectors(kernel: ps.Kernel, lanes: int, instruction: str | None = None) -> ps.Schedule:
    """Sums in registers, columns in lanes, the terms of a group one after the other."""
    schedule = (
        ps.Schedule(kernel)
        .reorder("add.m", "g", "add.n", "r")
        .promote("s", at="add.m", lanes=lanes)
        .vectorize("add.n", lanes)
        .unroll("r")
    )
    return schedule.tensorize("nv", instruction) if instruction else schedule


def vnni(terms: int) -> str:
    return "vpdpbusd" if terms == 4 else "vpdpwssd"


def tensorized(kernel: ps.Kernel, instruction: str) -> ps.Schedule:
    """A kernel with loops ``n`` over lanes and ``r`` over terms."""
    return ps.Schedule(kernel).vectorize("n", 16).unroll("r").tensorize("nv", instruction)


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


@covering(1, machine=LANES, **{"x_type, y_type, together": FORMS})
def test_values(x_type: ps.DType, y_type: ps.DType, together: int, machine: str) -> None:
    """Whole vectors and a part of one, with numbers whose products wrap."""
    lanes, features = LANES[machine], load_machine(machine).enabled_features
    instruction = sum_of_products((x_type, y_type), together, lanes, features)
    if instruction is None:
        schedule = in_vectors(rows_by_columns(x_type, y_type, together), lanes, vnni(together))
        assert (together, machine == VNNI_MACHINE) == (4, False)
        with pytest.raises(LoweringError, match=f"machine '{machine}' lacks the instruction"):
            dots(schedule, machine)
        return
    schedule = in_vectors(rows_by_columns(x_type, y_type, together), lanes, instruction)
    assert dots(schedule, machine)
    if load_machine(machine).missing_on(load_machine(None)):
        pytest.skip("its code does not run here")
    given = extremes(schedule.kernel)
    found = schedule.compile(load_machine(machine))(**given)
    np.testing.assert_array_equal(found, expected(**given))


def test_the_largest_products_of_words_wrap() -> None:
    lanes = load_machine(None).vector_bits // 32
    schedule = in_vectors(rows_by_columns(ps.i16, ps.i16, 2), lanes, "vpmaddwd")
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
    schedule = in_vectors(rows_by_columns(*form, n=48), 16, vnni(form[2])).unroll("add.n")
    function, *_ = parse(schedule.show("asm", VNNI_MACHINE))
    found = Counter(one.mnemonic for one in function.instructions if "vpdp" in one.mnemonic)
    assert found == instructions
    assert function.counts.gathers == function.counts.spills == 0


def refused(schedule: ps.Schedule) -> str:
    """The reason why the nest has no instruction; its loops agree with the kernel nevertheless."""
    with pytest.raises(LoweringError) as caught:
        dots(schedule, VNNI_MACHINE)
    without = schedule.first(len(schedule.steps) - 1)
    assert not dots(without, VNNI_MACHINE)
    return str(caught.value)


def test_without_the_step_no_instruction_is_selected() -> None:
    for form in FORMS:
        assert not dots(in_vectors(rows_by_columns(*form), 16), VNNI_MACHINE)


def test_lanes_that_are_further_apart_than_a_group() -> None:
    schedule = (
        in_vectors(rows_by_columns(ps.u8, ps.i8, 8), 16)
        .of(rows_by_columns(ps.u8, ps.i8, 8))
        .split("r", 4)
        .reorder("add.m", "g", "ro", "add.n", "ri")
        .vectorize("add.n", 16)
        .unroll("ri")
        .tensorize("nv", "vpdpbusd")
    )
    assert refused(schedule) == (
        "tensorize('nv', 'vpdpbusd'): array 'y', operand 'b' of vpdpbusd: consecutive iterations "
        "of loop 'nv' read elements that are 8 apart in memory; expected 4, or 0 in all lanes"
    )


def test_more_terms_than_a_group() -> None:
    """Two groups, whose lanes lie one behind the other each."""
    build = ps.KernelBuilder("dot")
    x = build.input("x", ps.i8, (8,))
    y = build.input("y", ps.u8, (2, 16, 4))
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, k=8) as (column, k):
        s[column] += ps.cast(x[k], ps.i32) * ps.cast(y[k // 4, column, k % 4], ps.i32)
    schedule = (
        ps.Schedule(build.kernel())
        .split("k", 4, into=("group", "term"))
        .vectorize("n", 16)
        .reorder("group", "nv", "term")
        .unroll("group", "term")
        .tensorize("nv", "vpdpbusd")
    )
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 2}
    assert_agrees(schedule, {}, machine=VNNI_MACHINE)


def test_both_factors_differ_by_lanes() -> None:
    build = ps.KernelBuilder("dots")
    x, y = (build.input(name, ps.i16, (GROUPS, 16, 2)) for name in "xy")
    s = build.inout("s", ps.i32, (16,))
    with build.loops(g=GROUPS, n=16, r=2) as (g, column, r):
        s[column] += ps.cast(x[g, column, r], ps.i32) * ps.cast(y[g, column, r], ps.i32)
    schedule = tensorized(build.kernel(), "vpdpwssd")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 1}
    assert_agrees(schedule, {}, machine=VNNI_MACHINE)


def test_a_loop_of_known_length_is_checked_by_the_interpreter_too() -> None:
    for form in FORMS:
        schedule = in_vectors(rows_by_columns(*form), 16, vnni(form[2]))
        assert_agrees(schedule, {}, machine=VNNI_MACHINE)


@pytest.mark.parametrize(
    ("shape", "by_columns", "distance"),
    [
        pytest.param((2, 16), True, 1, id="terms a row apart"),
        pytest.param((16, 8), False, 8, id="lanes in rows of eight"),
    ],
)
def test_elements_that_are_not_in_groups(
    shape: tuple[int, int], by_columns: bool, distance: int
) -> None:
    build = ps.KernelBuilder("dots")
    x = build.input("x", ps.i16, (2,))
    y = build.input("y", ps.i16, shape)
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, r=2) as (column, r):
        factor = y[r, column] if by_columns else y[column, r]
        s[column] += ps.cast(x[r], ps.i32) * ps.cast(factor, ps.i32)
    reason = refused(tensorized(build.kernel(), "vpdpwssd"))
    assert f"of loop 'nv' read elements that are {distance} apart in memory" in reason


def test_strides_known_at_the_call_only() -> None:
    build = ps.KernelBuilder("dots")
    apart = build.parameter("apart", minimum=2)
    x = build.input("x", ps.i16, (2,))
    y = build.input("y", ps.i16, (16, 2), strides=(apart, 1))
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, r=2) as (column, r):
        s[column] += ps.cast(x[r], ps.i32) * ps.cast(y[column, r], ps.i32)
    assert refused(tensorized(build.kernel(), "vpdpwssd")) == (
        "tensorize('nv', 'vpdpwssd'): array 'y', operand 'b' of vpdpwssd: its strides are not "
        "literals"
    )


def test_rows_of_a_length_known_at_the_call_only() -> None:
    """The stride of a dimension outside of the nest does not matter."""
    build = ps.KernelBuilder("dots")
    groups = build.parameter("groups", minimum=1)
    x, y = build.input("x", ps.u8, (3, groups, 4)), build.input("y", ps.i8, (groups, 16, 4))
    s = build.inout("s", ps.i32, (3, 16))
    with build.loops(m=3, g=groups, n=16, r=4) as (m, g, n, r):
        s[m, n] += ps.cast(x[m, g, r], ps.i32) * ps.cast(y[g, n, r], ps.i32)
    schedule = tensorized(build.kernel(), "vpdpbusd")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 1}
    assert_agrees(schedule, {"groups": 1}, {"groups": 3}, machine=VNNI_MACHINE)


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
    assert "apart in memory; expected" in refused(tensorized(build.kernel(), "vpdpwssd"))


def test_terms_of_a_quotient() -> None:
    """``r // 2`` is not affine in the loop over the terms."""
    build = ps.KernelBuilder("dots")
    x, y = build.input("x", ps.u8, (2,)), build.input("y", ps.i8, (16, 4))
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, r=4) as (n, r):
        s[n] += ps.cast(x[r // 2], ps.i32) * ps.cast(y[n, r], ps.i32)
    reason = refused(tensorized(build.kernel(), "vpdpbusd"))
    assert "operand 'a' of vpdpbusd: x[" in reason
    assert reason.endswith("is not affine in the loops of the nest")


def test_sums_of_each_term() -> None:
    build = ps.KernelBuilder("dots")
    x, y = build.input("x", ps.u8, (4,)), build.input("y", ps.i8, (16, 4))
    s = build.inout("s", ps.i32, (19,))
    with build.loops(n=16, r=4) as (n, r):
        s[n + r] += ps.cast(x[r], ps.i32) * ps.cast(y[n, r], ps.i32)
    reason = refused(tensorized(build.kernel(), "vpdpbusd"))
    assert reason.endswith("depends on loop 'r', which is 'term'")


def test_the_end_of_a_sum_is_computed_term_by_term() -> None:
    build = ps.KernelBuilder("dots")
    x, y = build.input("x", ps.u8, (11,)), build.input("y", ps.i8, (3, 16, 4))
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, k=11) as (n, k):
        s[n] += ps.cast(x[k], ps.i32) * ps.cast(y[k // 4, n, k % 4], ps.i32)
    schedule = (
        ps.Schedule(build.kernel())
        .split("k", 4, into=("g", "r"))
        .reorder("g", "n", "r")
        .vectorize("n", 16)
        .unroll("r")
        .tensorize("nv", "vpdpbusd")
    )
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 1}
    assert_agrees(schedule, {}, machine=VNNI_MACHINE)


def test_no_run_of_a_nest_is_complete() -> None:
    build = ps.KernelBuilder("dots")
    x, y = build.input("x", ps.u8, (4,)), build.input("y", ps.i8, (16, 4))
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, r=4) as (n, r), build.where(r <= n):
        s[n] += ps.cast(x[r], ps.i32) * ps.cast(y[n, r], ps.i32)
    assert refused(tensorized(build.kernel(), "vpdpbusd")) == (
        "tensorize('nv', 'vpdpbusd'): no run of the nest is complete: each iteration of the nest "
        "runs other lanes of loop 'nv'"
    )


def test_a_sum_whose_length_is_known_at_the_call_only() -> None:
    build = ps.KernelBuilder("dots")
    x, y = build.input("x", ps.u8, (4,)), build.input("y", ps.i8, (16, 4))
    size, s = build.parameter("size", minimum=0), build.inout("s", ps.i32, (16,))
    with build.loops(n=16, r=4) as (n, r), build.where(r < size):
        s[n] += ps.cast(x[r], ps.i32) * ps.cast(y[n, r], ps.i32)
    schedule = tensorized(build.kernel(), "vpdpbusd")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 1}
    assert_agrees(schedule, *({"size": size} for size in (0, 3, 4, 5)), machine=VNNI_MACHINE)


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
    schedule = schedule.tensorize("nv", "vpdpbusd")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 2}
    # Of 80 bytes the first 64 are read whole, but not those from the 40th on; s is no own array.
    text = schedule.show("llvm", VNNI_MACHINE)
    assert text.count('call <16 x i32> @"llvm.masked.load') == 3
    assert_agrees(schedule, {}, machine=VNNI_MACHINE)


def test_one_column_beside_whole_vectors() -> None:
    """Its sum is a lane of a register as those of the others are."""
    kernel = rows_by_columns(ps.u8, ps.i8, 4, n=33)
    schedule = in_vectors(kernel, 16, "vpdpbusd").unroll("add.n")
    assert dots(schedule, VNNI_MACHINE) == {"vpdp": 3}
    assert_agrees(schedule, {}, machine=VNNI_MACHINE)
