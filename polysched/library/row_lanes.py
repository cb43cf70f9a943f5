"""Rows as lanes: transpose as many short rows as a vector has lanes in registers.

A short row does not fill a vector, and folding a vector takes longer than adding its terms.
"""

from __future__ import annotations

from polysched.library.register_transpose import transposed_in_registers
from polysched.user import Schedule


def rows_as_lanes(schedule: Schedule, arrays: tuple[str, ...], tile: str, block: int) -> Schedule:
    """Read the rows of a tile once, transposed, so that one vector has one term of every row.

    before::

        for tile in ...:
          for row in 0..16:
            for k in 0..5: S(row, x[16*tile + row, k])

    after ``rows_as_lanes(schedule, ("x",), "tile", 16)``::

        for tile in ...:
          for k in 0..5: vector row in 0..16: x_packed[k, row] = x[16*tile + row, k]
          for row in 0..16:
            for k in 0..5: S(row, x_packed[k, row])

    Args:
        schedule: a schedule in which ``tile`` contains all reads of the arrays.
        arrays: arrays with the dimensions rows and terms, in this order.
        tile: the loop over blocks of rows.
        block: rows of a tile.
    """
    for array in arrays:
        rows, terms = schedule.program.arrays[array].dimensions
        packed = f"{array}_packed"
        schedule = (
            schedule.pack(array, at=tile, order=(terms, rows))
            .reorder(f"{packed}.{terms}", f"{packed}.{rows}")
            .vectorize(f"{packed}.{rows}", block)
            .unroll(f"{packed}.{terms}")
        )
        schedule = transposed_in_registers(schedule, f"{packed}.{rows}v", f"{packed}.{terms}")
    return schedule
