"""Short rows: transposed in registers, every shape of the last tile."""

from __future__ import annotations

from polysched.inspect.assembly import parse
from polysched.library.register_transpose import rows_as_lanes
from polysched.user import Schedule
from tests.library.test_folding import sums
from tests.support.differential import assert_agrees
from tests.support.effort import covering


def in_lanes(rows: int, columns: int, block: int) -> Schedule:
    schedule = Schedule(sums(rows, columns)).split("S.row", block, into=("tile", "inner"))
    schedule = rows_as_lanes(schedule.reorder("column", "inner"), ("x",), "tile", block)
    return schedule.vectorize("inner", block)


@covering(
    1, columns=[1, 3, 4, 9, 17], **{"rows, block": [(1, 2), (3, 4), (9, 4), (16, 16), (17, 16)]}
)
def test_every_term_once(rows: int, block: int, columns: int) -> None:
    schedule = in_lanes(rows, columns, block)
    assert schedule.check().is_legal
    assert_agrees(schedule)


def test_rows_are_loaded_whole() -> None:
    (function,) = parse(in_lanes(160, 16, 16).show("asm", "skylake-avx512"))
    assert sum(loop.counts.gathers for loop in function.loops) == 0
    assert max(loop.counts.vector_loads for loop in function.loops) >= 16
