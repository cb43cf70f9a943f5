"""Where the memory of a buffer is born."""

from polysched.ir.tree import executed
from polysched.schedule.lifetime import Lifetime, lifetime
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul, windows


def life_of(schedule: Schedule, buffer: str) -> Lifetime:
    program = schedule.program
    found = lifetime(program, executed(program.tree), program.arrays[buffer])
    assert found is not None
    return found


def loops_around(life: Lifetime) -> list[str]:
    return [loop.name for loop in life.position.around]


def test_a_tile_lives_for_one_iteration_of_its_loop() -> None:
    life = life_of(Schedule(matmul()).promote("C", "update.j"), "C_local")
    assert (loops_around(life), life.one_tile) == (["i", "j"], True)


def test_loops_inside_the_tile_do_not_count_even_around_all_users() -> None:
    """Values cross the iterations of k, so the memory must outlive them."""
    life = life_of(Schedule(windows()).promote("t", "i"), "t_local")
    assert (loops_around(life), life.one_tile) == (["i"], True)


def test_loops_that_came_later_count_if_the_tile_depends_on_them() -> None:
    life = life_of(Schedule(windows()).promote("t", "i").split("i", 4), "t_local")
    assert (loops_around(life), life.one_tile) == (["io", "ii"], True)


def test_a_loop_with_one_iteration_does_not_matter() -> None:
    life = life_of(Schedule(windows()).split("k", 8).promote("t", "ko"), "t_local")
    assert (loops_around(life), life.one_tile) == (["i"], True)


def test_lanes_share_their_memory() -> None:
    schedule = Schedule(matmul()).promote("C", "update.j").vectorize("update.j", 4)
    life = life_of(schedule, "C_local")
    assert (loops_around(life), life.one_tile) == (["i", "j"], False)


def test_without_users_there_is_no_lifetime() -> None:
    program = Schedule(windows()).program
    unused = Schedule(matmul()).program.arrays["A"]
    assert lifetime(program, executed(program.tree), unused) is None
