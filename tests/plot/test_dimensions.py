import pytest

from polysched.errors import PlotError
from polysched.legality.check import check
from polysched.plot.dimensions import (
    chosen_dimensions,
    chosen_statements,
    coordinate,
    require_dimensions,
    require_loops,
    tile_loops,
)
from polysched.schedule.schedule import Schedule
from tests.support.kernels import (
    grid,
    matmul,
    scalars,
    seidel,
    seidel_plane,
    stepped,
    triangular_solve,
)


def test_all_statements_of_the_kernel_are_chosen() -> None:
    schedule = Schedule(matmul()).pack("a", at="update.l")
    assert len(schedule.program.statements) == 3
    assert chosen_statements(schedule.program, ()) == ("init", "update")
    assert chosen_statements(schedule.program, ("update", "update")) == ("update",)


def test_unknown_statement() -> None:
    with pytest.raises(PlotError, match="no statement 'updat'; did you mean 'update'?"):
        chosen_statements(Schedule(matmul()).program, ("updat",))


def test_a_name_is_an_index_first_and_with_a_statement_a_loop() -> None:
    program = Schedule(seidel()).skew("i", by="s").program
    index, loop = coordinate(program, "S", "i"), coordinate(program, "S", "S.i")
    assert index is not None
    assert loop is not None
    assert index.is_equal(coordinate(Schedule(seidel()).program, "S", "S.i"))
    assert not index.is_equal(loop)
    assert coordinate(program, "S", "io") is None


def test_names_must_be_known_to_a_statement() -> None:
    program = Schedule(matmul()).split("update.l", 4).program
    require_dimensions(program, ("init", "update"), ("l", "lo", "update.li"), "dimension")
    with pytest.raises(PlotError, match="no dimension 'l' of statement 'init': expected an index"):
        require_dimensions(program, ("init",), ("l",), "dimension")


def test_loops_must_be_loops() -> None:
    program = Schedule(matmul()).split("update.l", 4).program
    require_loops(program, ("init", "update"), ("lo", "update.li", "init.j"))
    with pytest.raises(PlotError, match="no loop 'l' of statement 'update': expected a loop of"):
        require_loops(program, ("update",), ("l",))
    with pytest.raises(PlotError, match=r"no statement 'updates' \(in 'updates.lo'\); did you"):
        require_loops(program, ("update",), ("updates.lo",))


def dimensions(schedule: Schedule, *names: str, at: tuple[str, ...] = ()) -> tuple[str, ...]:
    program, violation = schedule.program, check(schedule).violation
    return chosen_dimensions(program, tuple(program.kernel.statements), names, at, violation)


def test_shared_indices_of_the_deepest_statement_are_chosen() -> None:
    assert dimensions(Schedule(matmul())) == ("i", "j")
    assert dimensions(Schedule(matmul()), at=("i",)) == ("j", "l")
    assert dimensions(Schedule(scalars())) == ("i",)


def test_indices_in_which_a_witness_differs_are_chosen() -> None:
    schedule = Schedule(seidel_plane()).reorder("j", "s", "i")
    violation = check(schedule).violation
    assert violation is not None
    assert violation.witness.sink is not None
    source, sink = violation.witness.source.instance, violation.witness.sink.instance
    differing = [name for name, a, b in zip("sij", source, sink, strict=True) if a != b]
    assert len(differing) == 2
    assert dimensions(schedule) == tuple(differing)


def test_indices_that_both_instances_of_a_witness_have_are_chosen() -> None:
    assert dimensions(Schedule(triangular_solve())) == ("i", "j")
    assert dimensions(Schedule(triangular_solve()).shift("i", 1, statement="init")) == ("i",)


@pytest.mark.parametrize(
    ("names", "at", "message"),
    [
        (("i", "j", "l"), (), "dimensions i, j, l; expected one or two different dimensions"),
        (("i", "i"), (), "dimensions i, i; expected one or two different dimensions"),
        (("i", "m"), (), "no dimension 'm' of statement 'init' or 'update'"),
        (("i", "j"), ("j",), "dimension 'j' is an axis and cannot be fixed as well"),
        ((), ("i", "j", "l"), "'init' and 'update' has no free index to plot"),
    ],
)
def test_bad_dimensions(names: tuple[str, ...], at: tuple[str, ...], message: str) -> None:
    with pytest.raises(PlotError, match=message):
        dimensions(Schedule(matmul()), *names, at=at)


def test_loops_over_tiles() -> None:
    plain = Schedule(grid())
    assert tile_loops(plain.program, "S") == ()
    tiled = plain.tile(("i", "j"), (4, 8))
    assert tile_loops(tiled.program, "S") == ("io", "jo")
    assert tile_loops(tiled.split("ji", 2).program, "S") == ("io", "jo", "jio")
    assert tile_loops(tiled.reorder("io", "jo", "ji", "ii").program, "S") == ("io", "jo")
    assert tile_loops(plain.reverse("i").program, "S") == ()


def test_loops_over_tiles_of_a_skewed_and_of_a_stepped_nest() -> None:
    skewed = Schedule(seidel()).skew("i", by="s").tile(("s", "i"), (4, 4))
    assert tile_loops(skewed.program, "S") == ("so", "io")
    assert tile_loops(Schedule(stepped()).program, "S") == ()
