"""Tiles in registers, written down as loops: rows are loaded, transposed, taken by the copies.

A tile of a load is two register arrays, its rows and its columns, and before the copies of the
statement the loads of all rows and a transposition; one of a store has the same behind them.

Where the columns are all of their rows, and these lie one behind the other, as channels of pixels
do, the rows are loaded as whole vectors, which are split into columns
(:mod:`polysched.vector.interleaved`), or joined before they are stored, unless they are so many
that a network of their rows takes fewer shuffles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polysched.ir.core.kernel import Access, Array, Role
from polysched.ir.core.tree import LoopKind, TransposeStrategy
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.traversal import transform
from polysched.loops.ir.nodes import Allocate, Assign, For, If, Interleaving, LoopNode, block
from polysched.vector.classify import literal_strides
from polysched.vector.interleaved import is_cheapest
from polysched.vector.passes.columns import Column, Strided
from polysched.vector.passes.tile_masks import active_lanes, column_mask
from polysched.vector.passes.tile_nodes import LANE, interleaving, transposition


class TileWriter:
    """Writes tiles down.

    Attributes:
        arrays: those of the program.
        tiles: the register arrays of all tiles so far, in pairs of rows and columns.
    """

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self.tiles: dict[str, Array] = {}

    def tile(
        self,
        columns: list[Column],
        loads: list[Strided],
        store: Strided | None,
        strategy: TransposeStrategy,
    ) -> LoopNode:
        """The copies of a statement, with a tile for each strided access.

        Args:
            columns: the copies.
            loads: what the first copy loads and the others further on.
            store: what the first copy stores and the others further on, if its lanes are apart.
            strategy: how tiles are transposed that do not lie densely.
        """
        others = len(self.tiles)
        lane = Index(columns[0].loop.variable)
        made = [column.assign for column in columns]
        before: list[LoopNode] = []
        after: list[LoopNode] = []
        for load in loads:
            nodes, tile = self._loaded(load, columns, strategy)
            before += nodes
            made = [
                _with_load(assign, column, number, (load, tile))
                for number, (assign, column) in enumerate(zip(made, columns, strict=True))
            ]
        if store is not None:
            after, tile = self._stored(store, columns, strategy)
            made = [
                replace(assign, target=Access(tile, (Constant(number), lane)))
                for number, assign in enumerate(made)
            ]
        copies: list[LoopNode] = []
        for column, assign in zip(columns, made, strict=True):
            copy: LoopNode = replace(column.loop, body=assign)
            copies.append(copy if column.guard is None else If(column.guard, copy))
        whole = block([*before, *copies, *after])
        for name in reversed([*self.tiles][others:]):
            whole = Allocate(name, whole)
        return whole

    def _loaded(
        self, load: Strided, columns: list[Column], strategy: TransposeStrategy
    ) -> tuple[list[LoopNode], str]:
        """What runs before the copies, and the register array that they load from."""
        rows, turned = self._pair(load, columns)
        count, lanes = len(columns), columns[0].loop.lanes
        dtype = self.arrays[load.array].dtype
        if self._is_interleaved(load, columns):
            split = interleaving(rows, turned, count, lanes, dtype, Interleaving.SPLIT)
            return [*self._vectors(load, columns, rows, is_load=True), split], turned
        shape = lanes, _power(count)
        transposed = transposition(rows, turned, shape, dtype, strategy)
        return [*self._rows(load, columns, rows, is_load=True), transposed], turned

    def _stored(
        self, store: Strided, columns: list[Column], strategy: TransposeStrategy
    ) -> tuple[list[LoopNode], str]:
        """What runs after the copies, and the register array that they store to."""
        rows, turned = self._pair(store, columns)
        count, lanes = len(columns), columns[0].loop.lanes
        dtype = self.arrays[store.array].dtype
        if self._is_interleaved(store, columns):
            joined = interleaving(turned, rows, count, lanes, dtype, Interleaving.JOIN)
            return [joined, *self._vectors(store, columns, rows, is_load=False)], turned
        shape = _power(count), lanes
        transposed = transposition(turned, rows, shape, dtype, strategy)
        return [transposed, *self._rows(store, columns, rows, is_load=False)], turned

    def _pair(self, access: Strided, columns: list[Column]) -> tuple[str, str]:
        """New register arrays: the rows of an access, and its columns."""
        dtype = self.arrays[access.array].dtype
        number = len(self.tiles) // 2
        lanes, count = columns[0].loop.lanes, _power(len(columns))
        shapes = (lanes, count), (count, lanes)
        if self._is_interleaved(access, columns):
            shapes = (len(columns), lanes), (len(columns), lanes)
        names = f"tile{number}.rows", f"tile{number}.columns"
        for name, shape in zip(names, shapes, strict=True):
            extents = tuple(map(Constant, shape))
            self.tiles[name] = Array(name, dtype, extents, Role.TEMPORARY, ("vector", "lane"))
        return names

    def _is_interleaved(self, access: Strided, columns: list[Column]) -> bool:
        """Whether whole vectors are split or joined; otherwise rows are transposed."""
        lanes = columns[0].loop.lanes
        return is_dense(access, columns, self.arrays) and is_cheapest(len(columns), lanes)

    def _vectors(
        self, access: Strided, columns: list[Column], rows: str, *, is_load: bool
    ) -> list[LoopNode]:
        """Loads or stores of rows that lie one behind the other: of whole vectors."""
        lanes, count = columns[0].loop.lanes, len(columns)
        elements = count * linear_form(columns[0].loop.upper, {}).constant
        made: list[LoopNode] = []
        for first in range(0, elements, lanes):
            place = access.element(Index(LANE) + first, count)
            body = self._move(access, place, (rows, first // lanes), is_load=is_load)
            made.append(_over_lanes(min(lanes, elements - first), body, lanes))
        return made

    def _rows(
        self, access: Strided, columns: list[Column], rows: str, *, is_load: bool
    ) -> list[LoopNode]:
        """Loads of the rows of a tile, or stores."""
        count, column = len(columns), Index(LANE)
        mask = column_mask(columns, column)
        made: list[LoopNode] = []
        for lane, runs in active_lanes(columns[0].loop):
            place = access.row(lane, column)
            body: LoopNode = self._move(access, place, (rows, lane), is_load=is_load)
            if mask is not None:
                body = If(mask, body)
            row = _over_lanes(count, body, _power(count))
            made.append(row if runs is None else If(runs, row))
        return made

    def _move(
        self,
        access: Strided,
        place: tuple[Expression, ...],
        register: tuple[str, int],
        *,
        is_load: bool,
    ) -> Assign:
        """One element of a register, which is one of the rows, from its place or to it."""
        dtype = self.arrays[access.array].dtype
        rows, number = register
        own = Constant(number), Index(LANE)
        if is_load:
            return Assign("load", (), Access(rows, own), Load(access.array, place, dtype))
        return Assign("store", (), Access(access.array, place), Load(rows, own, dtype))


def _over_lanes(count: int, body: LoopNode, lanes: int) -> For:
    """A vector loop over the first ``count`` of so many lanes."""
    return For(LANE, LANE, Constant(0), Constant(count), 1, LoopKind.VECTOR, body, lanes)


def _with_load(assign: Assign, column: Column, number: int, tile: tuple[Strided, str]) -> Assign:
    """The assignment of a copy, with a load from the register tile."""
    load, name = tile
    lane = Index(column.loop.variable)

    def rule(expression: Expression) -> Expression | None:
        if isinstance(expression, Load) and expression.array == load.array:
            place = column.strided(expression)
            if place is not None and load.distance(place) == number:
                return replace(expression, array=name, subscripts=(Constant(number), lane))
        return None

    return replace(assign, value=transform(assign.value, rule))


def is_dense(access: Strided, columns: list[Column], arrays: Mapping[str, Array]) -> bool:
    """Whether the columns are all of their rows, and these lie one behind the other in memory; all
    columns run, and the first so many rows.
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
    """The smallest power of two from ``count`` on."""
    return 1 << (count - 1).bit_length()
