from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched
from polysched.errors import CallError
from polysched.ir.expr.expressions import Expression, Index
from polysched.ir.expr.functions import cast, maximum
from polysched.ir.semantics.bit_packing import pack_bits
from polysched.library.matmul.dispatch.call import matmul
from polysched.library.matmul.dispatch.computed import Computed, Input, computed
from tests.support.effort import covering, sampled

Array = np.ndarray[Any, Any]


def some(*shape: int, dtype: str = "float32", highest: int = 8) -> Array:
    lowest = 0 if dtype.startswith("u") else -8
    generator = np.random.default_rng(sum(shape))
    return generator.integers(lowest, highest, shape).astype(dtype)


def scaled(dtype: str) -> Callable[..., Expression]:
    return lambda code, scale: cast(code, dtype) * scale


def shifted(code: Expression, scale: Expression, zero: Expression) -> Expression:
    return scale * (cast(code, "f32") - cast(zero, "f32"))


def packed(values: Array, dtype: str = "u4") -> Input:
    bits = pack_bits(values, dtype, rows="padded", overflow="raise")
    return Input(bits, dtype, columns=values.shape[-1])


def four_bits(rows: int, columns: int, group: int = 32) -> tuple[Computed, Array]:
    """Weights in groups with a scale and a zero, and what they are."""
    codes = some(rows, columns, dtype="uint8", highest=16)
    groups = (rows, -(-columns // group))
    scale, zero = some(*groups), some(*groups, dtype="uint8", highest=16)
    inputs = (packed(codes), *(Input(one, block=(1, group)) for one in (scale, zero)))
    of = np.arange(columns) // group
    return computed(shifted, *inputs), (codes - zero[:, of].astype("f4")) * scale[:, of]


def test_exported() -> None:
    assert polysched.computed is computed
    assert polysched.Input is Input
    assert polysched.Computed is Computed


SIZES = [(1, 1, 1), (1, 70, 33), (70, 1, 33), (5, 33, 17), (37, 50, 129), (130, 65, 31)]


@covering(1, sizes=sampled(SIZES, 2), dtype=["float32", "float64"])
def test_a_left_operand(sizes: tuple[int, int, int], dtype: str) -> None:
    m, n, k = sizes
    codes, scale, b = some(m, k, dtype="int8"), some(m, 1, dtype=dtype), some(k, n, dtype=dtype)
    expected = (codes * scale) @ b
    a = computed(scaled(dtype), codes, scale)
    np.testing.assert_array_equal(matmul(a, b), expected)
    np.testing.assert_array_equal(matmul(b.T, a.T), expected.T)
    turned = computed(scaled(dtype), np.asfortranarray(codes), scale)
    np.testing.assert_array_equal(matmul(turned, b), expected)


@pytest.mark.parametrize("sizes", sampled(SIZES, 2), ids=str)
def test_a_right_operand_of_packed_bits(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    x = some(m, k)
    for weights, values in (four_bits(k, n), tuple(one.T for one in four_bits(n, k))):
        np.testing.assert_array_equal(matmul(x, weights), x @ values)


@pytest.mark.parametrize("threads", [1, 2])
def test_both_operands_large_enough_for_two_threads(threads: int) -> None:
    x, scale = some(200, 300, dtype="int8"), some(300)
    a, (weights, values) = computed(scaled("f32"), x, scale), four_bits(257, 300)
    expected = (x * scale) @ values.T
    np.testing.assert_array_equal(matmul(a, weights.T, threads=threads), expected)
    np.testing.assert_array_equal(matmul(weights, a.T, threads=threads), expected.T)


def test_with_a_finish() -> None:
    weights, values = four_bits(40, 70)
    x, bias, out = some(9, 70), some(40), some(9, 40)
    expected = np.maximum(2 * (x @ values.T) + 3 * out + bias, 0)
    found = matmul(x, weights.T, out, alpha=2, beta=3, bias=bias, activation="relu")
    assert found is out
    np.testing.assert_array_equal(found, expected)
    column = some(9, 1)
    np.testing.assert_array_equal(matmul(x, weights.T, bias=column), x @ values.T + column)


def test_an_output_in_columns() -> None:
    weights, values = four_bits(40, 70)
    x, out = some(20, 70), np.empty((20, 40), "f4", order="F")
    matmul(x, weights.T, out)
    np.testing.assert_array_equal(out, x @ values.T)


def test_a_stack_and_a_computed_matrix() -> None:
    weights, values = four_bits(40, 70)
    x = some(3, 2, 5, 70)
    np.testing.assert_array_equal(matmul(x, weights.T), x @ values.T)
    y = some(3, 70, 5)
    np.testing.assert_array_equal(matmul(weights, y), values @ y)


def test_vectors() -> None:
    weights, values = four_bits(40, 70)
    np.testing.assert_array_equal(matmul(weights, some(70)), values @ some(70))
    np.testing.assert_array_equal(matmul(some(40), weights), some(40) @ values)
    row = computed(lambda x, y: x + y, some(70), some(1, 70))
    assert row.shape == (1, 70)
    np.testing.assert_array_equal(matmul(row, weights.T), (some(70) + some(1, 70)) @ values.T)


def test_views() -> None:
    wide = some(40, 90)
    b = some(30, 20)
    for view in (wide[:, 5:35], wide[::2, :30], wide[:, 60:0:-2], wide[:30, :30].T):
        a = computed(lambda x: x * 2, view)
        np.testing.assert_array_equal(matmul(a, b), 2 * view @ b)
    steps = computed(scaled("f32"), some(40, 30, dtype="int8"), wide[:, :1])
    np.testing.assert_array_equal(matmul(steps, b), some(40, 30) * wide[:, :1] @ b)
    padded = pack_bits(some(40, 60, dtype="uint8"), "u4", rows="padded", overflow="raise")
    part = computed(lambda code: cast(code, "f32"), Input(padded[:, :15], "u4"))
    np.testing.assert_array_equal(matmul(part, b), some(40, 60, dtype="uint8")[:, :30] @ b)


def test_integers() -> None:
    a, b = some(7, 30, dtype="int8"), some(30, 9, dtype="int8")
    negated = computed(lambda x: -x, a)
    found = matmul(negated, b)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, -(a.astype("i4") @ b.astype("i4")))


def test_blocks_of_both_dimensions() -> None:
    a, scale = some(7, 10), some(3, 2)
    of = computed(lambda x, s: x * s, a, Input(scale, block=(3, 8)))
    values = a * scale[np.arange(7) // 3][:, np.arange(10) // 8]
    np.testing.assert_array_equal(matmul(of, some(10, 4)), values @ some(10, 4))


def test_arrays_are_read_when_it_is_multiplied() -> None:
    codes, factor = some(6, 8), np.array(1, "f4")
    a = computed(lambda x, f: maximum(x * f, 0), codes, factor)
    first = matmul(a, np.eye(8, dtype="f4"))
    np.testing.assert_array_equal(first, np.maximum(codes, 0))
    codes += 1
    factor[()] = -2
    np.testing.assert_array_equal(matmul(a, np.eye(8, dtype="f4")), np.maximum(-2 * codes, 0))


def test_a_function_is_known_by_what_it_computes() -> None:
    x, unit = some(5, 6), np.eye(6, dtype="f4")
    for factor in (2.0, 3.0, -0.0, 0.0):
        found = matmul(computed(lambda one, factor=factor: one * 0 + factor, x), unit)
        np.testing.assert_array_equal(found, np.full((5, 6), factor))
    recipes = [computed(lambda one: one * 2, x).recipe for _ in range(2)]
    assert recipes[0] == recipes[1]
    assert recipes[0] != computed(lambda one: one * 3, x).recipe
    signs = [computed(lambda one, zero=zero: one * zero, x).recipe for zero in (0.0, -0.0)]
    assert signs[0] != signs[1]


def test_nothing_to_add_up() -> None:
    a = computed(lambda x: x * 2, some(3, 0))
    np.testing.assert_array_equal(matmul(a, some(0, 4)), np.zeros((3, 4)))
    np.testing.assert_array_equal(matmul(a, some(0, 4), bias=some(4)), np.tile(some(4), (3, 1)))
    assert matmul(computed(lambda x: x * 2, some(0, 5)), some(5, 4)).shape == (0, 4)


def test_an_output_that_is_an_input_is_refused() -> None:
    x = some(8, 8)
    before = x.copy()
    with pytest.raises(CallError, match="share|overlap"):
        matmul(computed(lambda one: one * 2, x), some(8, 8), x)
    np.testing.assert_array_equal(x, before)


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: computed(lambda: 1), "there is no array to compute from"),
    (lambda: computed(lambda x: x, "no"), "input 0 is of type str"),
    (lambda: computed(lambda x: x, some(2, 3, 4)), r"input 0 has shape \(2, 3, 4\); expected at"),
    (lambda: computed(lambda x: x, some(2, 3).astype(complex)), "input 0: unknown element type"),
    (lambda: computed(lambda x, y: x * y, some(2, 3), some(2, 4)), "input 0 has 3 columns and in"),
    (
        lambda: computed(lambda x, y: x * y, some(2, 3), some(5, 1)),
        "input 0 has 2 rows and input 1",
    ),
    (
        lambda: computed(lambda x: x, Input(some(2, 3), block=(1, 0))),
        r"block is \(1, 0\); expected",
    ),
    (lambda: computed(lambda x: x, Input(some(2, 3), block=(1, 8))), "no input says how many col"),
    (
        lambda: computed(lambda x, y: x * y, some(2, 9), Input(some(2, 4), block=(1, 4))),
        "input 1 has 4 columns of blocks; expected 3: there are 9 columns in blocks of 4",
    ),
    (
        lambda: computed(lambda x: x, Input(some(2, 3), "u4")),
        "expected the bytes, uint8, of packed",
    ),
    (
        lambda: computed(lambda x: x, Input(some(2, 3, dtype="uint8"), "u4", columns=8)),
        "rows of 3 bytes, and columns=8 of u4 take 4",
    ),
    (lambda: computed(lambda x: x, Input(some(2, 3), "f64")), "leave them out, and convert"),
    (lambda: computed(lambda x: x, Input(some(2, 3), columns=3)), "are for packed integers"),
    (lambda: computed(lambda x: x if x > 0 else 0, some(2, 3)), "has no truth value"),
    (lambda: computed(lambda x: x * cast(1, "f64"), some(2, 3)), "mixes f32 and f64"),
    (lambda: computed(lambda x: None, some(2, 3)), "None of type NoneType cannot stand in"),
    (lambda: computed(lambda x: 1, some(2, 3)), "the type of a literal"),
    (lambda: computed(lambda x: x > 0, some(2, 3)), "result has the type bool"),
    (lambda: computed(lambda x: cast(x, "i4"), some(2, 3)), "result has the type i4; expected"),
    (lambda: computed(lambda x: x + cast(Index("m"), "f32"), some(2, 3)), "the function uses 'm'"),
    (lambda: computed(lambda x: _doubled(x, 100), some(2, 3)), "expression is too large"),
    (lambda: matmul(computed(lambda x: x, some(2, 3)), some(4, 5)), "has 3 columns and 'b' of sh"),
    (lambda: matmul(computed(lambda x: x, some(2, 3)), "no"), "array 'b' is of type str"),
]


def _doubled(value: Expression, times: int) -> Expression:
    for _ in range(times):
        value = value + value
    return value


@pytest.mark.parametrize(("call", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(CallError, match=message):
        call()


def test_an_element_of_another_function_is_refused() -> None:
    kept: list[Expression] = []
    computed(lambda x: kept.append(x) or x, some(2, 3))
    with pytest.raises(CallError, match="which is not an element of an input"):
        computed(lambda x: x + kept[0], some(2, 3))


def test_an_input_may_not_overlap_the_result() -> None:
    memory = np.zeros((64, 40), np.float32)
    scales = np.ones((64, 1), np.float32)
    b = computed(lambda scale, value: scale * value, scales, memory[:, :32])
    a = np.ones((16, 64), np.float32)
    expected = "matmul: input 1 of 'b' and 'out' overlap in memory, and 'out' is written; expected"
    with pytest.raises(CallError, match=expected):
        matmul(a, b, memory[:16, 5:37])
    with pytest.raises(CallError, match=expected.replace("'b'", "'a'")):
        matmul(b.T, a.T, memory[:32, 5:21])
