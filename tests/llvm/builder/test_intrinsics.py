import pytest
from llvmlite import binding, ir

from polysched.llvm.builder.intrinsics import (
    all_lanes,
    constant,
    fenced,
    free,
    integers,
    lane_numbers,
    mask_of,
    shuffled,
    zeros,
)


def test_constant_vectors() -> None:
    assert str(integers(8, (1, 2))) == "<2 x i8> <i8 1, i8 2>"
    assert str(lane_numbers(3)) == "<3 x i64> <i64 0, i64 1, i64 2>"
    assert str(mask_of([True, False])) == "<2 x i1> <i1 1, i1 0>"
    assert str(all_lanes(2)) == "<2 x i1> splat (i1 1)"


def test_a_constant_vector_is_one_object() -> None:
    assert integers(32, (3, 1)) is integers(32, (3, 1))
    assert integers(32, (3, 1)) is not integers(64, (3, 1))


def test_a_shuffle_of_two_vectors() -> None:
    vector = ir.VectorType(ir.FloatType(), 2)
    function = ir.Function(ir.Module(), ir.FunctionType(vector, [vector, vector]), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    made = shuffled(builder, *function.args, range(3, -1, -1))
    assert str(made).endswith("<4 x i32> <i32 3, i32 2, i32 1, i32 0>")


def test_short_forms_are_read_by_llvm() -> None:
    vector = ir.VectorType(ir.FloatType(), 2)
    function = ir.Function(ir.Module(), ir.FunctionType(vector, [vector]), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    total = builder.fadd(function.args[0], constant(vector, 1.5))
    builder.ret(builder.fadd(builder.fadd(total, zeros(vector)), free(vector)))
    text = str(binding.parse_assembly(str(function.module)))
    assert "splat (float 1.500000e+00)" in text
    assert "zeroinitializer" in text
    assert "poison" in text


@pytest.mark.parametrize(
    ("bits", "lanes", "fences"), [(8, 8, 1), (32, 4, 1), (64, 2, 1), (8, 2, 0)]
)
def test_fences_keep_type_and_bits(bits: int, lanes: int, fences: int) -> None:
    vector = ir.VectorType(ir.IntType(bits), lanes)
    function = ir.Function(ir.Module(), ir.FunctionType(vector, [vector]), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    made = fenced(builder, function.args[0])
    builder.ret(made)
    assert made.type == vector
    text = str(binding.parse_assembly(str(function.module)))
    assert text.count("call <") == fences
