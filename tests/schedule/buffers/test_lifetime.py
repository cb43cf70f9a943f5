"""Where the memory of a buffer is born."""

from polysched.ir.core.tree import executed, path
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.functions import equal
from polysched.schedule.buffers.lifetime import Lifetime, holds_one_tile, lifetime
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul, windows
from tests.support.differential import assert_agrees, spread


def life_of(schedule: Schedule, buffer: str) -> Lifetime:
    program = schedule.program
    found = lifetime(program, executed(program.tree), program.arrays[buffer])
    assert found is not None
    return found


def loops_around(life: Lifetime) -> list[str]:
    return [loop.name for loop in life.position.around]


def test_a_tile_lives_for_one_iteration_of_its_loop() -> None:
    life = life_of(Schedule(matmul()).promote("C", "update.j"), "C_local")
    assert (loops_around(life), life.is_contiguous) == (["i", "j"], True)


def test_loops_inside_the_tile_do_not_count_even_around_all_users() -> None:
    """Values cross the iterations of k, so the memory must outlive them."""
    life = life_of(Schedule(windows()).promote("t", "i"), "t_local")
    assert (loops_around(life), life.is_contiguous) == (["i"], True)


def test_loops_that_came_later_count_if_the_tile_depends_on_them() -> None:
    life = life_of(Schedule(windows()).promote("t", "i").split("i", 4), "t_local")
    assert (loops_around(life), life.is_contiguous) == (["io", "ii"], True)


def test_a_loop_with_one_iteration_does_not_matter() -> None:
    life = life_of(Schedule(windows()).split("k", 8).promote("t", "ko"), "t_local")
    assert (loops_around(life), life.is_contiguous) == (["i"], True)


def test_lanes_share_their_memory() -> None:
    schedule = Schedule(matmul()).promote("C", "update.j").vectorize("update.j", 4)
    life = life_of(schedule, "C_local")
    assert (loops_around(life), life.is_contiguous) == ([], False)


def test_tiles_that_take_turns_share_memory_outside_of_all_loops() -> None:
    life = life_of(Schedule(windows()).promote("t", "i").collapse("i", "k", "ik"), "t_local")
    assert (loops_around(life), life.is_contiguous) == ([], False)


def test_threads_do_not_share_it() -> None:
    """Every iteration of ``b`` has a buffer, in which the tiles of its ``i`` take turns."""
    build = KernelBuilder("batch")
    t, o = build.temporary("t", i32, (5, 6, 8)), build.output("o", i32, (5, 6, 8))
    with build.loops(b=5, i=6, k=8) as (b, i, k):
        with build.statement("S"):
            t[b, i, k] = 3
        with build.statement("T"):
            o[b, i, k] = t[b, i, k // 2]
    schedule = Schedule(build.kernel()).promote("t", "i").collapse("i", "k", "ik").parallel("b")
    life = life_of(schedule, "t_local")
    assert (loops_around(life), life.is_contiguous) == (["b"], False)
    assert_agrees(schedule)


def test_without_users_there_is_no_lifetime() -> None:
    program = Schedule(windows()).program
    unused = Schedule(matmul()).program.arrays["A"]
    assert lifetime(program, executed(program.tree), unused) is None


def test_two_tiles_in_one_iteration() -> None:
    """Each statement touches one tile in an iteration, but not all of them the same."""
    build = KernelBuilder("twice")
    n = build.parameter("n")
    t = build.temporary("t", i32, (n,))
    y, z = build.output("y", i32, (n,)), build.output("z", i32, (n,))
    with build.loops(i=n) as i:
        with build.statement("A"):
            t[i] = 1
        with build.statement("B"):
            y[i] = t[i]
        with build.statement("C"):
            t[i] = 2
        with build.statement("D"):
            z[i] = t[i]
    schedule = Schedule(build.kernel()).promote("t", "i").distribute("i")
    schedule = schedule.shift("C.i", 1).shift("D.i", 1)
    for second in ("B.i", "C.i", "D.i"):
        schedule = schedule.fuse("A.i", second)
    life = life_of(schedule, "t_local")
    assert (loops_around(life), life.is_contiguous) == ([], False)
    assert_agrees(schedule, *spread("n"))


def test_tiles_of_two_statements_that_have_one_each() -> None:
    """Each statement touches one tile whatever the loops do, but not the same."""
    build = KernelBuilder("halves")
    t, o = build.temporary("t", i32, (2,)), build.output("o", i32, (2,))
    with build.loops(i=2) as i:
        for name, value in (("S", 0), ("T", 1)):
            with build.where(equal(i, value)):
                with build.statement(f"{name}1"):
                    t[i] = value
                with build.statement(f"{name}2"):
                    o[i] = t[i]
    program = Schedule(build.kernel()).promote("t", "i").program
    (loop,) = path(program.tree, "S1")
    buffer = program.arrays["t_local"]
    assert not holds_one_tile(program, buffer, ())
    assert holds_one_tile(program, buffer, (loop,))


def test_a_number_of_a_tile_that_is_one_literal() -> None:
    """Where a loop has one iteration, it does not have to tell which tile it is."""
    program = Schedule(windows()).split("k", 8).promote("t", "ko").program
    around = path(program.tree, "S")[:1]
    assert [loop.name for loop in around] == ["i"]
    assert holds_one_tile(program, program.arrays["t_local"], around)
    assert not holds_one_tile(program, program.arrays["t_local"], ())
