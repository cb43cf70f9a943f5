"""Tile registers: the tiles that stay in them, and where configurations are placed."""

from __future__ import annotations

import numpy as np

import polysched as ps
from polysched.lower import limited_loops, show
from polysched.machine.load import load_machine
from polysched.vector import ir
from polysched.vector.interpret import interpreter
from polysched.vector.pass_list import vector_program
from polysched.vector.verify import verify
from tests.support.tile_programs import PRODUCTS, tiled

AMX = load_machine("sapphirerapids")
BYTES = PRODUCTS[1]


def counts(schedule: ps.Schedule) -> dict[str, int]:
    """The numbers of configurations, loads, stores and computations in a vector program."""
    vectors = vector_program(limited_loops(schedule), AMX)
    verify(vectors)
    nodes = list(ir.walk(vectors.body))
    kinds = (ir.Tiles, ir.TileLoad, ir.TileStore, ir.TileCompute)
    return {kind.__name__: sum(isinstance(node, kind) for node in nodes) for kind in kinds}


def test_sums_stay_in_registers_and_each_operand_is_loaded_once() -> None:
    found = counts(tiled(BYTES, 64, 64, 256))
    assert found == {"Tiles": 1, "TileLoad": 4, "TileStore": 4, "TileCompute": 8}
    text = show(tiled(BYTES, 64, 64, 256), "tiles", "sapphirerapids")
    body = text[text.index("for go") :].split("\n")
    assert [line.split()[0] for line in body[1:9]] == (
        "tmm4 tmm5 tmm0 tmm6 tmm1 tmm7 tmm2 tmm3".split()
    )
    assert "tmm0 = tdpbssd(tmm0, tmm4, tmm5)" in text


def test_each_shape_has_a_configuration() -> None:
    """Parts of 32 and 5 rows: two shapes of sums, each around a loop over columns."""
    found = counts(tiled(BYTES, 37, 64, 256))
    assert (found["Tiles"], found["TileStore"]) == (2, 4 + 2)


def accumulated(groups: int | ps.Parameter, build: ps.KernelBuilder, rows: int = 16) -> ps.Schedule:
    """``c += a b`` for ``groups`` tiles of terms; ``rows`` of up to 16 for each tile of sums."""
    a = build.input("a", ps.i8, (rows, 64 * groups))
    b = build.input("b", ps.i8, (16 * groups, 16, 4))
    c = build.inout("c", ps.i32, (rows, 16))
    with build.loops(m=rows, n=16, k=groups, g=16, t=4) as (m, n, k, g, t):
        wide = ps.cast(a[m, 64 * k + 4 * g + t], ps.i32), ps.cast(b[16 * k + g, n, t], ps.i32)
        c[m, n] += wide[0] * wide[1]
    schedule = ps.Schedule(build.kernel()).split("m", 16, into=("tile", "row")).vectorize("n", 16)
    return schedule.reorder("k", "tile", "n", "row", "g", "t", "nv").unroll("tile", "n")


def test_a_loop_that_may_not_run_touches_nothing_then() -> None:
    """The sums may not exist where no product is added to them."""
    build = ps.KernelBuilder("accumulate")
    schedule = accumulated(build.parameter("groups"), build).tensorize("row", "tdpbssd")
    text = show(schedule, "tiles", "sapphirerapids")
    assert text.index("for k") < text.index("tmm0 = tile(c")
    vectors = vector_program(limited_loops(schedule), AMX)
    empty = {"a": np.zeros((16, 0), np.int8), "b": np.zeros((0, 16, 4), np.int8)}
    c = np.arange(256, dtype=np.int32).reshape(16, 16)
    result = interpreter(vectors)({**empty, "c": c}, {"groups": 0})["c"]
    np.testing.assert_array_equal(result, c)


def test_a_loop_that_runs_holds_its_sums() -> None:
    build = ps.KernelBuilder("accumulate")
    schedule = accumulated(build.parameter("groups", minimum=1), build)
    text = show(schedule.tensorize("row", "tdpbssd"), "tiles", "sapphirerapids")
    assert text.index("tmm0 = tile(c") < text.index("for k")


def test_more_sums_than_registers() -> None:
    """Nine tiles of sums do not stay in eight registers: they are loaded in each iteration."""
    build = ps.KernelBuilder("accumulate")
    schedule = accumulated(2, build, rows=144).tensorize("row", "tdpbssd")
    text = show(schedule, "tiles", "sapphirerapids")
    loop = text[text.index("for k") :]
    assert loop.count("= tile(c") == loop.count("tdpbssd(") == 9
    verify(vector_program(limited_loops(schedule), AMX))
