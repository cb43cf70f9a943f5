"""Instructions kept as text say what llvmlite's own say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import binding, ir

from polysched.errors import CodeTooLargeError
from polysched.llvm.builder.function_builder import MOST_INSTRUCTIONS, FunctionBuilder
from polysched.llvm.builder.intrinsics import integers, vector_type

INDEX, FLOAT, BYTE, BIT = ir.IntType(64), ir.FloatType(), ir.IntType(8), ir.IntType(1)
VECTOR = vector_type(FLOAT, 4)
POINTER = ir.PointerType()
TYPES = [POINTER, INDEX, FLOAT, VECTOR, BIT]

EMISSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "load": lambda b, a: b.load(a[0], typ=VECTOR, align=4),
    "store": lambda b, a: b.store(a[3], a[0], align=16),
    "gep": lambda b, a: b.gep(a[0], [a[1]], source_etype=BYTE),
    "inbounds": lambda b, a: b.gep(a[0], [INDEX(8)], inbounds=True, source_etype=BYTE),
    "shuffle": lambda b, a: b.shuffle_vector(a[3], a[3], integers(32, (0, 5))),
    "insert": lambda b, a: b.insert_element(a[3], a[2], ir.IntType(32)(1)),
    "add": lambda b, a: b.add(a[1], INDEX(3), flags=("nsw",)),
    "mul": lambda b, a: b.mul(a[1], a[1]),
    "fadd": lambda b, a: b.fadd(a[3], a[3], flags=("contract",)),
    "fmul": lambda b, a: b.fmul(a[2], a[2]),
    "select": lambda b, a: b.select(a[4], a[3], a[3]),
}


def text_of(make: type[ir.IRBuilder], emission: Callable[[Any, Any], Any]) -> tuple[str, Any]:
    """The module's text as LLVM writes it, and the type of the value."""
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), TYPES), "f")
    builder = make(function.append_basic_block("entry"))
    made = emission(builder, function.args)
    builder.ret_void()
    binding.initialize_native_target()
    parsed = str(binding.parse_assembly(str(module)))
    return re.sub(r"%[.\w\"]+ = ", "%x = ", parsed), made.type


@pytest.mark.parametrize("name", EMISSIONS)
def test_as_llvmlite(name: str) -> None:
    assert text_of(FunctionBuilder, EMISSIONS[name]) == text_of(ir.IRBuilder, EMISSIONS[name])


def test_metadata_is_attached() -> None:
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), TYPES), "f")
    builder = FunctionBuilder(function.append_basic_block("entry"))
    store = builder.store(function.args[3], function.args[0], align=16)
    store.set_metadata("nontemporal", module.add_metadata([ir.IntType(32)(1)]))
    builder.ret_void()
    assert str(store).endswith(", align 16, !nontemporal !0")
    assert store.function is function
    assert "!nontemporal" in str(binding.parse_assembly(str(module)))


def test_code_that_would_take_minutes_is_refused() -> None:
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), TYPES), "vast")
    builder = FunctionBuilder(function.append_basic_block("entry"))
    builder.inserted = MOST_INSTRUCTIONS - 1
    builder.load(function.args[0], typ=FLOAT)
    with pytest.raises(
        CodeTooLargeError, match="'vast' would have more than 400,000 instr.*unroll less"
    ):
        builder.not_(function.args[1])
