"""Generate the loops of register tiles: load rows, transpose them, and run the copies on columns.

The tile of a load has two register arrays, for its rows and its columns. The loads of all rows and
a transposition precede the copies of the statement. For a store, a transposition and the stores of
all rows follow the copies.

A tile is dense if its columns cover whole rows and the rows are contiguous in memory, such as the
channels of pixels. The rows of a dense tile are loaded as whole vectors and split into columns, or
columns are joined and stored as whole vectors (:mod:`polysched.vector.interleaved`). If the tile
has so many columns that a transposition network takes fewer shuffles, the rows are transposed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polysched.ir.core.kernel import Access, Array, Role
from polysched.ir.core.tree import LoopKind, TransposeStrategy
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant, Expression, Index, Load, Operation
from polysched.ir.expr.functions import equal
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import LinearForm
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import transform
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    Interleaving,
    LoopNode,
    Transposition,
    block,
)
from polysched.vector.classify import literal_lanes, literal_strides
from polysched.vector.interleaved import is_cheapest, origin
from polysched.vector.passes.columns import Column, Strided

_LANE = "tile.lane"
"""The variable of a tile's vector loops. It is not an identifier, so no loop has the same name."""


class TileWriter:
    """Generate the loops of register tiles.

    Attributes:
        tiles: the register arrays of all tiles so far, in pairs (rows, columns).
        sources: for each register array, the array whose elements it holds.
    """

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self.tiles: dict[str, Array] = {}
        self.sources: dict[str, str] = {}

    def tile(
        self,
        columns: list[Column],
        loads: list[Strided],
        store: Strided | None,
        strategy: TransposeStrategy,
    ) -> LoopNode:
        """Rewrite the copies of a statement, with a tile for each strided access.

        Args:
            columns: the copies of the statement.
            loads: the strided loads of the first copy; every other copy loads the next column.
            store: the strided store of the first copy, if any; every other copy stores the next
                column.
            strategy: the instructions that transpose tiles that are not dense.
        """
        earlier_tiles = len(self.tiles)
        lane = Index(columns[0].loop.variable)
        assigns = [column.assign for column in columns]
        before: list[LoopNode] = []
        after: list[LoopNode] = []
        for load in loads:
            nodes, tile = self._moved(load, columns, strategy, is_load=True)
            before += nodes
            assigns = [
                _with_load(assign, column, number, (load, tile))
                for number, (assign, column) in enumerate(zip(assigns, columns, strict=True))
            ]
        if store is not None:
            after, tile = self._moved(store, columns, strategy, is_load=False)
            assigns = [
                replace(assign, target=Access(tile, (Constant(number), lane)))
                for number, assign in enumerate(assigns)
            ]
        copies: list[LoopNode] = []
        for column, assign in zip(columns, assigns, strict=True):
            copy: LoopNode = replace(column.loop, body=assign)
            copies.append(copy if column.guard is None else If(column.guard, copy))
        whole = block([*before, *copies, *after])
        for name in reversed([*self.tiles][earlier_tiles:]):
            whole = Allocate(name, whole)
        return whole

    def _moved(
        self, access: Strided, columns: list[Column], strategy: TransposeStrategy, *, is_load: bool
    ) -> tuple[list[LoopNode], str]:
        """The nodes that move a tile from or to memory, and the register array of its columns."""
        rows, transposed = self._pair(access, columns)
        count, lanes = len(columns), columns[0].loop.lanes
        dtype = self.arrays[access.array].dtype
        source, target = (rows, transposed) if is_load else (transposed, rows)
        if self._is_interleaved(access, columns):
            kind = Interleaving.SPLIT if is_load else Interleaving.JOIN
            exchange: LoopNode = _interleaving(source, target, count, lanes, dtype, kind)
            moves = self._vectors(access, columns, rows, is_load=is_load)
        else:
            shape = (lanes, _power(count)) if is_load else (_power(count), lanes)
            exchange = transposition(source, target, shape, dtype, strategy)
            moves = self._rows(access, columns, rows, is_load=is_load)
        return [*moves, exchange] if is_load else [exchange, *moves], transposed

    def _pair(self, access: Strided, columns: list[Column]) -> tuple[str, str]:
        """Add register arrays for the rows and the columns of an access."""
        dtype = self.arrays[access.array].dtype
        number = len(self.tiles) // 2
        lanes, count = columns[0].loop.lanes, _power(len(columns))
        shapes = (lanes, count), (count, lanes)
        if self._is_interleaved(access, columns):
            shapes = (len(columns), lanes), (len(columns), lanes)
        names = f"tile{number}.rows", f"tile{number}.columns"
        for name, shape in zip(names, shapes, strict=True):
            extents = tuple(map(Constant, shape))
            self.sources[name] = access.array
            self.tiles[name] = Array(name, dtype, extents, Role.TEMPORARY, ("vector", "lane"))
        return names

    def _is_interleaved(self, access: Strided, columns: list[Column]) -> bool:
        """Whether whole vectors are split or joined; if not, rows are transposed."""
        lanes = columns[0].loop.lanes
        return is_dense(access, columns, self.arrays) and is_cheapest(len(columns), lanes)

    def _vectors(
        self, access: Strided, columns: list[Column], rows: str, *, is_load: bool
    ) -> list[LoopNode]:
        """Loads or stores of contiguous rows as whole vectors."""
        lanes, count = columns[0].loop.lanes, len(columns)
        elements = count * linear_form(columns[0].loop.upper, {}).constant
        vectors: list[LoopNode] = []
        for first in range(0, elements, lanes):
            subscripts = access.element(Index(_LANE) + first, count)
            body = self._move(access, subscripts, (rows, first // lanes), is_load=is_load)
            vectors.append(_over_lanes(min(lanes, elements - first), body, lanes))
        return vectors

    def _rows(
        self, access: Strided, columns: list[Column], rows: str, *, is_load: bool
    ) -> list[LoopNode]:
        """Loads or stores of the rows of a tile, one by one."""
        count, column = len(columns), Index(_LANE)
        mask = column_mask(columns, column)
        moves: list[LoopNode] = []
        for lane, runs in active_lanes(columns[0].loop):
            subscripts = access.row(lane, column)
            body: LoopNode = self._move(access, subscripts, (rows, lane), is_load=is_load)
            if mask is not None:
                body = If(mask, body)
            row: LoopNode = _over_lanes(count, body, _power(count))
            if runs is not None:
                row = If(runs, row, self._absent(rows, lane, _power(count)) if is_load else None)
            moves.append(row)
        return moves

    def _absent(self, rows: str, number: int, lanes: int) -> LoopNode:
        """Set the register of a row that is not loaded to 0.

        All lanes of the columns may compute (:mod:`polysched.vector.passes.unmask`), and subnormal
        numbers take 200 cycles. With the previous contents of the registers, exp took 25 times as
        long.
        """
        dtype = self.tiles[rows].dtype
        own = Constant(number), Index(_LANE)
        zero = Assign("absent", (), Access(rows, own), Constant(0, dtype))
        return _over_lanes(lanes, zero, lanes)

    def _move(
        self,
        access: Strided,
        subscripts: tuple[Expression, ...],
        register: tuple[str, int],
        *,
        is_load: bool,
    ) -> Assign:
        """Load or store one element of a row's register."""
        dtype = self.arrays[access.array].dtype
        rows, number = register
        own = Constant(number), Index(_LANE)
        if is_load:
            return Assign("load", (), Access(rows, own), Load(access.array, subscripts, dtype))
        return Assign("store", (), Access(access.array, subscripts), Load(rows, own, dtype))


def _over_lanes(count: int, body: LoopNode, lanes: int) -> For:
    return For(_LANE, _LANE, Constant(0), Constant(count), 1, LoopKind.VECTOR, body, lanes)


def _with_load(assign: Assign, column: Column, number: int, tile: tuple[Strided, str]) -> Assign:
    """The assignment of a copy, with a load from the register tile."""
    load, name = tile
    lane = Index(column.loop.variable)

    def rule(expression: Expression) -> Expression | None:
        if isinstance(expression, Load) and expression.array == load.array:
            strided = column.strided(expression)
            if strided is not None and load.distance(strided) == number:
                return replace(expression, array=name, subscripts=(Constant(number), lane))
        return None

    return replace(assign, value=transform(assign.value, rule))


def is_dense(access: Strided, columns: list[Column], arrays: Mapping[str, Array]) -> bool:
    """Whether a tile is dense: its columns cover whole rows, which are contiguous in memory.

    All columns of a dense tile run, and so does a prefix of its rows.
    """
    loop, strides = columns[0].loop, literal_strides(arrays[access.array])
    steps = [pair for pair in zip(access.steps, strides, strict=True) if pair[0]]
    if strides[access.along] != 1 or any(stride is None for _, stride in steps):
        return False
    return (
        1 < len(columns) == sum(step * (stride or 0) for step, stride in steps)
        and min(access.steps) >= 0
        and (loop.lower, loop.step) == (Constant(0), 1)
        and isinstance(loop.upper, Constant)
        and 0 < loop.upper.value <= loop.lanes
        and all(column.guard is None for column in columns)
    )


def _power(count: int) -> int:
    return 1 << (count - 1).bit_length()


def active_lanes(loop: For) -> list[tuple[int, Expression | None]]:
    """The lanes of a vector loop, each with the condition under which it runs, or None."""
    literal = literal_lanes(loop, {})
    if literal is not None:
        return [(lane, None) for lane in literal]
    active: list[tuple[int, Expression | None]] = []
    for lane in range(loop.lanes):
        at = Constant(lane)
        runs = (loop.lower <= at) & (at < loop.upper)
        if loop.step != 1:
            runs &= equal((at - loop.lower) % loop.step, 0)
        active.append((lane, runs))
    return active


def column_mask(columns: list[Column], number: Expression) -> Expression | None:
    """The condition under which column ``number`` runs; None if all columns always run."""
    guards = [column.guard for column in columns]
    if all(guard is None for guard in guards):
        return None
    distance = _common_distance(guards)
    if distance is not None:
        return number < distance
    mask: Expression | None = None
    for position, guard in enumerate(guards):
        here = equal(number, position)
        runs = here if guard is None else here & guard
        mask = runs if mask is None else mask | runs
    return mask


def _common_distance(guards: list[Expression | None]) -> Expression | None:
    """The number of active columns, if every column k has the guard ``k < number``."""
    distances = set()
    for position, guard in enumerate(guards):
        match guard:
            case Operation(operator=Operator.LESS, operands=(left, right)):
                ends = linear_form(left, {}), linear_form(right, {})
            case Operation(operator=Operator.LESS_EQUAL, operands=(left, right)):
                ends = linear_form(left, {}), linear_form(right + 1, {})
            case _:
                return None
        distance = ends[1].plus(ends[0], -1).plus(position)
        terms = tuple(sorted(distance.terms, key=str))
        distances.add(LinearForm(terms, distance.constant))
    return distances.pop().expression() if len(distances) == 1 else None


def transposition(
    rows: str, columns: str, shape: tuple[int, int], dtype: DType, strategy: TransposeStrategy
) -> Transposition:
    """Build the node that transposes a tile of ``shape`` (number and length of the rows)."""
    row_count, column_count = shape
    lane = Index(_LANE)
    ends = Constant(0), Constant(row_count)

    def column(number: int) -> For:
        at = Constant(number)
        assign = Assign("transpose", (), Access(columns, (at, lane)), Load(rows, (lane, at), dtype))
        return For(_LANE, _LANE, *ends, 1, LoopKind.VECTOR, assign, row_count)

    meaning = Block(tuple(map(column, range(column_count))))
    return Transposition(meaning, rows, columns, strategy)


def _interleaving(
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
