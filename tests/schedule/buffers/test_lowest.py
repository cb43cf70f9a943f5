"""The smallest subscript in a tile, found from its own indices and by isl."""

import islpy as isl
import pytest

from polysched.dependence.relations import Reference
from polysched.ir.core.kernel import Kernel, access_relation
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.schedule.buffers.footprint import from_tiles, lowest_subscript
from polysched.schedule.buffers.lowest import lowest_by_indices
from polysched.schedule.core.program import find_loop, prefix_loops, prefix_map
from polysched.schedule.schedule import Schedule
from tests.support import kernels

READ = Reference("S", 1)


def windows() -> Kernel:
    """Reads ``a[i + 2*k, j]`` and ``a[i, j]``: the first depends on two indices."""
    build = KernelBuilder("windows")
    a, b = build.input("a", i32, (26, 20)), build.output("b", i32, (22, 20, 3))
    with build.loops(i=22, j=20, k=3) as (i, j, k), build.statement("S"):
        b[i, j, k] = a[i + 2 * k, j]
    return build.kernel()


def in_parts(kernel: Kernel) -> Schedule:
    """Tiles of 3x4 in uneven parts, whose two loops are one."""
    return (
        Schedule(kernel)
        .divide("i", 3, 3, into="pi")
        .divide("j", 3, 4, into="pj")
        .split("i", 3, into=("ti", "ri"))
        .split("j", 4, into=("tj", "rj"))
        .reorder("pi", "pj", "ti", "tj", "ri", "rj")
        .collapse("pi", "pj", "parts")
    )


def both(schedule: Schedule, at: str, position: int) -> tuple[isl.PwAff | None, isl.PwAff, isl.Set]:
    """What is found from the indices and by isl, and the tiles."""
    program = schedule.program
    around = prefix_loops(program, find_loop(program, at))
    names = tuple(f"at_{loop.name}" for loop in around)
    statement = program.statements["S"]
    touched = access_relation(statement, statement.accesses[1])
    tiles = prefix_map(statement, around, [])
    footprint = from_tiles(tiles.flat_range_product(touched).range(), len(around))
    found = lowest_by_indices(program, [READ], around, position, names)
    return found, lowest_subscript(footprint, position, names), footprint.domain()


def assert_alike(found: isl.PwAff | None, expected: isl.PwAff, tiles: isl.Set) -> None:
    assert found is not None
    difference = found.sub(expected)
    assert tiles.is_subset(difference.zero_set())


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("at", ["parts", "ti", "tj", "ri"])
@pytest.mark.parametrize("kernel", [kernels.grid(22, 20), windows()], ids=lambda one: one.name)
def test_it_is_what_isl_finds(kernel: Kernel, at: str, position: int) -> None:
    assert_alike(*both(in_parts(kernel), at, position))


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("at", ["parts", "ti", "tj", "ri"])
def test_a_triangle(at: str, position: int) -> None:
    """What is not reached in every tile is no answer."""
    found, expected, tiles = both(in_parts(kernels.grid(22, triangular=True)), at, position)
    if found is not None:
        assert_alike(found, expected, tiles)


def test_columns_of_a_triangle_begin_where_its_tile_does() -> None:
    found, *_ = both(in_parts(kernels.grid(22, triangular=True)), "parts", 0)
    assert found is None


def test_nothing_is_asked_where_each_loop_has_its_index() -> None:
    found, *_ = both(Schedule(kernels.grid(22, 20)).split("i", 4), "io", 0)
    assert found is None


def test_references_that_begin_apart() -> None:
    """Of ``a[i, j]`` and ``a[i, j + 1]`` only isl tells the least of both."""
    build = KernelBuilder("pairs")
    a, b = build.input("a", i32, (22, 21)), build.output("b", i32, (22, 20))
    with build.loops(i=22, j=20) as (i, j), build.statement("S"):
        b[i, j] = a[i, j] + a[i, j + 1]
    program = in_parts(build.kernel()).program
    around = prefix_loops(program, find_loop(program, "tj"))
    names = tuple(f"at_{loop.name}" for loop in around)
    second = Reference("S", 2)
    found = [
        lowest_by_indices(program, references, around, 1, names)
        for references in ([READ], [second], [READ, second])
    ]
    assert [one is None for one in found] == [False, False, True]


def test_two_statements_that_begin_alike() -> None:
    build = KernelBuilder("sums")
    a, b = build.input("a", i32, (22, 20)), build.output("b", i32, (22, 20))
    with build.loops(i=22, j=20) as (i, j):
        with build.statement("S"):
            b[i, j] = a[i, j]
        with build.statement("T"):
            b[i, j] = b[i, j] + a[i, j]
    program = in_parts(build.kernel()).program
    around = prefix_loops(program, find_loop(program, "S.tj"))
    names = tuple(f"at_{loop.name}" for loop in around)
    found = lowest_by_indices(program, [READ, Reference("T", 2)], around, 1, names)
    assert found is not None
