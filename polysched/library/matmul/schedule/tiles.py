"""Register tiles of a product on a matrix unit: 2 x 2 tiles of sums, by public primitives only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polysched.instructions.amx import TILE_ROWS, amx_product
from polysched.ir.expr.linear import linear_form
from polysched.library.matmul.plan.tiles import LANES
from polysched.library.matmul.schedule.tiling import loops_around, remaining_loops

if TYPE_CHECKING:
    from polysched.user import Schedule

ZEROS = frozenset({"init", "update_init"})
"""The statements that clear the sums."""


def in_tiles(schedule: Schedule, statement: str) -> Schedule:
    """Compute the register tile of a statement, sums or zeros, by instructions on tiles."""
    around = loops_around(schedule, statement)
    (row,) = (loop for loop in around if loop in remaining_loops("m"))
    (column,) = (loop for loop in around if loop in remaining_loops("n"))
    terms: tuple[str, ...] = ()
    instruction = "tilezero"
    if statement not in ZEROS:
        arrays = schedule.kernel.arrays
        layout = arrays["b_vnni"]
        product = amx_product((arrays[_rows_of_a(schedule)].dtype, layout.dtype))
        assert product is not None
        instruction, terms = product.name, (f"{statement}.rk_group", f"{statement}.rk_term")
        size = linear_form(layout.shape[-1], {}).constant
        schedule = schedule.split(f"{statement}.rk", size, into=("rk_group", "rk_term"))
    tile, inside = f"{row}_tile", f"{row}_row"
    schedule = schedule.split(f"{statement}.{row}", TILE_ROWS, into=(tile, inside))
    schedule = schedule.vectorize(f"{statement}.{column}", LANES)
    outer = (f"{statement}.{tile}", f"{statement}.{column}")
    inner = (f"{statement}.{inside}", *terms, f"{statement}.{column}v")
    return schedule.reorder(*outer, *inner).unroll(*outer).tensorize(inner[0], instruction)


def _rows_of_a(schedule: Schedule) -> str:
    return "a_rows" if "a_rows" in schedule.kernel.arrays else "a"


def stores_tiles(schedule: Schedule, total: str) -> bool:
    """Whether tiles of sums can be stored in an array: its rows are contiguous."""
    strides = schedule.program.arrays[total].strides
    return strides is None or linear_form(strides[-1], {}).constant == 1
