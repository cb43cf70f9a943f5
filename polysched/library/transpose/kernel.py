"""Kernel of a transposed copy: full tiles, and separate statements for the edges."""

from __future__ import annotations

from collections.abc import Sequence

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Index, Operand


def transpose_kernel(order: Sequence[int], dtype: DType, tile: int) -> Kernel:
    """Declare ``y = x`` with permuted dimensions; the parameters are the extents of ``x``.

    Arrays, row-major: ``x[e0, e1, ...]`` and ``y[e{order[0]}, e{order[1]}, ...]``. The last
    dimension of ``y`` runs across the rows of ``x``, that of ``x`` across the rows of ``y``; these
    two are cut into tiles. The statements: ``tiles`` in the loops ``d<axis>`` of the other
    dimensions, ``across``, ``along``, ``of_row`` and ``of_column`` (tile of the rows of x, tile of
    its columns, column, row); ``below`` for the rows of x that fill no tile and ``beside`` for
    the columns, in the loops ``row`` and ``column``.

    Args:
        order: the dimension of ``x`` for each dimension of ``y``; it moves the last dimension.
        tile: rows and columns of a tile.
    """
    rank = len(order)
    if rank < 2 or sorted(order) != list(range(rank)) or order[-1] == rank - 1:
        raise KernelError(
            f"transpose: order={tuple(order)}; expected an order of two dimensions or more in "
            "which the last one does not stay the last"
        )
    if tile < 1:
        raise KernelError(f"transpose: tiles of {tile} rows; expected at least 1")
    build = KernelBuilder("transpose_" + "".join(map(str, order)))
    extents = [build.parameter(f"e{axis}", minimum=0) for axis in range(rank)]
    x = build.input("x", dtype, extents)
    y = build.output("y", dtype, [extents[axis] for axis in order])
    outer_axes = [axis for axis in range(rank) if axis not in (order[-1], rank - 1)]
    outer = {f"d{axis}": extents[axis] for axis in outer_axes}
    rows, columns = extents[order[-1]], extents[-1]

    def copy(indices: Sequence[Index], row: Operand, column: Operand) -> None:
        at: dict[int, Operand] = {
            **dict(zip(outer_axes, indices, strict=True)),
            order[-1]: row,
            rank - 1: column,
        }
        y[tuple(at[axis] for axis in order)] = x[tuple(at[axis] for axis in range(rank))]

    whole_rows, whole_columns = rows // tile, columns // tile
    tiles = build.loops(
        **outer, across=whole_rows, along=whole_columns, of_row=tile, of_column=tile
    )
    with tiles as (*indices, across, along, of_row, of_column), build.statement("tiles"):
        copy(indices, tile * across + of_column, tile * along + of_row)
    below = build.loops(**outer, row=(tile * whole_rows, rows), column=columns)
    with below as (*indices, row, column), build.statement("below"):
        copy(indices, row, column)
    beside = build.loops(**outer, row=tile * whole_rows, column=(tile * whole_columns, columns))
    with beside as (*indices, row, column), build.statement("beside"):
        copy(indices, row, column)
    return build.kernel()
