"""Which loads and stores of register slots are written down."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polysched.llvm.builder.function_builder import new_function
from polysched.llvm.memory.register_slots import RegisterSlots
from polysched.llvm.values.expressions import INDEX, stack_slot

TRUE = ir.IntType(1)(1)


def started() -> tuple[ir.Function, ir.IRBuilder, RegisterSlots, Any]:
    function, builder = new_function(ir.Module(), "f", ir.FunctionType(ir.VoidType(), [INDEX]))
    return function, builder, RegisterSlots(builder), stack_slot(builder, INDEX)


def counts(function: ir.Function) -> tuple[int, int, int]:
    text = str(function)
    return text.count("alloca"), text.count("store"), text.count("load")


def test_a_slot_of_one_block_is_left_out() -> None:
    function, _, slots, slot = started()
    slots.store(function.args[0], slot)
    assert slots.load(slot) is function.args[0]
    slots.drop_needless()
    assert counts(function) == (0, 0, 0)


def test_what_another_block_stored_is_loaded() -> None:
    function, builder, slots, slot = started()
    slots.store(INDEX(1), slot)
    with builder.if_then(TRUE):
        slots.store(function.args[0], slot)
    loaded = slots.load(slot)
    assert loaded is not function.args[0]
    assert slots.load(slot) is loaded
    slots.drop_needless()
    assert counts(function) == (1, 2, 1)


def test_only_the_last_store_of_a_block_stays() -> None:
    function, builder, slots, slot = started()
    slots.store(INDEX(1), slot)
    slots.store(INDEX(2), slot)
    builder.branch(builder.append_basic_block())
    builder.position_at_end(function.blocks[-1])
    slots.load(slot)
    slots.drop_needless()
    assert counts(function) == (1, 1, 1)
    assert "store i64 2" in str(function)
