import ctypes

import numpy as np
import pytest
from llvmlite import ir

from polysched.llvm.values.transposition import emit_interleaving
from polysched.loops.ir.nodes import Interleaving
from polysched.machine.detect import detect_host
from polysched.runtime.jit import Entry, compile_once
from polysched.runtime.pipeline import CompileOptions
from polysched.vector.interleaved import is_cheapest, origin
from tests.support.differential import NO_CACHE
from tests.support.effort import covering


def compiled(count: int, lanes: int, bits: int, kind: Interleaving) -> tuple[str, object]:
    """A function from ``count`` vectors at one address to those at another; its text as well."""
    module = ir.Module()
    vector = ir.VectorType(ir.IntType(bits), lanes)
    arguments = [ir.PointerType(), ir.PointerType()]
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), arguments), "interleave")
    builder = ir.IRBuilder(function.append_basic_block())
    index = ir.IntType(64)
    source, target = function.args

    def place(start: ir.Argument, number: int) -> object:
        return builder.gep(start, [index(number)], source_etype=vector)

    given = [builder.load(place(source, number), typ=vector) for number in range(count)]
    for number, made in enumerate(emit_interleaving(builder, given, kind)):
        builder.store(made, place(target, number)).align = 1
    for block in function.blocks:
        for one in block.instructions:
            if isinstance(one, ir.LoadInstr):
                one.align = 1
    builder.ret(ir.IntType(32)(0))
    entry = Entry("interleave", pointers=2, integers=0)
    text = str(module)
    return text, compile_once(text, entry, detect_host(), CompileOptions(), NO_CACHE)


@covering(1, count=[2, 3, 4, 6, 7, 8, 12], **{"lanes, bits": [(16, 8), (8, 32), (4, 64)]})
def test_split_and_join(count: int, lanes: int, bits: int) -> None:
    rows = np.arange(count * lanes, dtype=f"u{bits // 8}").reshape(lanes, count)
    for kind, given, expected in (
        (Interleaving.SPLIT, rows, rows.T),
        (Interleaving.JOIN, np.ascontiguousarray(rows.T), rows),
    ):
        _, native = compiled(count, lanes, bits, kind)
        made = np.zeros(rows.size, rows.dtype)
        native.call(*(ctypes.c_void_p(one.ctypes.data) for one in (given, made)))  # type: ignore[attr-defined]
        np.testing.assert_array_equal(made, np.ascontiguousarray(expected).ravel())


@pytest.mark.parametrize(("count", "shuffles"), [(2, 2), (3, 6), (4, 8), (6, 18), (7, 42), (8, 24)])
def test_shuffles(count: int, shuffles: int) -> None:
    """As many for each vector as the sum of what the prime factors exceed 1 by."""
    for kind in Interleaving:
        text, _ = compiled(count, 8, 32, kind)
        assert text.count("shufflevector") == shuffles


@pytest.mark.parametrize(("count", "lanes"), [(3, 4), (4, 8), (5, 2)])
def test_origins_are_inverse(count: int, lanes: int) -> None:
    split, join = (origin(kind, count, lanes) for kind in Interleaving)
    places = [(number, lane) for number in range(count) for lane in range(lanes)]
    assert [join(*split(*place)) for place in places] == places


@pytest.mark.parametrize(
    ("count", "lanes", "is_cheaper"),
    [
        (3, 4, True),
        (5, 8, True),
        (7, 8, False),
        (7, 64, True),
        (9, 16, True),
        (13, 32, False),
    ],
)
def test_many_vectors_of_a_large_prime_are_dearer_than_rows(
    count: int, lanes: int, is_cheaper: bool
) -> None:
    assert is_cheapest(count, lanes) == is_cheaper
