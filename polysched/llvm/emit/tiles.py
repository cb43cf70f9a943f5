"""Emit tile statements by the intrinsics of AMX with numbered registers.

The numbers come from the vector IR, so LLVM allocates no tile registers and spills none. A
configuration is a constant of 64 bytes: palette 1, the bytes of a row of each register, the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import declared
from polysched.llvm.emit.evaluation import Evaluator
from polysched.llvm.values.expressions import INDEX
from polysched.vector.ir import Node, Shape, Tile, TileCompute, TileLoad, Tiles, TileStore

_BYTE = ir.IntType(8)
_POINTER = ir.PointerType()
_CONFIGURATION_BYTES = 64
_PALETTE = 1


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
                self.values.accesses.loaded.forget()
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
