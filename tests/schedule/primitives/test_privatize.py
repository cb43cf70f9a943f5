import random
from collections.abc import Callable

import pytest

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Index
from polysched.ir.semantics.points import evaluate_many
from polysched.ir.semantics.reference import instances
from polysched.legality.check import check
from polysched.legality.verdicts.verdict import Cause
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.analyzed import assert_dependences_are_those_of_a_new_analysis
from tests.support.differential import assert_agrees, spread
from tests.support.effort import cases
from tests.support.showing import before_and_after

SIZES = (0, 1, 4, 7, 8, 9)


def scratch() -> Kernel:
    """``P: t = 2 * x[i]``, then ``C: y[i] = t * t - t``, with one scalar for all i."""
    build = KernelBuilder("scratch")
    n = build.parameter("n")
    x, y = build.input("x", i32, (n,)), build.output("y", i32, (n,))
    t = build.temporary("t", i32, ())
    with build.loops(i=n) as i:
        with build.statement("P"):
            t[()] = 2 * x[i]
        with build.statement("C"):
            y[i] = t[()] * t[()] - t[()]
    return build.kernel()


def row(*, triangular: bool = False) -> Kernel:
    """A scratch row for every i: filled, summed up in place, read backwards."""
    build = KernelBuilder("row")
    n = build.parameter("n", minimum=0)
    x, y = build.input("x", i32, (n, n)), build.output("y", i32, (n, n))
    t = build.temporary("t", i32, (n,))
    end = Index("i") + 1 if triangular else n
    with build.loops(i=n) as i:
        with build.loops(j=end) as j, build.statement("P"):
            t[j] = x[i, j]
        with build.loops(j=(1, end)) as j, build.statement("Q"):
            t[j] = t[j - 1] + t[j]
        with build.loops(j=end) as j, build.statement("C"):
            y[i, j] = t[j] - x[i, j]
    return build.kernel()


@pytest.mark.parametrize(
    "kernel", [scratch(), row(), row(triangular=True)], ids=["scratch", "row", "triangle"]
)
def test_lanes_and_threads(kernel: Kernel) -> None:
    refused = check(Schedule(kernel).vectorize("i", 4)).violation
    assert refused is not None
    assert refused.cause is Cause.LANES
    assert not check(Schedule(kernel).parallel("i")).is_legal
    whole = Schedule(kernel).privatize("t", "i")
    assert_dependences_are_those_of_a_new_analysis(whole.program)
    assert_agrees(whole.vectorize("i", 4), *spread("n", values=SIZES))
    assert_agrees(whole.parallel("i"), *spread("n", values=SIZES))
    tile = Schedule(kernel).split("i", 4).privatize("t", "ii")
    assert_dependences_are_those_of_a_new_analysis(tile.program)
    assert_agrees(tile.vectorize("ii", 4), *spread("n", values=SIZES))
    assert_agrees(tile.vectorize("ii", 4).promote("t_private", "io"), *spread("n", values=SIZES))


def test_the_copies_of_a_split_loop_take_memory_for_one_chunk() -> None:
    schedule = Schedule(scratch()).split("i", 8).privatize("t", "ii")
    array = schedule.program.arrays["t_private"]
    assert [str(extent) for extent in array.stored_shape] == ["8"]


def nested() -> Kernel:
    """``P: t = x[i, j] + y[i, j]``, then ``C: y[i, j] = 3 * t``."""
    build = KernelBuilder("nested")
    n = build.parameter("n")
    x, y = build.input("x", i32, (n, n)), build.inout("y", i32, (n, n))
    t = build.temporary("t", i32, ())
    with build.loops(i=n, j=n) as (i, j):
        with build.statement("P"):
            t[()] = x[i, j] + y[i, j]
        with build.statement("C"):
            y[i, j] = 3 * t[()]
    return build.kernel()


def test_inner_loop() -> None:
    """Below an outer loop, whose iterations go on sharing the memory."""
    schedule = Schedule(nested()).privatize("t", "j")
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert check(schedule.parallel("i")).is_legal
    assert_agrees(schedule.vectorize("j", 4), *spread("n", values=SIZES))


def test_a_part_of_the_array_that_others_use_stays() -> None:
    build = KernelBuilder("parts")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", i32, (n,)), build.output("y", i32, (n,))
    t = build.temporary("t", i32, (2,))
    with build.statement("start"):
        t[1] = x[0]
    with build.loops(i=n) as i:
        with build.statement("P"):
            t[0] = 2 * x[i]
        with build.statement("C"):
            y[i] = t[0]
    with build.statement("end"):
        y[0] = t[1]
    schedule = Schedule(build.kernel()).privatize("t", "i")
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert_agrees(schedule.vectorize("i", 4), *spread("n", values=SIZES[1:]))


def test_buffer_of_an_earlier_step() -> None:
    schedule = Schedule(nested()).promote("t", "i").privatize("t_local", "j", into="lanes")
    assert schedule.program.arrays["lanes"].dimensions == ("at_i", "each_j")
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert_agrees(schedule.parallel("i").vectorize("j", 4), *spread("n", values=SIZES))


def test_loops_from_the_inside_out() -> None:
    """A copy for every pair of iterations, so that the halves of both loops can part."""
    schedule = Schedule(nested()).privatize("t", "j").privatize("t_private", "i", into="whole")
    array = schedule.program.arrays["whole"]
    assert (array.dimensions, array.tile) == (
        (
            "each_i",
            "each_j",
        ),
        0,
    )
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    apart = schedule.distribute("j").distribute("i").vectorize("C.j", 4).reorder("P.j", "P.i")
    assert_agrees(apart, *spread("n", values=SIZES))


def test_buffer_made_inside_the_loop() -> None:
    schedule = Schedule(row(triangular=True)).promote("t", "i").privatize("t_local", "i")
    assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert_agrees(schedule.vectorize("i", 4), *spread("n", values=SIZES))
    assert_agrees(schedule.parallel("i"), *spread("n", values=SIZES))


def test_several_buffers_in_one_iteration() -> None:
    schedule = Schedule(row()).split("i", 4).promote("t", "ii")
    expected = "an iteration of loop 'io' touches several tiles of buffer 't_local', one for each"
    with pytest.raises(ScheduleError, match=expected):
        schedule.privatize("t_local", "io")


def test_lanes_side_by_side(check_golden: Callable[[str, str], None]) -> None:
    schedule = Schedule(row(triangular=True)).split("i", 4)
    schedule = schedule.privatize("t", "ii", order=("d0", "each_ii")).vectorize("ii", 4)
    check_golden("schedule/privatize.txt", before_and_after(schedule))
    assert_agrees(schedule, *spread("n", values=SIZES))


def test_a_value_of_another_iteration() -> None:
    build = KernelBuilder("carried")
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", i32, (n,)), build.output("y", i32, (n,))
    t = build.temporary("t", i32, ())
    with build.statement("start"):
        t[()] = x[0]
    with build.loops(i=n) as i:
        with build.statement("C"):
            y[i] = t[()]
        with build.statement("P"):
            t[()] = x[i]
    expected = (
        r"the iterations of loop 'i' share values of array 't': C\[0\] reads what start\[\] writes "
        r"outside of the loop \(with n = 1\); only a copy that is used in its own iteration"
    )
    with pytest.raises(ScheduleError, match=expected):
        Schedule(build.kernel()).privatize("t", "i")


def test_the_smallest_pair_is_named() -> None:
    build = KernelBuilder("late")
    n = build.parameter("n", minimum=3)
    x, y = build.input("x", i32, (n,)), build.output("y", i32, (n,))
    t = build.temporary("t", i32, ())
    with build.loops(i=n) as i:
        with build.where(i >= 2), build.statement("C"):
            y[i] = t[()]
        with build.statement("P"):
            t[()] = x[i]
    expected = r"C\[2\] reads what P\[1\] writes in another iteration \(with n = 3\)"
    with pytest.raises(ScheduleError, match=expected):
        Schedule(build.kernel()).privatize("t", "i")


def test_a_value_that_is_read_after_the_loop() -> None:
    expected = r"C\[0,0\] reads what P\[0,0\] writes inside the loop"
    with pytest.raises(ScheduleError, match=expected):
        Schedule(kernels.blur()).privatize("t", "P.i")


def shared_rows(source: random.Random) -> Kernel:
    """A scratch row that is written and read around and in a loop, at random places of it."""
    build = KernelBuilder("shared_rows")
    n = build.parameter("n", minimum=1, maximum=4)
    x, y = build.input("x", i32, (9,)), build.inout("y", i32, (9, 9))
    t = build.temporary("t", i32, (9,))
    with build.loops(z=9) as z, build.statement("start"):
        t[z] = x[z]
    with build.loops(i=n) as i:
        for number in range(source.randint(2, 4)):
            begin, end = source.choice([0, 0, 1]), source.choice([n + 1, i + 2, 2, 3])
            with build.loops(j=(begin, end)) as j:
                place = source.choice([j, j + 1, i, j + i, 2 * j])
                with build.statement(f"S{number}"):
                    if number == 0 or source.random() < 0.5:
                        t[place] = x[j] + number
                    else:
                        y[i, j] = y[i, j] + t[place]
    if source.random() < 0.3:
        with build.loops(z=(source.choice([0, 5]), 9)) as z, build.statement("end"):
            y[z, 8] = t[z]
    return build.kernel()


def shares_values(kernel: Kernel, size: int) -> bool:
    """Whether the iterations of loop i share values of the row, by running through the program."""
    writers: dict[tuple[int, ...], tuple[int, ...] | None] = {}
    for name, instance in instances(kernel, {"n": size}):
        statement = kernel.statements[name]
        variables = {"n": size, **dict(zip(statement.indices, instance, strict=True))}
        own = (instance[0],) if name.startswith("S") else None
        for position in (*range(1, len(statement.accesses)), 0):
            access = statement.accesses[position]
            if access.array == "t":
                element = tuple(int(evaluate_many(one, variables)) for one in access.subscripts)
                if position == 0:
                    writers[element] = own
                elif writers[element] != own:
                    return True
    return False


def privatized(kernel: Kernel) -> Schedule | None:
    try:
        return Schedule(kernel).privatize("t", "i")
    except ScheduleError:
        return None


def test_accepted_is_what_enumeration_accepts() -> None:
    accepted = 0
    for seed in range(cases(15)):
        kernel = shared_rows(random.Random(seed))
        schedule = privatized(kernel)
        shares = any(shares_values(kernel, size) for size in (1, 2, 3, 4))
        assert (schedule is None) is shares, f"seed {seed}"
        if schedule is not None:
            accepted += 1
            assert_dependences_are_those_of_a_new_analysis(schedule.program)
    assert 1 < accepted < cases(15) - 1


@pytest.mark.parametrize("order", ["any", "exact"])
def test_a_reduction_is_a_case_for_rfactor(order: str) -> None:
    build = KernelBuilder("total")
    n = build.parameter("n")
    x, t = build.input("x", i32, (n,)), build.temporary("t", i32, ())
    with build.statement("zero"):
        t[()] = 0
    with build.loops(i=n) as i, build.statement("S", order=order):
        t[()] += x[i]
    free = "" if order == "any" else r"declare it with order=\"any\" and "
    with pytest.raises(ScheduleError, match=rf"reduction: {free}use rfactor\('S', 'i'\)"):
        Schedule(build.kernel()).privatize("t", "i")


def test_only_temporaries() -> None:
    with pytest.raises(ScheduleError, match="'y' is an output, which the caller shares"):
        Schedule(scratch()).privatize("y", "i")


def test_order_of_the_dimensions() -> None:
    with pytest.raises(
        ScheduleError, match="must name each dimension of array 't' once: each_i, d0"
    ):
        Schedule(row()).privatize("t", "i", order=("d0",))


def test_unknown_loop() -> None:
    with pytest.raises(ScheduleError, match="no loop 'k'"):
        Schedule(scratch()).privatize("t", "k")


def test_array_that_is_not_used_there() -> None:
    with pytest.raises(ScheduleError, match="below loop 'zero.i' accesses array"):
        Schedule(kernels.reductions()).distribute("i", after="zero").privatize("largest", "zero.i")


def test_a_loop_around_a_statement_without_indices() -> None:
    build = KernelBuilder("table")
    y = build.output("y", i32, (2,))
    t = build.temporary("t", i32, (2,))
    for position in range(2):
        with build.statement(f"P{position}"):
            t[position] = position + 3
    with build.loops(i=2) as i, build.statement("C"):
        y[i] = t[i]
    schedule = Schedule(build.kernel()).pack("t", "i").compute_at("P0", "t_packed.d0")
    with pytest.raises(ScheduleError, match=r"share values of array 't'.*P1\[\] writes outside"):
        schedule.privatize("t", "P0.d0")
