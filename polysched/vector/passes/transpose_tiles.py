"""Form tiles: turn strided accesses of unrolled vector statements into rows and a transposition.

A *tile* is a run of copies of one vector statement in which an access has lanes that are a row
apart, and in which each copy accesses the next element of each row::

    y[j, i..i+16] = x[i..i+16, j]             tile.rows[0, :]  = x[i, j..j+16]
    y[j + 1, i..i+16] = x[i..i+16, j + 1]     tile.rows[1, :]  = x[i + 1, j..j+16]
    ...                                       ...
                                              tile.columns = transposed(tile.rows)
                                              y[j, i..i+16] = tile.columns[0, :]
                                              ...

A scattered store is the mirror image. The loads of the rows come before the copies and the stores
come after them, so no copy may write an array that is loaded or read an array that is stored, and
stored rows must not share elements. Elements that no copy accesses are not touched: a lane that
does not run is a row that is left out, and a copy that does not run is a masked lane.

Only vector loops with a ``transpose`` directive have tiles; without tiles the directive is an
error. This module finds the tiles, and :mod:`polysched.vector.passes.tile_writing` rewrites them.
A tile has as many columns as fit half the registers; longer runs make several tiles.
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
    former = _Former(program, vector_registers)
    body = former.visit(program.body)
    former.require_tiles()
    tiles = former.writer.tiles
    return replace(
        program,
        arrays={**program.arrays, **tiles},
        body=body,
        registers=(*program.registers, *tiles),
    )


class _Former:
    """One walk over a program that finds and rewrites the tiles."""

    def __init__(self, program: LoopProgram, vector_registers: int) -> None:
        self.arrays = program.arrays
        self.vector_registers = vector_registers
        self.writer = TileWriter(self.arrays)
        self.masked: dict[str, For] = {}
        self.formed: set[str] = set()

    def require_tiles(self) -> None:
        """Check that loops whose lanes run under conditions in some places have tiles elsewhere."""
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
        made: list[LoopNode] = []
        columns = [column_of(child, self.arrays) for child in node.children]
        groups = Counter(column.group for column in columns if column is not None)
        position = 0
        while position < len(columns):
            first = columns[position]
            if first is None:
                made.append(self.visit(node.children[position]))
                position += 1
                continue
            run = []
            for column in columns[position:]:
                if column is None or column.group != first.group:
                    break
                run.append(column)
            nodes = list(node.children[position : position + len(run)])
            made += self._run(run, nodes, elsewhere=groups[first.group] > len(run))
            position += len(run)
        return block(made) if len(made) != 1 else made[0]

    def _run(self, run: list[Column], nodes: list[LoopNode], *, elsewhere: bool) -> list[LoopNode]:
        """Cut the copies of one statement into tiles.

        Args:
            run: the copies.
            nodes: the nodes of the copies.
            elsewhere: whether there are copies after other statements.
        """
        directive = run[0].directive
        if directive is None:
            return nodes
        made: list[LoopNode] = []
        while run:
            reason = self._not_strided(run[0])
            count = 1 if reason else self._consecutive(run)
            if reason is None and count == 1 and len(run) > 1:
                reason = "the copies of its statement do not go from one element to the next"
            if reason is None and count == 1 and elsewhere and not made:
                reason = "other statements run between the copies of its statement"
            made.append(self._tile(run[:count], nodes[:count], reason, directive))
            run, nodes = run[count:], nodes[count:]
        return made

    def _not_strided(self, column: Column) -> str | None:
        accesses = column.accesses
        if not accesses:
            return "no access of its statement has lanes that lie rows apart"
        for one in accesses:
            array = self.arrays[one.array]
            if array.dtype.bits not in (8, 16, 32, 64):
                return f"elements of array '{one.array}' are of type {array.dtype}, no whole bytes"
            if array.strides is not None and Constant(1) not in array.strides:
                return f"no elements of array '{one.array}' are neighbors in memory"
        return None

    def _consecutive(self, run: list[Column]) -> int:
        """The number of first copies that make a tile; at most as many as fit the registers."""
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
        # A single column has nothing to be exchanged with.
        if reason is None and len(columns) < max(2, directive.fewest):
            return block(nodes)
        if reason is None:
            found, store = self._loads(columns), self._store(columns)
            if found or store:
                self.formed.add(columns[0].loop.loop)
                return self.writer.tile(columns, found, store, directive.strategy)
            reason = "its statement reads what it writes, or writes an element twice"
        raise _refused(columns[0].loop, reason)

    def _loads(self, columns: list[Column]) -> list[Strided]:
        """The strided loads of the first copy that every other copy makes at its own column."""
        lists = [column.loads for column in columns]
        written = {column.assign.target.array for column in columns}
        return [
            one
            for position, one in enumerate(lists[0])
            if one.array not in written
            and all(
                len(loads) > position and one.distance(loads[position]) == number
                for number, loads in enumerate(lists)
            )
        ]

    def _store(self, columns: list[Column]) -> Strided | None:
        store = columns[0].store
        if store is None:
            return None
        stores = [column.store for column in columns]
        in_line = all(
            one is not None and store.distance(one) == number for number, one in enumerate(stores)
        )
        is_read = any(store.array in column.read_arrays for column in columns)
        return store if in_line and not is_read and store.rows_apart(len(columns)) else None


def _refused(loop: For, reason: str) -> LoweringError:
    return LoweringError(
        f"vector loop '{loop.loop}' is to be transposed in registers, but no tile can be formed: "
        f"{reason}. A tile takes copies of one statement, next to each other, whose accesses "
        "have lanes that lie rows apart and go on by one element from copy to copy: unroll the "
        "loop over these elements inside, or take the transpose step away"
    )
