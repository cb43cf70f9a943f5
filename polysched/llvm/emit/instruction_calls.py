"""Emit LLVM intrinsics: of instruction calls, and of tile statements with numbered registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir

from polysched.instructions.declaration import Instruction
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.half import half_bits
from polysched.llvm.builder.intrinsics import constant, declared, vector_type
from polysched.llvm.emit.evaluation import Evaluator
from polysched.llvm.values.expressions import INDEX, element_type, emit_operator
from polysched.llvm.values.half import as_operand
from polysched.vector.ir import Node, Shape, Tile, TileCompute, TileLoad, Tiles, TileStore

_BYTE = ir.IntType(8)
_POINTER = ir.PointerType()
_CONFIGURATION_BYTES = 64
_PALETTE = 1


def emit_call(
    builder: ir.IRBuilder,
    instruction: Instruction,
    before: Any | None,
    operands: Mapping[str, tuple[Any, DType] | Constant],
) -> Any:
    """Emit the intrinsic and return the vector of its results.

    Args:
        before: the vector that the target holds before; None if the instruction does not read it.
        operands: for each input array, a constant, or a pair of a vector of all its elements in
            memory order and their type.
    """
    arrays, target = instruction.kernel.arrays, instruction.statement.target.array
    given: dict[str, Any] = {target: before}
    for name, operand in operands.items():
        dtype = arrays[name].dtype
        count = instruction.lanes * instruction.lane_width(name)
        type_ = vector_type(element_type(dtype), count)
        if isinstance(operand, Constant):
            given[name] = as_operand(builder, constant(type_, _lane(operand, dtype)), dtype)
            continue
        vector, narrow = operand
        if narrow != dtype:
            vector = (builder.sext if narrow.is_signed else builder.zext)(vector, type_)
        given[name] = as_operand(builder, vector, dtype)
    own = arrays[target].dtype
    result = vector_type(element_type(instruction.result or own), instruction.lanes)
    passed = [given[name] for name in instruction.operands]
    signature = ir.FunctionType(result, [vector.type for vector in passed])
    function = declared(builder.module, instruction.intrinsic, signature)
    called = builder.call(function, passed)
    if instruction.result is not None and instruction.result.bits > own.bits:
        called = builder.trunc(called, vector_type(element_type(own), instruction.lanes))
    if before is None or target in instruction.operands:
        return called
    return emit_operator(builder, Operator.ADD, own, [before, called])


def _lane(literal: Constant, dtype: DType) -> Any:
    return half_bits(float(literal.value), dtype) if dtype.is_half else literal.value


class TileUnit:
    """Emit the tile statements of one function."""

    def __init__(self, values: Evaluator) -> None:
        self.values = values
        self.builder = values.builder

    def emit(
        self, node: Tiles | TileLoad | TileStore | TileCompute, inner: Callable[[Node], None]
    ) -> None:
        """Emit a node at the builder's position; ``inner`` emits the body of a configuration."""
        match node:
            case Tiles(shapes=shapes, body=body):
                self._call("llvm.x86.ldtilecfg", [_configuration(self.builder.module, shapes)])
                inner(body)
                self._call("llvm.x86.tilerelease", [])
            case TileLoad(register=register, tile=tile):
                self._move("llvm.x86.tileloadd64", register, tile)
            case TileStore(register=register, tile=tile):
                self._move("llvm.x86.tilestored64", register, tile)
                self.values.accesses.loaded.clear()
            case TileCompute(instruction=instruction, registers=registers):
                self._call(instruction.intrinsic, [_BYTE(number) for _, number in registers])
        self.values.addresses.pace.rest()

    def _move(self, intrinsic: str, register: int, tile: Tile) -> None:
        values = self.values
        storage = values.storages[tile.address.array]
        pointer = values.addresses.address(storage, tile.address)
        size = storage.array.dtype.bytes
        distance: Any = INDEX(tile.distance * size)
        if tile.dimension is not None:
            unit = storage.strides[tile.dimension]
            unit = INDEX(unit) if isinstance(unit, int) else unit
            distance = self.builder.mul(unit, distance)
        self._call(intrinsic, [_BYTE(register), pointer, distance])

    def _call(self, intrinsic: str, arguments: list[Any]) -> None:
        signature = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
        self.builder.call(declared(self.builder.module, intrinsic, signature), arguments)


def _configuration(module: ir.Module, shapes: tuple[Shape | None, ...]) -> Any:
    """The constant of a configuration."""
    content = bytearray(_CONFIGURATION_BYTES)
    content[0] = _PALETTE
    for register, (rows, row_bytes) in enumerate(shape or (0, 0) for shape in shapes):
        content[16 + 2 * register] = row_bytes
        content[48 + register] = rows
    name = f"tiles.{content.hex()}"
    if name not in module.globals:
        type_ = ir.ArrayType(_BYTE, _CONFIGURATION_BYTES)
        constant = ir.GlobalVariable(module, type_, name)
        constant.initializer = ir.Constant(type_, content)
        constant.global_constant = True
        constant.linkage = "internal"
        constant.align = _CONFIGURATION_BYTES
    return module.globals[name]
