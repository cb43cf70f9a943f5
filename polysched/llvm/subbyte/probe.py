"""Probe of a strategy: a loop over memory for tests and benchmarks.

The function is ``i32 NAME(ptr from, ptr to, i64 blocks)``. For each of ``blocks`` vectors, it loads
a vector, packs or unpacks it, and stores the result after the previous result.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.llvm.builder.function_builder import new_function
from polysched.llvm.subbyte.conversion import BYTE, Conversion, Direction
from polysched.llvm.subbyte.strategies import strategy_named
from polysched.llvm.subbyte.transfer import load_bytes, store_bytes
from polysched.llvm.values.expressions import INDEX
from polysched.machine.description import Machine

_POINTER = ir.PointerType()
_INT32 = ir.IntType(32)


def probe_module(
    name: str, direction: Direction, strategy: str, conversion: Conversion, machine: Machine
) -> str:
    """Emit the LLVM IR of the loop as text."""
    rewrite = strategy_named(direction, strategy).rewrite
    module = ir.Module(name=name)
    module.triple = machine.triple
    signature = ir.FunctionType(_INT32, [_POINTER, _POINTER, INDEX])
    function, builder = new_function(module, name, signature)
    source, target, blocks = function.args
    for pointer in (source, target):
        pointer.add_attribute("noalias")
    body, end = (builder.append_basic_block(label) for label in ("body", "end"))
    before = builder.block
    builder.cbranch(builder.icmp_signed(">", blocks, INDEX(0)), body, end)
    builder.position_at_end(body)
    block = builder.phi(INDEX, name="block")
    block.add_incoming(INDEX(0), before)
    types = (conversion.unpacked_type, conversion.packed_type)
    read, written = types if direction is Direction.PACK else types[::-1]
    features = machine.enabled_features
    address = _place(builder, source, block, read)
    if direction is Direction.PACK:
        loaded = builder.load(address, typ=read)
        loaded.align = 1
    else:
        loaded = load_bytes(builder, address, conversion.bytes, 1, features)
    result = rewrite(builder, loaded, conversion)
    address = _place(builder, target, block, written)
    if direction is Direction.PACK:
        store_bytes(builder, result, address, 1, features)
    else:
        builder.store(result, address).align = 1
    following = builder.add(block, INDEX(1))
    block.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, blocks), body, end)
    builder.position_at_end(end)
    builder.ret(_INT32(0))
    return str(module)


def _place(builder: ir.IRBuilder, pointer: Any, block: Any, vector: Any) -> Any:
    size = vector.count * vector.element.width // 8
    return builder.gep(pointer, [builder.mul(block, INDEX(size))], source_etype=BYTE)
