"""Form register tiles: replace strided accesses by contiguous rows and a transposition.

A *tile* is a run of copies of one vector statement. The lanes of a strided access go to different
rows, and each copy accesses the next element of each row::

    y[j, i..i+16] = x[i..i+16, j]             tile.rows[0, :]  = x[i, j..j+16]
    y[j + 1, i..i+16] = x[i..i+16, j + 1]     tile.rows[1, :]  = x[i + 1, j..j+16]
    ...                                       ...
                                              tile.columns = transposed(tile.rows)
                                              y[j, i..i+16] = tile.columns[0, :]
                                              ...

A scattered store is transposed in the other direction. The loads of the rows precede the copies and
the stores of the rows follow them, so no copy may write an array that the tile loads or read an
array that the tile stores, and stored rows must not overlap. The tile touches only elements that
the copies access: an inactive lane becomes a row without loads and stores, and an inactive copy
becomes a masked lane.

Only vector loops with a ``transpose`` directive have tiles. If no tile can be formed, the directive
is an error. This module finds the tiles, and :mod:`polysched.vector.passes.tile_writing` generates
their loops. A tile uses at most half the registers for its columns; longer runs become several
tiles.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from polysched.errors import LoweringError
from polysched.ir.core.tree import LoopKind, TransposeDirective, TransposeStrategy
from polysched.ir.expr.expressions import Constant
from polysched.loops.ir.nodes import Block, For, LoopNode, LoopProgram, block, map_children
from polysched.vector.passes.columns import Column, Strided, column_of
from polysched.vector.passes.tile_writing import TileWriter
from polysched.vector.shuffle_network import BLOCK_BITS


def form_tiles(program: LoopProgram, vector_registers: int) -> LoopProgram:
    """Transpose the tiles of vector loops with a ``transpose`` directive in registers.

    Args:
        program: loops, after unrolling.
        vector_registers: the number of vector registers of the machine.

    Raises:
        LoweringError: a vector loop with a directive has no tiles.
    """
    rewrite = _TransposePass(program, vector_registers)
    body = rewrite.visit(program.body)
    rewrite.require_tiles()
    tiles = rewrite.writer.tiles
    return replace(
        program,
        arrays={**program.arrays, **tiles},
        body=body,
        registers={**program.registers, **rewrite.writer.sources},
    )


class _TransposePass:
    """One walk over a program, which finds and rewrites the tiles."""

    def __init__(self, program: LoopProgram, vector_registers: int) -> None:
        self.arrays = program.arrays
        self.vector_registers = vector_registers
        self.writer = TileWriter(self.arrays)
        self.masked: dict[str, For] = {}
        self.formed: set[str] = set()

    def require_tiles(self) -> None:
        """Check that loops whose lanes have conditions of their own also form a tile."""
        for name, loop in self.masked.items():
            if name not in self.formed:
                raise _refused(loop, "its lanes run under conditions of their own")

    def visit(self, node: LoopNode) -> LoopNode:
        if isinstance(node, Block):
            return self._block(node)
        if column_of(node, self.arrays) is not None:
            return self._block(Block((node,)))
        if isinstance(node, For) and node.kind is LoopKind.VECTOR:
            directive = node.transposition
            if directive is not None and directive.strategy is not TransposeStrategy.GATHER:
                self.masked.setdefault(node.loop, node)
            return node
        return map_children(node, self.visit)

    def _block(self, node: Block) -> LoopNode:
        rewritten: list[LoopNode] = []
        columns = [column_of(child, self.arrays) for child in node.children]
        groups = Counter(column.group for column in columns if column is not None)
        position = 0
        while position < len(columns):
            first = columns[position]
            if first is None:
                rewritten.append(self.visit(node.children[position]))
                position += 1
                continue
            run = []
            for column in columns[position:]:
                if column is None or column.group != first.group:
                    break
                run.append(column)
            nodes = list(node.children[position : position + len(run)])
            rewritten += self._run(run, nodes, elsewhere=groups[first.group] > len(run))
            position += len(run)
        return block(rewritten) if len(rewritten) != 1 else rewritten[0]

    def _run(self, run: list[Column], nodes: list[LoopNode], *, elsewhere: bool) -> list[LoopNode]:
        """Cut the copies of one statement into tiles.

        Args:
            elsewhere: whether there are copies after other statements.
        """
        directive = run[0].directive
        if directive is None:
            return nodes
        tiles: list[LoopNode] = []
        while run:
            reason = self._not_strided(run[0])
            count = 1 if reason else self._consecutive(run)
            if reason is None and count == 1 and len(run) > 1:
                reason = "the copies of its statement do not go from one element to the next"
            if reason is None and count == 1 and elsewhere and not tiles:
                reason = "other statements run between the copies of its statement"
            tiles.append(self._tile(run[:count], nodes[:count], reason, directive))
            run, nodes = run[count:], nodes[count:]
        return tiles

    def _not_strided(self, column: Column) -> str | None:
        accesses = column.accesses
        if not accesses:
            return "no access of its statement has its lanes in different rows"
        for access in accesses:
            array = self.arrays[access.array]
            if array.dtype.bits not in (8, 16, 32, 64):
                return (
                    f"elements of array '{access.array}' are of type {array.dtype}, no whole bytes"
                )
            if array.guarded:
                return (
                    f"elements of array '{access.array}' may be accessed only under their "
                    "conditions"
                )
            if array.strides is not None and Constant(1) not in array.strides:
                return f"no elements of array '{access.array}' are neighbors in memory"
        return None

    def _consecutive(self, run: list[Column]) -> int:
        """The length of the longest prefix of copies that forms a tile within the registers."""
        lanes, longest = run[0].loop.lanes, 1
        for position, lead in enumerate(run[0].accesses):
            bits = self.arrays[lead.array].dtype.bits
            most = max(BLOCK_BITS // bits, min(lanes, self.vector_registers // 2))
            count = 1
            while count < min(most, len(run)):
                accesses = run[count].accesses
                if len(accesses) <= position or lead.distance(accesses[position]) != count:
                    break
                count += 1
            longest = max(longest, count)
        return longest

    def _tile(
        self,
        columns: list[Column],
        nodes: list[LoopNode],
        reason: str | None,
        directive: TransposeDirective,
    ) -> LoopNode:
        # A transposition needs at least two columns.
        if reason is None and len(columns) < max(2, directive.fewest):
            return block(nodes)
        if reason is None:
            strided_loads, store = self._loads(columns), self._store(columns)
            if strided_loads or store:
                self.formed.add(columns[0].loop.loop)
                return self.writer.tile(columns, strided_loads, store, directive.strategy)
            reason = "its statement reads what it writes, or writes an element twice"
        raise _refused(columns[0].loop, reason)

    def _loads(self, columns: list[Column]) -> list[Strided]:
        """The strided loads of the first copy that every other copy repeats at its column."""
        lists = [column.loads for column in columns]
        written = {column.assign.target.array for column in columns}
        return [
            load
            for position, load in enumerate(lists[0])
            if load.array not in written
            and all(
                len(loads) > position and load.distance(loads[position]) == number
                for number, loads in enumerate(lists)
            )
        ]

    def _store(self, columns: list[Column]) -> Strided | None:
        store = columns[0].store
        if store is None:
            return None
        stores = [column.store for column in columns]
        in_line = all(
            column_store is not None and store.distance(column_store) == number
            for number, column_store in enumerate(stores)
        )
        is_read = any(store.array in column.read_arrays for column in columns)
        return store if in_line and not is_read and store.rows_apart(len(columns)) else None


def _refused(loop: For, reason: str) -> LoweringError:
    return LoweringError(
        f"vector loop '{loop.loop}' is to be transposed in registers, but no tile can be formed: "
        f"{reason}. A tile takes copies of one statement, next to each other, whose accesses "
        "have their lanes in different rows, and go on by one element from copy to copy: unroll "
        "the loop over these elements inside, or remove the transpose step"
    )
