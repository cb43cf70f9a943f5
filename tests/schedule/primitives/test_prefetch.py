from collections.abc import Callable

import numpy as np
import pytest

from polysched.errors import LoweringError, ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.functions import cast
from polysched.legality.check import check
from polysched.loops.ir.nodes import For, walk
from polysched.lower import compile, lower, show
from polysched.schedule.notation.printing import format_tree
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import NO_CACHE, assert_agrees, spread
from tests.support.showing import before_and_after


def columns(m: kernels.Size = None, n: kernels.Size = 40) -> Kernel:
    """``y[j] += x[i, j]``, row by row."""
    build = KernelBuilder("columns")
    rows, width = kernels.extent(build, "m", m), kernels.extent(build, "n", n)
    x, y = build.input("x", i32, (rows, width)), build.inout("y", i32, (width,))
    with build.loops(i=rows, j=width) as (i, j), build.statement("S"):
        y[j] = y[j] + x[i, j]
    return build.kernel()


def requests(schedule: Schedule) -> list[str]:
    """The requests in the printed loops."""
    text = show(schedule, "loops")
    return [line.strip() for line in text.splitlines() if line.strip().startswith("prefetch")]


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(columns()).prefetch("x", at="i", ahead=8)
    check_golden("schedule/prefetch.txt", before_and_after(schedule))


def test_results_stay_the_same() -> None:
    schedule = Schedule(columns()).vectorize("j", 16).prefetch("x", "i", 4).prefetch("y", "i")
    assert_agrees(schedule, *spread("m", values=(0, 1, 3, 9)))


@pytest.mark.parametrize("length", [1, 5, 16, 33])
def test_literal_sizes(length: int) -> None:
    schedule = Schedule(columns(length, 9)).split("i", 4).prefetch("x", "io", 2, level=2)
    assert_agrees(schedule)


def test_triangular() -> None:
    schedule = Schedule(kernels.grid(triangular=True)).split("j", 8).prefetch("x", "jo")
    assert_agrees(schedule, *spread("n", values=(0, 1, 8, 17)))


def test_one_request_for_each_line() -> None:
    schedule = Schedule(columns(8, 40)).prefetch("x", "i", 3, level=3)
    assert requests(schedule) == ["prefetch x[i + 3, 0..40] to level 3"]
    assembly = show(schedule, "asm", "skylake-avx512")
    assert assembly.count("prefetcht2") == 3  # 160 bytes


@pytest.mark.parametrize(("level", "instruction"), [(1, "prefetcht0"), (2, "prefetcht1")])
def test_levels(level: int, instruction: str) -> None:
    schedule = Schedule(columns(8, 4)).prefetch("x", "i", level=level)
    assert instruction in show(schedule, "asm", "skylake-avx512")


def test_the_distance_counts_iterations() -> None:
    schedule = Schedule(columns(32, 8)).split("i", 4).prefetch("x", "io", 2)
    assert requests(schedule) == ["prefetch x[(4*io + 8)..(4*io + 12), 0..8]"]
    stepped = Schedule(kernels.stepped()).prefetch("x", "j", 2)
    (loop,) = [one for one in walk(lower(stepped).body) if isinstance(one, For) and one.prefetches]
    assert f"j + {2 * loop.step}" in requests(stepped)[0]


def test_iterations_of_a_loop_around() -> None:
    schedule = Schedule(columns(33, 40)).split("i", 4).split("j", 16)
    schedule = schedule.reorder("io", "jo", "ii", "ji").prefetch("x", "jo", of="io")
    assert requests(schedule) == ["prefetch x[(4*io + 4)..(4*io + 8), (16*jo)..(16*jo + 16)]"]
    assert "  prefetch x, 1 ahead in 'io'\n" in format_tree(schedule.program)
    assert_agrees(schedule)


def test_iterations_of_a_loop_around_that_has_steps() -> None:
    build = KernelBuilder("stepped")
    x, y = build.input("x", i32, (40, 8)), build.inout("y", i32, (8,))
    with build.loops(i=(0, 40, 3), j=8) as (i, j), build.statement("S"):
        y[j] = y[j] + x[i, j]
    schedule = Schedule(build.kernel()).prefetch("x", "j", ahead=2, of="i")
    assert requests(schedule) == ["prefetch x[i + 6, j]"]
    assert_agrees(schedule)


def test_full_and_partial_tiles() -> None:
    schedule = (
        Schedule(columns(21, 40))
        .split("i", 8, ("io", "ii"))
        .split("j", 16)
        .reorder("jo", "io", "ii", "ji")
        .promote("y", at="jo", lanes=16)
        .vectorize("ji", 16)
        .unroll("ii")
        .prefetch("x", "io")
    )
    assert_agrees(schedule)


def test_full_and_partial_tiles_of_rows() -> None:
    schedule = Schedule(columns(9, 40)).split("i", 8).split("j", 4)
    schedule = schedule.reorder("io", "jo", "ii", "ji").unroll("ii").prefetch("x", "jo", 1)
    assert requests(schedule) == ["prefetch x[(8*io)..(8*io + 8), (4*jo + 4)..(4*jo + 8)]"] * 2
    assert_agrees(schedule)


def test_a_buffer() -> None:
    schedule = Schedule(columns(20, 40)).split("j", 16).reorder("jo", "i", "ji").pack("x", "jo")
    schedule = schedule.prefetch("x_packed", "S.i", 2).prefetch("x", "x_packed.d0", 4)
    assert requests(schedule) == [
        "prefetch x[d0 + 4, (16*jo)..(16*jo + 16)]",
        "prefetch x_packed[i + 2, 0..16]",
    ]
    assert_agrees(schedule)


def test_in_threads() -> None:
    schedule = Schedule(columns(9, 40)).split("j", 8).reorder("jo", "i", "ji").parallel("jo")
    assert_agrees(schedule.vectorize("ji", 8).prefetch("x", "i", 2))


def test_addresses_far_outside_do_no_harm() -> None:
    schedule = Schedule(columns(4, 4)).prefetch("x", "i", 2**38)
    y = np.zeros(4, np.int32)
    compile(schedule, cache=NO_CACHE)(np.ones((4, 4), np.int32), y)
    assert (y == 4).all()


def test_the_c_text_says_so() -> None:
    schedule = Schedule(columns(8, 4)).prefetch("x", "i", 2)
    assert "/* prefetch x[i + 2, 0..4] */" in show(schedule, "c")


def test_the_tree_says_so() -> None:
    schedule = Schedule(columns(8, 4)).prefetch("x", "i", 2, level=2)
    assert "  prefetch x, 2 ahead, to level 2\n" in format_tree(schedule.program)


def test_legality_is_not_touched() -> None:
    wrong = Schedule(kernels.prefix()).reverse("i")
    for schedule in (wrong, wrong.prefetch("s", "i")):
        assert not check(schedule).is_legal
    assert check(Schedule(kernels.prefix()).prefetch("s", "i")).is_legal


ERRORS = [
    (("z", "i"), {}, "no array 'z'"),
    (("x", "k"), {}, "no loop 'k'"),
    (("x", "i", 0), {}, "the distance of prefetch('x') is 0; expected a positive integer"),
    (("x", "i", 1, 4), {}, "the level of prefetch('x') is 4; expected 1, 2 or 3"),
    (
        ("x", "i", 1, 1, "j"),
        {},
        "are those of loop 'j', which is not around 'i'; expected one of i",
    ),
    (("y", "i"), {"kernel": kernels.scale(8)}, "no statement below loop 'i' reads array 'y'"),
    (("x", "i"), {"kernel": columns(8, None)}, "loop 'i' reads has no literal extent"),
    (
        ("x", "i"),
        {"kernel": columns(8, 4000)},
        "is a box of 1 x 4000 elements in 250 cache lines; expected at most 64: prefetch at a loop",
    ),
]


@pytest.mark.parametrize(("arguments", "options", "message"), ERRORS)
def test_errors(arguments: tuple, options: dict[str, Kernel], message: str) -> None:
    with pytest.raises(ScheduleError) as error:
        Schedule(options.get("kernel") or columns(8, 4)).prefetch(*arguments)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("before", "at", "message"),
    [
        (lambda one: one.vectorize("j", 4), "jv", "loop 'jv' is vectorized already, by step 1"),
        (lambda one: one.unroll("j"), "j", "loop 'j' is unrolled already, by step 1"),
        (lambda one: one.parallel("i"), "i", "loop 'i' is parallel already, by step 1"),
        (lambda one: one.prefetch("x", "j"), "j", "loop 'j' prefetches array 'x' already"),
    ],
)
def test_loops_that_cannot(before: Callable[[Schedule], Schedule], at: str, message: str) -> None:
    with pytest.raises(ScheduleError) as error:
        before(Schedule(columns(8, 4))).prefetch("x", at)
    assert message in str(error.value)


def test_an_index_that_is_data() -> None:
    build = KernelBuilder("gather")
    at = build.input("at", i32, (8,), values=(0, 8))
    x, y = build.input("x", f32, (8,)), build.output("y", f32, (8,))
    with build.loops(i=8) as i, build.statement("S"):
        y[i] = x[at[i]]
    with pytest.raises(
        ScheduleError, match="known only at run time; prefetch takes an array with aff"
    ):
        Schedule(build.kernel()).prefetch("x", "i")
    assert requests(Schedule(build.kernel()).prefetch("at", "i", 4)) == ["prefetch at[i + 4]"]


def test_a_loop_that_prefetches_is_not_taken_apart() -> None:
    schedule = Schedule(columns(8, 4)).prefetch("x", "i")
    with pytest.raises(ScheduleError, match="loop 'i' prefetches array 'x' already; split it"):
        schedule.split("i", 4)


def test_the_loop_that_counts_stays() -> None:
    schedule = Schedule(columns(8, 40)).split("j", 8).reorder("i", "jo", "ji")
    schedule = schedule.prefetch("x", "jo", of="i")
    with pytest.raises(ScheduleError, match="iterations of loop 'i', which is not around it any"):
        schedule.split("i", 2)


def test_what_is_prefetched_stays_to_be_read() -> None:
    schedule = Schedule(columns(8, 40)).split("j", 8).reorder("jo", "i", "ji").prefetch("x", "i")
    with pytest.raises(
        ScheduleError, match="no statement below loop 'i' reads array 'x', which is"
    ):
        schedule.pack("x", "jo")


def test_a_buffer_of_the_iteration() -> None:
    schedule = Schedule(columns(8, 4)).split("i", 2).pack("x", "io")
    for at, of in (("io", None), ("S.ii", "io")):
        with pytest.raises(
            ScheduleError, match="a buffer of that iteration; prefetch the array that"
        ):
            schedule.prefetch("x_packed", at, of=of)


def test_a_start_that_is_not_linear() -> None:
    build = KernelBuilder("halves")
    x, y = build.input("x", i32, (8,)), build.output("y", i32, (16,))
    with build.loops(i=16) as i, build.statement("S"):
        y[i] = x[i // 2]
    with pytest.raises(ScheduleError, match="which is not linear in the loops' values"):
        Schedule(build.kernel()).prefetch("x", "i")


def test_packed_elements_have_no_address_of_their_own() -> None:
    """Strides of packed arrays count bits: the lines of a box are not known before code exists."""
    build = KernelBuilder("codes")
    x, y = build.input("x", "u4", (8, 64), rows="padded"), build.output("y", i32, (8, 64))
    with build.loops(i=8, j=64) as (i, j), build.statement("S"):
        y[i, j] = cast(x[i, j], i32)
    schedule = Schedule(build.kernel())
    with pytest.raises(
        ScheduleError, match="array 'x' is packed; expected .* and prefetch the buffer"
    ):
        schedule.prefetch("x", "i")
    unpacked = schedule.pack("x", "i").prefetch("x_packed", "S.j", 4)
    assert "prefetch x_packed" in show(unpacked, "loops")


def test_registers_are_not_prefetched() -> None:
    schedule = Schedule(columns(8, 16)).reorder("j", "i").promote("y", "j").prefetch("y_local", "i")
    with pytest.raises(
        LoweringError, match="prefetches array 'y_local', which is kept in registers"
    ):
        compile(schedule, cache=NO_CACHE)


def test_an_array_that_has_been_contracted_is_not_read_any_more() -> None:
    schedule = Schedule(kernels.chain()).prefetch("t", "C.j")
    with pytest.raises(ScheduleError, match="no statement below loop 'j' reads array 't', which"):
        schedule.fold_storage("t", "d0", 1)
