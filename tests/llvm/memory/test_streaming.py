"""Streaming stores and the fence, in LLVM's text."""

from __future__ import annotations

from typing import Any

import pytest
from llvmlite import ir

from polysched.llvm.builder.function_builder import new_function
from polysched.llvm.memory.streaming import emit_fence, stream


def emitted(element: Any, lanes: int, alignment: int) -> str:
    module = ir.Module("m")
    vector = ir.VectorType(element, lanes)
    signature = ir.FunctionType(ir.VoidType(), [vector, ir.PointerType()])
    function, builder = new_function(module, "f", signature)
    stream(builder, function.args[0], function.args[1], alignment)
    emit_fence(builder)
    builder.ret_void()
    return str(module)


def test_an_aligned_address_is_not_asked() -> None:
    text = emitted(ir.FloatType(), 16, 64)
    assert text.count("store ") == text.count("align 64, !nontemporal") == 1
    assert "ptrtoint" not in text
    assert "call void @llvm.x86.sse.sfence" in text.replace('"', "")


@pytest.mark.parametrize(("element", "lanes"), [(ir.FloatType(), 16), (ir.IntType(8), 64)])
def test_elsewhere_the_code_asks(element: Any, lanes: int) -> None:
    text = emitted(element, lanes, 4)
    assert text.count("store ") == 2
    assert text.count("align 64, !nontemporal") == 1
    assert ", 63" in text
    assert ", align 4\n" in text
