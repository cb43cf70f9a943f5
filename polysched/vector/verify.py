"""Verifier of the vector IR: invariants that every pass preserves and the emitter relies on."""

from __future__ import annotations

from polysched.errors import LoweringError
from polysched.instructions.amx import TILE_BYTES, TILE_REGISTERS, TILE_ROWS
from polysched.ir.expr.expressions import Index, Parameter
from polysched.vector import ir
from polysched.vector import values as vector
from polysched.vector.printing import format_statement, format_value
from polysched.vector.rewrite import operands, statement_values, target_access


def verify(program: ir.VectorProgram) -> None:
    """Check a vector program.

    Raises:
        LoweringError: a node violates an invariant; the message names the node and the invariant.
    """
    frame = program.frame
    _Verifier(program, frame).node(program.body, frozenset(program.parameters))


class _Verifier:
    """One walk over the statements of a function."""

    def __init__(self, program: ir.VectorProgram, frame: ir.Frame) -> None:
        self.program = program
        self.memory = {*frame.outside, *frame.stack, *frame.heap}
        self.registers = set(frame.registers)
        missing = (self.memory | self.registers) - set(program.arrays)
        _require(not missing, f"frame with undeclared arrays {sorted(missing)}")
        missing = self.memory - set(program.layouts)
        _require(not missing, f"arrays {sorted(missing)} without a layout")

    def node(self, node: ir.Node, names: frozenset[str]) -> None:
        """Check a node in the scope of parameters and variables."""
        match node:
            case ir.Sequence(nodes=nodes):
                for child in nodes:
                    self.node(child, names)
            case ir.Loop(variable=variable, lower=lower, upper=upper, body=body):
                self.scalar(lower, names)
                self.scalar(upper, names)
                if node.until is not None:
                    self.scalar(node.until, names)
                _require(node.step >= 1, f"loop '{node.name}' with step {node.step}")
                inner = self if node.region is None else _Verifier(self.program, node.region)
                inner.node(body, names | {variable})
            case ir.Branch(condition=condition, then=then, otherwise=otherwise):
                self.scalar(condition, names)
                self.node(then, names)
                if otherwise is not None:
                    self.node(otherwise, names)
            case ir.Tiles(shapes=shapes, body=body):
                _require(len(shapes) <= TILE_REGISTERS, f"{len(shapes)} tile registers")
                self.node(body, names)
            case _:
                try:
                    self.statement(node, names)
                except LoweringError as error:
                    raise LoweringError(f"'{format_statement(node)}': {error}") from error

    def statement(self, node: ir.Statement, names: frozenset[str]) -> None:
        """Check a statement in scope."""
        match node:
            case ir.Prefetch(address=address, level=level):
                self.access(vector.Access(address, vector.Uniform.BROADCAST, 1), None, names)
                _require(1 <= level <= 3, f"cache level {level}; expected 1, 2 or 3")
            case ir.Transpose(rows=rows, columns=columns):
                for name in (rows, columns):
                    is_tile = name in self.registers and len(self.program.arrays[name].shape) == 2
                    _require(is_tile, f"'{name}' is not a register tile")
            case ir.TileCall(tiles=tiles):
                for _, tile in tiles:
                    self.tile(tile, names)
            case ir.TileLoad(tile=tile) | ir.TileStore(tile=tile):
                self.tile(tile, names)
            case ir.Assign() | ir.Call():
                self.lanes(node.lanes)
                for value in statement_values(node):
                    self.value(value, node.lanes, names)
                self.target(node, names)

    def tile(self, tile: ir.Tile, names: frozenset[str]) -> None:
        """Check a tile in memory."""
        self.access(vector.Access(tile.address, vector.Uniform.BROADCAST, 1), None, names)
        dtype = self.program.arrays[tile.address.array].dtype
        is_small = 1 <= tile.rows <= TILE_ROWS and 1 <= tile.columns * dtype.bytes <= TILE_BYTES
        _require(is_small, f"a tile of {tile.rows} x {tile.columns} elements of type {dtype}")

    def target(self, node: ir.Assign | ir.Call, names: frozenset[str]) -> None:
        """Check the target of a statement."""
        lanes, access = node.lanes, target_access(node.target)
        if isinstance(node.target, ir.Keep):
            self.value(node.target.register, lanes, names)
        if access is None:
            return
        self.access(access, lanes, names)
        is_shared = access.movement is vector.Uniform.BROADCAST and lanes is not None
        _require(not is_shared, "all lanes write one element")
        if isinstance(node.target, ir.Stream):
            is_whole = lanes is not None and isinstance(lanes.active, vector.All)
            is_whole = is_whole and access.movement is vector.Uniform.CONTIGUOUS
            _require(is_whole, "a streaming store of less than a whole vector")

    def lanes(self, lanes: vector.Lanes | None) -> None:
        """Check the lanes of a statement."""
        if lanes is None:
            return
        _require(lanes.count >= 1, f"a vector of {lanes.count} lanes")
        active = lanes.active
        within = active.within if isinstance(active, vector.Predicate) else active
        if isinstance(within, vector.Only):
            listed = within.lanes
            is_part = 0 < len(listed) < lanes.count and set(listed) <= set(range(lanes.count))
            _require(is_part, f"active lanes {listed} of {lanes.count}; expected some, but not all")
        if isinstance(active, vector.All | vector.Only):
            _require(lanes.some, "literal lanes of which perhaps none runs")

    def scalar(self, value: vector.Value, names: frozenset[str]) -> None:
        """Check a value outside of vector statements."""
        self.value(value, None, names)

    def value(self, value: vector.Value, lanes: vector.Lanes | None, names: frozenset[str]) -> None:
        """Check a value in the lanes of a statement."""
        match value:
            case Index(name=name) | Parameter(name=name):
                _require(name in names, f"'{name}' is used outside its loop")
            case vector.Lane() | vector.First():
                _require(lanes is not None, f"{format_value(value)} in a scalar statement")
            case vector.Shuffle(lanes=numbers):
                _require(lanes is not None, f"{format_value(value)} in a scalar statement")
                is_inside = all(0 <= number < 2 * len(numbers) for number in numbers)
                _require(is_inside, f"shuffle of lanes {list(numbers)}")
            case vector.Register(array=array):
                _require(array in self.registers, f"'{array}' is not a register of the function")
            case vector.Load(access=access) | vector.Unpack(access=access):
                self.access(access, lanes, names)
                is_packed = self.program.arrays[access.address.array].is_packed
                is_unpack = isinstance(value, vector.Unpack)
                _require(is_packed == is_unpack, f"{format_value(value)} of the other layout")
                if isinstance(value, vector.Load) and value.where is not None:
                    self.value(value.where, lanes, names)
                return
        for operand in operands(value):
            self.value(operand, lanes, names)

    def access(
        self, access: vector.Access, lanes: vector.Lanes | None, names: frozenset[str]
    ) -> None:
        """Check an access of a statement."""
        name, movement = access.address.array, access.movement
        _require(name in self.memory, f"'{name}' is not an array of the function")
        address = access.address
        for value in (*(v for v, _ in address.terms), *(v for _, v in address.scaled)):
            self.scalar(value, names)
        if lanes is None:
            is_scalar = movement is vector.Uniform.BROADCAST
            _require(is_scalar, f"{movement} of '{name}' in a scalar statement")
        if isinstance(movement, vector.Gather):
            rank = len(self.program.arrays[name].stored_shape)
            _require(len(movement.subscripts) == rank, f"gather of '{name}' with other dimensions")
            for subscript in movement.subscripts:
                self.value(subscript, lanes, names)
        if isinstance(movement, vector.RuntimeStride):
            _require(bool(movement.steps), f"literal distances of '{name}' as known at run time")
        if isinstance(movement, vector.Offsets) and lanes is not None:
            _require(len(movement.distances) == lanes.count, f"offsets of '{name}' for other lanes")
            is_shared = isinstance(movement, vector.Window) and movement.reach is not None
            least = min(movement.distances)
            _require(
                least == 0 or (is_shared and least > 0),
                f"offsets of '{name}' that do not begin at 0",
            )
        is_power = access.alignment & (access.alignment - 1) == 0 < access.alignment
        _require(is_power, f"alignment of {access.alignment} bytes")


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise LoweringError(problem)
