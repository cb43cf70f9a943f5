import islpy as isl
import numpy as np
import pytest

from polysched.errors import PolyschedError
from polysched.loops.generate import generate_loops
from polysched.plot.instances import enumerated, fixed_domain, instances
from polysched.schedule.schedule import Schedule
from tests.support.interpreting import interpret
from tests.support.kernels import chain, grid, matmul, seidel

SCHEDULES = {
    "as written": lambda: Schedule(chain()),
    "fused": lambda: Schedule(chain()).fuse("P.i", "C.i").fuse("P.j", "C.j"),
    "half fused": lambda: Schedule(chain()).fuse("P.i", "C.i").reverse("i"),
    "tiled": lambda: Schedule(chain()).tile(("P.i", "P.j"), (2, 3)).reverse("C.j"),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_order_is_that_of_the_loops_that_are_generated(name: str) -> None:
    schedule = SCHEDULES[name]()
    ran: list[tuple[str, tuple[int, ...]]] = []
    sizes = {"n": 5, "m": 4}
    interpret(
        generate_loops(schedule.program),
        {"a": np.zeros((5, 4), np.int32)},
        sizes,
        observer=lambda statement, instance: ran.append((statement, instance)),
    )
    found = instances(schedule.program, ("P", "C"), ("i", "j"), {}, (), sizes)
    ranked = [
        (order, one.statement, tuple(row))
        for one in found
        for row, order in zip(one.rows.tolist(), one.order.tolist(), strict=True)
    ]
    assert [order for order, *_ in sorted(ranked)] == list(range(40))
    assert [(statement, row) for _, statement, row in sorted(ranked)] == ran


def test_lanes_run_together() -> None:
    schedule = Schedule(grid(2, 6)).vectorize("j", 4)
    (found,) = instances(schedule.program, ("S",), ("i", "j"), {}, (), {})
    assert found.order.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3]


def test_places_and_tiles() -> None:
    schedule = Schedule(seidel(2, 6)).skew("i", by="s").tile(("s", "i"), (2, 3))
    (found,) = instances(schedule.program, ("S",), ("s", "S.ii"), {}, ("so", "io"), {})
    for (s, i), place, tile in zip(found.rows, found.places, found.tiles, strict=True):
        assert place.tolist() == [s, (s + i) % 3]
        assert tile.tolist() == [0, (s + i) // 3]


def test_dimensions_are_fixed_where_there_are_any() -> None:
    program = Schedule(matmul(3, 3, 3)).program
    init, update = instances(program, ("init", "update"), ("i", "j"), {"l": 2, "j": 1}, (), {})
    assert init.rows.tolist() == [[0, 1], [1, 1], [2, 1]]
    assert update.rows.tolist() == [[0, 1, 2], [1, 1, 2], [2, 1, 2]]


def test_a_loop_can_be_fixed() -> None:
    program = Schedule(grid(4, 8)).split("j", 4).program
    domain = fixed_domain(program, "S", {"jo": 1, "i": 0})
    assert enumerated(domain, "S", {}).tolist() == [[0, 4], [0, 5], [0, 6], [0, 7]]


def test_a_statement_without_a_loop_of_the_tile_has_zero() -> None:
    program = Schedule(matmul(2, 2, 4)).split("update.l", 2).program
    init, update = instances(program, ("init", "update"), ("i", "j"), {}, ("lo",), {})
    assert set(init.tiles.ravel().tolist()) == {0}
    assert set(update.tiles.ravel().tolist()) == {0, 1}


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ("{ S[i, j] : 0 <= i, j < 2001 }", "a box of 4,004,001 points around it$"),
        ("{ S[i, j] : 0 <= i, j < 500 }", "'S' is too large to plot as a whole: 250,000 instances"),
        ("{ S[i, j] : 0 <= i, j and j <= 5 }", "is unbounded in dimension 0"),
    ],
)
def test_too_large(domain: str, message: str) -> None:
    with pytest.raises(PolyschedError, match=message):
        enumerated(isl.Set(domain), "S", {})
