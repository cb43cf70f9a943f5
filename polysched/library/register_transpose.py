"""Transpose tiles in registers where that takes fewer instructions than gathers."""

from __future__ import annotations

from polysched.ir.dtypes import boolean
from polysched.ir.tree import statements
from polysched.schedule.program import find_loop, largest_extent
from polysched.user import Schedule

FEWEST = 4
"""Smallest number of lanes, and of columns, of a tile that is transposed in registers.

With n columns and w lanes, a tile takes w loads, w - n joins and n log n shuffles instead of n
gathers of w elements.
"""


def transposed_in_registers(
    schedule: Schedule, loop: str, across: str, *, fewest: int = FEWEST
) -> Schedule:
    """Transpose the tiles of a vector loop and an unrolled loop, if they are large enough.

    Args:
        schedule: the schedule.
        loop: the vector loop.
        across: the unrolled loop, which runs along the elements of a row.
        fewest: the smallest number of columns to transpose.
    """
    program = schedule.program
    vector = find_loop(program, loop)
    columns = largest_extent(program, find_loop(program, across)) or 0
    types = {
        program.arrays[access.array].dtype
        for name in statements(vector)
        for access in program.statements[name].accesses
    }
    if vector.lanes < FEWEST or columns < fewest:
        return schedule
    if any(dtype.is_odd or dtype == boolean for dtype in types):
        return schedule
    return schedule.transpose(loop, across)
