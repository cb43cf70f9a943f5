from polysched.machine.features import (
    AVX512_BASE,
    feature_string,
    matrix_unit,
    vector_registers,
    widest_vector_bits,
)


def test_feature_string_is_sorted_by_name() -> None:
    assert feature_string({"fma": True, "avx2": False}) == "-avx2,+fma"
    assert feature_string({}) == ""


def test_every_part_of_the_avx512_base_is_needed() -> None:
    rest = {"avx2", "fma"}
    assert widest_vector_bits(AVX512_BASE | rest) == 512
    for feature in AVX512_BASE:
        assert widest_vector_bits((AVX512_BASE | rest) - {feature}) == 256


def test_registers_and_matrix_unit() -> None:
    assert vector_registers({"avx2"}) == 16
    assert vector_registers({"avx512f", "avx512vl"}) == 32
    assert matrix_unit({"amx-tile", "amx-bf16"}) == "amx"
    assert matrix_unit({"avx512f"}) is None
