"""Interpreter of tile statements, with the state of a tile unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from polysched.errors import KernelError
from polysched.instructions.declaration import Instruction
from polysched.vector import ir
from polysched.vector import values as vector
from polysched.vector.memory import LinearArray
from polysched.vector.tiles import Content, tile_result, tile_shape

Variables: TypeAlias = dict[str, int]
Run: TypeAlias = Callable[[Variables], None]


class Host(Protocol):
    """The interpreter of all other nodes."""

    memory: dict[str, LinearArray]

    def node(self, node: ir.Node) -> Run:
        """Compile a node."""

    def distance(self, access: vector.Access, count: int) -> Callable[[Variables], int]:
        """The distance of an address from the first element of its array."""


class TileUnit:
    """Tile registers and their configuration."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.shapes: tuple[ir.Shape | None, ...] = ()
        self.registers: dict[int, Content] = {}

    def node(self, node: ir.Tiles | ir.TileStatement) -> Run:
        """Compile a node to a function that runs it."""
        match node:
            case ir.Tiles():
                return self._configured(node)
            case ir.TileCall(instruction=form, tiles=tiles):
                reads = [(name, self._reader(tile)) for name, tile in tiles if _is_read(form, name)]
                write, sizes = self._writer(tiles[0][1]), dict(node.sizes)

                def call(variables: Variables) -> None:
                    given = {name: read(variables) for name, read in reads}
                    write(variables, tile_result(form, sizes, given))

                return call
            case ir.TileLoad(register=number, tile=tile):
                read = self._reader(tile)

                def load(variables: Variables) -> None:
                    self._require_shape(number, tile)
                    self.registers[number] = read(variables)

                return load
            case ir.TileStore(register=number, tile=tile):
                store = self._writer(tile)

                def stored(variables: Variables) -> None:
                    self._require_shape(number, tile)
                    store(variables, self._content(number))

                return stored
            case ir.TileCompute():
                return lambda variables: self._compute(node)

    def _configured(self, node: ir.Tiles) -> Run:
        body = self.host.node(node.body)

        def run(variables: Variables) -> None:
            if self.shapes:
                raise KernelError("a tile configuration inside another one")
            self.shapes, self.registers = node.shapes, {}
            body(variables)
            self.shapes, self.registers = (), {}

        return run

    def _compute(self, node: ir.TileCompute) -> None:
        form, sizes = node.instruction, dict(node.sizes)
        for name, number in node.registers:
            dtype = form.kernel.arrays[name].dtype
            rows, columns = tile_shape(form, name, sizes) or (0, 0)
            if self._shape(number) != (rows, columns * dtype.bytes):
                raise KernelError(f"tile register {number} has another shape than '{name}'")
        given = {
            name: self._content(number) for name, number in node.registers if _is_read(form, name)
        }
        self.registers[node.registers[0][1]] = tile_result(form, sizes, given)

    def _shape(self, number: int) -> ir.Shape | None:
        return self.shapes[number] if number < len(self.shapes) else None

    def _require_shape(self, number: int, tile: ir.Tile) -> None:
        dtype = self.host.memory[tile.address.array].array.dtype
        if self._shape(number) != (tile.rows, tile.columns * dtype.bytes):
            raise KernelError(f"tile register {number} has another shape than the tile in memory")

    def _content(self, number: int) -> Content:
        if number not in self.registers:
            raise KernelError(f"tile register {number} is read before it is written")
        return self.registers[number]

    def _reader(self, tile: ir.Tile) -> Callable[[Variables], Content]:
        places = self._places(tile)

        def read(variables: Variables) -> Content:
            memory = self.host.memory[tile.address.array]
            return [
                [memory.read(start + column) for column in range(tile.columns)]
                for start in places(variables)
            ]

        return read

    def _writer(self, tile: ir.Tile) -> Callable[[Variables, Content], None]:
        places = self._places(tile)

        def write(variables: Variables, content: Content) -> None:
            memory = self.host.memory[tile.address.array]
            for start, row in zip(places(variables), content, strict=True):
                for column, value in enumerate(row):
                    memory.write(start + column, value)

        return write

    def _places(self, tile: ir.Tile) -> Callable[[Variables], list[int]]:
        """The distances of the rows from the first element of the array."""
        start = self.host.distance(vector.Access(tile.address, vector.Uniform.BROADCAST, 1), 1)

        def places(variables: Variables) -> list[int]:
            unit = 1
            if tile.dimension is not None:
                unit = self.host.memory[tile.address.array].strides[tile.dimension]
            first = start(variables)
            return [first + row * tile.distance * unit for row in range(tile.rows)]

        return places


def _is_read(form: Instruction, name: str) -> bool:
    return form.updates or name != form.statement.target.array
