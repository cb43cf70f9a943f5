"""Pass: keep the tiles of instructions in tile registers.

A *region* is a run of tile calls, and of loops and branches around nothing but tile calls. A tile
that the region surely writes, and at one place, stays in a register over the whole region: it is
loaded before the region, unless the first call overwrites it, and stored after it. Tiles that calls
only read are loaded where they are needed, once for neighboring calls. If the eight registers do
not suffice, the region becomes smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from polysched.instructions.amx import TILE_REGISTERS
from polysched.vector.ir import (
    Branch,
    Loop,
    Node,
    Prefetch,
    Shape,
    Tile,
    TileCall,
    TileCompute,
    TileLoad,
    Tiles,
    TileStore,
    VectorProgram,
    children,
    walk,
)
from polysched.vector.ir import Sequence as Nodes
from polysched.vector.passes.tile_configuration import configured, sequence
from polysched.vector.rewrite import map_children, walk_value
from polysched.vector.values import Load, Register


def hold_tiles(program: VectorProgram) -> VectorProgram:
    """Replace tile calls by loads, computation and stores of tile registers."""
    if not any(isinstance(node, TileCall) for node in walk(program.body)):
        return program
    return replace(program, body=configured(_Holding(program).node(program.body)))


# -- registers ---------------------------------------------------------------------------------


class _Full(Exception):
    """A region needs more tile registers than there are."""


@dataclass
class _Registers:
    """The tile registers of a region while its code is written.

    Attributes:
        held: the registers of the tiles that stay over the whole region.
        read: the tiles that the other registers hold at this point.
    """

    shapes: list[Shape | None] = field(default_factory=lambda: [None] * TILE_REGISTERS)
    held: dict[Tile, int] = field(default_factory=dict)
    read: dict[Tile, int] = field(default_factory=dict)

    def hold(self, tile: Tile, shape: Shape) -> None:
        """Reserve a register for the whole region."""
        self.held[tile] = self._free(shape)

    def load(self, tile: Tile, shape: Shape, later: Sequence[Tile], kept: Sequence[Tile]) -> int:
        """Choose a register for a tile that is read.

        Args:
            tile: the tile.
            shape: its shape.
            later: the tiles that the following calls read, in order.
            kept: tiles that must stay in their registers.
        """
        try:
            number = self._free(shape)
        except _Full:
            others = [
                (later.index(other) if other in later else len(later), number, other)
                for other, number in self.read.items()
                if self.shapes[number] == shape and other not in kept
            ]
            if not others:
                raise
            _, number, evicted = max(others, key=lambda item: item[0])
            del self.read[evicted]
        self.read[tile] = number
        return number

    def _free(self, shape: Shape) -> int:
        taken = {*self.held.values(), *self.read.values()}
        free = [number for number in range(TILE_REGISTERS) if number not in taken]
        for wanted in (shape, None):
            for number in free:
                if self.shapes[number] == wanted:
                    self.shapes[number] = shape
                    return number
        raise _Full


# -- regions -----------------------------------------------------------------------------------


class _Holding:
    """One walk over a program that finds the regions."""

    def __init__(self, program: VectorProgram) -> None:
        self.arrays = program.arrays

    def node(self, node: Node) -> Node:
        """Rewrite a node that is not inside a region."""
        match node:
            case Nodes(nodes=nodes):
                result: list[Node] = []
                run: list[Node] = []
                for child in nodes:
                    if _is_pure(child):
                        run.append(child)
                        continue
                    result += [*self._regions(run), self.node(child)]
                    run = []
                return sequence([*result, *self._regions(run)])
            case _ if _is_pure(node):
                return sequence(self._regions([node]))
        return map_children(node, self.node)

    def _regions(self, run: list[Node]) -> list[Node]:
        """Cut a run of calls and loops into regions, each as long as the registers suffice."""
        if not any(isinstance(part, TileCall) for node in run for part in walk(node)):
            return run
        for length in range(len(run), 0, -1):
            region = self._region(run[:length])
            if region is not None:
                return [region, *self._regions(run[length:])]
        first, *rest = run
        if isinstance(first, Nodes):
            return self._regions([*first.nodes, *rest])
        if isinstance(first, Branch):
            ends = [self.node(end) for end in children(first)]
            branch = replace(first, then=ends[0], otherwise=ends[1] if ends[1:] else None)
            return [branch, *self._regions(rest)]
        assert isinstance(first, Loop)
        return [replace(first, body=self.node(first.body)), *self._regions(rest)]

    def _region(self, nodes: list[Node]) -> Tiles | None:
        """The code of a region; None if it is too large or if a target moves in it."""
        reached = [call for node in nodes for call in _calls(node, frozenset(), certain=True)]
        calls = [each.call for each in reached]
        targets: dict[Tile, _Reached] = {}
        for each in reached:
            target = each.call.tiles[0][1]
            if _uses(target, each.variables):
                return None
            targets.setdefault(target, each)
        if {*targets} != {each.call.tiles[0][1] for each in reached if each.certain}:
            return None
        written = {tile.address.array for tile in targets}
        read = {tile.address.array for call in calls for _, tile in call.tiles[1:]}
        is_moving = any(tile.address.is_data_dependent for call in calls for _, tile in call.tiles)
        is_shared = bool(written & read) or not _are_apart(list(targets))
        if len(calls) > 1 and (is_shared or is_moving):
            return None
        registers = _Registers()
        try:
            for tile in targets:
                registers.hold(tile, self._shape(tile))
            before: list[Node] = [
                TileLoad(registers.held[tile], tile)
                for tile, first in targets.items()
                if first.call.instruction.updates or not first.certain
            ]
            body = self._code(nodes, registers)
        except _Full:
            return None
        after = [TileStore(registers.held[tile], tile) for tile in targets]
        return Tiles(tuple(registers.shapes), sequence([*before, *body, *after]))

    def _code(self, nodes: Sequence[Node], registers: _Registers) -> list[Node]:
        """The code of nodes of a region, with loads of the tiles that they read."""
        result: list[Node] = []
        for position, node in enumerate(nodes):
            match node:
                case TileCall():
                    later = [
                        tile
                        for following in nodes[position + 1 :]
                        if isinstance(following, TileCall)
                        for _, tile in following.tiles[1:]
                    ]
                    result += self._call(node, registers, later)
                case Loop(body=body):
                    inner = body.nodes if isinstance(body, Nodes) else (body,)
                    registers.read.clear()
                    result.append(replace(node, body=sequence(self._code(inner, registers))))
                    registers.read.clear()
                case Branch(then=then, otherwise=otherwise):
                    ends = []
                    for end in (then, otherwise or Nodes(())):
                        registers.read.clear()
                        ends.append(sequence(self._code([end], registers)))
                    registers.read.clear()
                    other = None if otherwise is None else ends[1]
                    result.append(replace(node, then=ends[0], otherwise=other))
                case Nodes(nodes=inner):
                    result += self._code(inner, registers)
                case _:
                    result.append(node)
        return result

    def _call(self, call: TileCall, registers: _Registers, later: Sequence[Tile]) -> list[Node]:
        (name, target), *inputs = call.tiles
        own = [tile for _, tile in inputs]
        result: list[Node] = []
        numbers = [(name, registers.held[target])]
        for name, tile in inputs:
            number = registers.read.get(tile)
            if number is None:
                number = registers.load(tile, self._shape(tile), later, own)
                result.append(TileLoad(number, tile))
            numbers.append((name, number))
        compute = TileCompute(call.statement, call.instruction, call.sizes, tuple(numbers))
        return [*result, compute]

    def _shape(self, tile: Tile) -> Shape:
        return tile.rows, tile.columns * self.arrays[tile.address.array].dtype.bytes


def _is_pure(node: Node) -> bool:
    """Whether a node may be inside a region."""
    match node:
        case TileCall() | Prefetch():
            return True
        case Nodes(nodes=nodes):
            return all(map(_is_pure, nodes))
        case Loop(body=body, region=None):
            return _is_pure(body)
        case Branch(condition=condition):
            reads = any(isinstance(part, Load | Register) for part in walk_value(condition))
            return not reads and all(map(_is_pure, children(node)))
    return False


@dataclass(frozen=True)
class _Reached:
    """A call in a region.

    Attributes:
        variables: the variables of the region's loops around it.
        certain: whether each run of the region reaches it.
    """

    call: TileCall
    variables: frozenset[str]
    certain: bool


def _calls(node: Node, variables: frozenset[str], *, certain: bool) -> Iterator[_Reached]:
    """The calls in a node of a region, in order."""
    match node:
        case TileCall():
            yield _Reached(node, variables, certain)
        case Nodes(nodes=nodes):
            for child in nodes:
                yield from _calls(child, variables, certain=certain)
        case Loop(variable=variable, body=body, runs=runs):
            yield from _calls(body, variables | {variable}, certain=certain and runs)
        case Branch():
            for child in children(node):
                yield from _calls(child, variables, certain=False)


def _uses(tile: Tile, variables: frozenset[str]) -> bool:
    values = [value for value, _ in tile.address.terms]
    values += [value for _, value in tile.address.scaled]
    return any(
        getattr(part, "name", None) in variables for value in values for part in walk_value(value)
    )


def _are_apart(tiles: list[Tile]) -> bool:
    """Whether no two tiles of targets share an element."""
    return all(
        first.address.array != second.address.array or _is_apart(first, second)
        for position, first in enumerate(tiles)
        for second in tiles[position + 1 :]
    )


def _is_apart(first: Tile, second: Tile) -> bool:
    """Whether the subscripts of two tiles of an array differ by their extents in a dimension."""
    for at, place in enumerate(first.place):
        difference = second.place[at].constant - place.constant
        extent = first.extents[at] if difference > 0 else second.extents[at]
        if place.terms == second.place[at].terms and abs(difference) >= extent:
            return True
    return False
