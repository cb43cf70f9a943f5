"""Build the nodes that transpose, split or join the vectors of register tiles."""

from __future__ import annotations

from polysched.ir.core.kernel import Access
from polysched.ir.core.tree import LoopKind, TransposeStrategy
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant, Index, Load
from polysched.loops.ir.nodes import Assign, Block, For, Interleaving, Transposition
from polysched.vector.interleaved import origin

LANE = "tile.lane"
"""The variable of a tile's vector loops. It is not an identifier, so no loop has the same name."""


def transposition(
    rows: str, columns: str, shape: tuple[int, int], dtype: DType, strategy: TransposeStrategy
) -> Transposition:
    """Build the node that transposes a tile of ``shape`` (number and length of the rows)."""
    row_count, column_count = shape
    lane = Index(LANE)
    ends = Constant(0), Constant(row_count)

    def column(number: int) -> For:
        at = Constant(number)
        assign = Assign("transpose", (), Access(columns, (at, lane)), Load(rows, (lane, at), dtype))
        return For(LANE, LANE, *ends, 1, LoopKind.VECTOR, assign, row_count)

    meaning = Block(tuple(map(column, range(column_count))))
    return Transposition(meaning, rows, columns, strategy)


def interleaving(
    given: str, result: str, count: int, lanes: int, dtype: DType, kind: Interleaving
) -> Transposition:
    """Build the node that splits or joins ``count`` vectors."""
    of = origin(kind, count, lanes)

    def element(number: int, lane: int) -> Assign:
        at = Constant(number), Constant(lane)
        subscripts = tuple(map(Constant, of(number, lane)))
        return Assign("interleave", (), Access(result, at), Load(given, subscripts, dtype))

    elements = tuple(element(number, lane) for number in range(count) for lane in range(lanes))
    return Transposition(Block(elements), given, result, TransposeStrategy.NETWORK, kind)
