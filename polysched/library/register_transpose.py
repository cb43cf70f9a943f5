"""Transpose tiles in registers where that takes fewer instructions than gathers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import islpy as isl

from polysched.ir.core.kernel import Access, Array, Statement
from polysched.ir.core.tree import Loop, statements
from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.linear import linear_form
from polysched.schedule.core.program import find_loop, largest_extent

if TYPE_CHECKING:
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
        across: the unrolled loop, which runs along the elements of a row.
        fewest: the smallest number of columns to transpose.
    """
    program = schedule.program
    vector, copies = find_loop(program, loop), find_loop(program, across)
    columns = largest_extent(program, copies) or 0
    if vector.lanes < FEWEST or columns < fewest:
        return schedule
    strided = [
        (access, program.arrays[access.array], _indices(statement, copies))
        for statement in (program.statements[name] for name in statements(vector))
        for access in statement.accesses
        if _is_strided(access, program.arrays[access.array], _indices(statement, vector))
    ]
    if strided and all(_follows_rows(*access) for access in strided):
        return schedule.transpose(loop, across, fewest=fewest)
    return schedule


def rows_as_lanes(schedule: Schedule, arrays: tuple[str, ...], tile: str, block: int) -> Schedule:
    """Read the rows of a tile once, transposed, so that one vector has one term of every row.

    A short row does not fill a vector, and reducing a vector takes longer than adding its terms.

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


def _indices(statement: Statement, loop: Loop) -> frozenset[str]:
    """The indices of a statement on which the value of a loop depends."""
    value = loop.values[statement.name]
    return frozenset(
        name
        for position, name in enumerate(statement.indices)
        if value.involves_dims(isl.dim_type.in_, position, 1)
    )


def _is_strided(access: Access, array: Array, indices: frozenset[str]) -> bool:
    """Whether elements with other values of some indices are not in one row in memory."""
    uses = [linear_form(subscript, {}).uses(indices) for subscript in access.subscripts]
    along = uses.pop(array.lane_dimension) if uses else False
    return any(uses) and not along


def _follows_rows(access: Access, array: Array, indices: frozenset[str]) -> bool:
    """Whether some indices run along rows of contiguous elements that take whole bytes."""
    if array.dtype.is_odd_width or array.dtype == boolean:
        return False
    is_contiguous = array.strides is None or array.strides[array.lane_dimension] == Constant(1)
    subscript = access.subscripts[array.lane_dimension]
    return is_contiguous and linear_form(subscript, {}).uses(indices)
