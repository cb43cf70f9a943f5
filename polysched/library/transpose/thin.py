"""Copy between many short rows, such as the pixels of an image, and few long rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import TransposeStrategy
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Expression, Index
from polysched.library.on_demand import unscheduled
from polysched.library.transpose.axes import Movement

if TYPE_CHECKING:
    from polysched.user import Schedule

MOST_COLUMNS = 16
"""Split whole vectors for at most this many columns; for more, row-wise loads measured faster."""


@dataclass(frozen=True)
class Thin:
    """A transposition of ``images`` matrices of ``rows`` times ``columns`` elements.

    Attributes:
        images: the number of matrices.
        rows: the larger extent of a matrix.
        columns: the smaller extent of a matrix.
        joins: whether the short rows are in the result; otherwise they are in the source.
    """

    images: int
    rows: int
    columns: int
    joins: bool

    @property
    def source(self) -> tuple[int, ...]:
        """The shape of the kernel's input."""
        return self._long if self.joins else self._dense

    @property
    def target(self) -> tuple[int, ...]:
        """The shape of the kernel's output."""
        return self._dense if self.joins else self._long

    @property
    def _long(self) -> tuple[int, ...]:
        return (self.images, self.columns, self.rows)

    @property
    def _dense(self) -> tuple[int, ...]:
        return (self.images, self.rows * self.columns)


def thin_of(movement: Movement, lanes: int, registers: int) -> Thin | None:
    """The permutation as one of few columns; None if it has too many, or fewer than ``lanes`` rows.

    Args:
        registers: vector registers of the machine; the columns take at most half of them.
    """
    if movement.order not in {(1, 0), (0, 2, 1)}:
        return None
    images, first, second = (1, *movement.shape)[-3:]
    joins = first < second
    columns, rows = sorted((first, second))
    fits = 2 <= columns <= min(MOST_COLUMNS, lanes, registers // 2) and rows >= lanes
    return Thin(images, rows, columns, joins) if fits else None


def thin_kernel(dtype: DType, columns: int, lanes: int, *, joins: bool) -> Kernel:
    """Declare the copy of matrices with short rows to ``columns`` long rows each, or back.

    The parameters are the number of matrices, ``e0``, and of rows, ``e1``, at least ``lanes``.
    Arrays: ``x[e0, e1 * columns]`` and ``y[e0, columns, e1]``; with ``joins`` the other way round.

    The statement ``blocks`` copies blocks of ``lanes`` rows, in the loops ``image``, ``block``,
    ``row`` and ``column``. If some rows are in no block, the statement ``last`` copies the last
    ``lanes`` rows, in ``image``, ``rest``, ``row`` and ``column``; some of them are copied twice.
    """
    if columns < 2 or lanes < 1:
        raise KernelError(
            f"thin transpose: {columns} columns, {lanes} lanes; expected at least 2 and 1"
        )
    build = KernelBuilder(f"transpose_{'join' if joins else 'split'}{columns}")
    images, rows = build.parameter("e0", minimum=0), build.parameter("e1", minimum=lanes)
    long = (images, columns, rows)
    x = build.input("x", dtype, long if joins else (images, rows * columns))
    y = build.output("y", dtype, (images, rows * columns) if joins else long)

    def copy(image: Index, row: Expression, column: Index) -> None:
        dense = image, columns * row + column
        if joins:
            y[dense] = x[image, column, row]
        else:
            y[image, column, row] = x[dense]

    whole = rows // lanes
    blocks = build.loops(image=images, block=whole, row=lanes, column=columns)
    with blocks as (image, block, row, column), build.statement("blocks"):
        copy(image, lanes * block + row, column)
    rest = (rows + lanes - 1) // lanes - whole
    last = build.loops(image=images, rest=rest, row=lanes, column=columns)
    with last as (image, _, row, column), build.statement("last"):
        copy(image, rows - lanes + row, column)
    return build.kernel()


@dataclass(frozen=True)
class BlockOrder:
    """How the blocks of rows are distributed and written.

    Attributes:
        shared: the parallel loop, ``image`` or ``block``; None for one thread.
        streamed: whether the output is written by streaming stores.
    """

    shared: str | None = None
    streamed: bool = False


def block_order_of(thin: Thin, size: int, team: int, last_cache: int) -> BlockOrder:
    """Choose the block order.

    Args:
        size: bytes of the array.
        last_cache: its bytes.
    """
    shared = "image" if thin.images >= team else "block"
    return BlockOrder(shared if team > 1 else None, streamed=2 * size >= last_cache)


def thin_schedule(kernel: Kernel, lanes: int, block_order: BlockOrder) -> Schedule:
    """Schedule a kernel of :func:`thin_kernel`.

    Args:
        lanes: the lanes that the kernel was declared with.
    """
    schedule = unscheduled(kernel)
    for statement in ("blocks", "last"):
        row, column = f"{statement}.row", f"{statement}.column"
        schedule = schedule.reorder(column, row).vectorize(row, lanes).unroll(column)
        schedule = schedule.transpose(f"{row}v", column, TransposeStrategy.NETWORK.value)
    if block_order.streamed:
        schedule = schedule.stream("y")
    return (
        schedule
        if block_order.shared is None
        else schedule.parallel(f"blocks.{block_order.shared}")
    )
