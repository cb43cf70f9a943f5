"""Products of bf16 and f16: sums in f32, rounded once."""

from __future__ import annotations

from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError
from polysched.ir.semantics.memory import AnyArray
from polysched.library.matmul.dispatch.dispatch import dispatch
from polysched.library.matmul.dispatch.views import operand_of
from polysched.machine.load import load_machine
from polysched.runtime.views import as_array
from tests.support.effort import covering, sampled

BFLOAT16 = ml_dtypes.bfloat16
TYPES = (BFLOAT16, np.float16)
EPSILON = {np.dtype(BFLOAT16): 2.0**-8, np.dtype(np.float16): 2.0**-11, np.dtype(np.float32): 0.0}
SHAPES = (
    (64, 64, 64),
    (1, 33, 17),
    (5, 7, 3),
    (37, 50, 71),
    (70, 60, 1),
    (33, 1, 40),
    (90, 70, 129),
)


def operands(m: int, n: int, k: int, dtype: Any, seed: int = 0) -> tuple[AnyArray, AnyArray]:
    generator = np.random.default_rng(seed)
    a, b = generator.normal(size=(m, k)), generator.normal(size=(k, n))
    return a.astype(dtype), b.astype(dtype)


def assert_close(result: AnyArray, expected: AnyArray, size: AnyArray) -> None:
    """Within one rounding of the result, and those of the sums in f32."""
    allowed = EPSILON[result.dtype] * np.abs(expected) + 1e-5 * size + 1e-7
    assert (np.abs(result.astype(np.float64) - expected) <= allowed).all()


def wide(*arrays: AnyArray) -> list[AnyArray]:
    return [array.astype(np.float64) for array in arrays]


@covering(1, dtype=TYPES, shape=sampled(SHAPES, 2))
def test_product_has_the_type_of_its_operands(shape: tuple[int, int, int], dtype: Any) -> None:
    a, b = operands(*shape, dtype)
    first, second = wide(a, b)
    for wanted, given in ((dtype, None), (np.float32, "f32"), (dtype, np.dtype(dtype))):
        result = ps.matmul(a, b, threads=1, dtype=given)
        assert result.dtype == wanted
        assert_close(result, first @ second, abs(first) @ abs(second))


@pytest.mark.parametrize("dtype", TYPES)
def test_small_integers_are_exact(dtype: Any) -> None:
    generator = np.random.default_rng(1)
    a = generator.integers(-3, 4, (60, 129)).astype(dtype)
    b = generator.integers(-3, 4, (129, 50)).astype(dtype)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_array_equal(ps.matmul(a, b, dtype="f32"), exact)
    np.testing.assert_array_equal(
        ps.matmul(a, b).astype(np.float64), exact.astype(dtype).astype(np.float64)
    )


@pytest.mark.parametrize("dtype", sampled(TYPES, 2))
def test_layouts_stacks_and_repeated_calls(dtype: Any) -> None:
    a, b = operands(48, 40, 66, dtype)
    exact = np.matmul(*wide(a, b))
    size = np.matmul(*(abs(one) for one in wide(a, b)))
    out = np.empty((40, 48), dtype).T
    lefts = (a, np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2])
    for right, left in sampled([*product((b, np.asfortranarray(b)), lefts)], 2):
        for _ in range(3):
            assert_close(ps.matmul(left, right), exact, size)
        assert ps.matmul(left, right, out) is out
        assert_close(out, exact, size)
    stack = np.stack([a, a[::-1]])
    assert_close(ps.matmul(stack, b), np.stack([exact, exact[::-1]]), np.stack([size, size[::-1]]))
    assert_close(ps.matmul(a[0], b), exact[0], size[0])
    assert_close(ps.matmul(a, b[:, 0]), exact[:, 0], size[:, 0])


@covering(1, dtype=TYPES, k=[0, 3, 80])
def test_epilogue_is_computed_in_f32(dtype: Any, k: int) -> None:
    a, b = operands(48, 40, k, dtype)
    generator = np.random.default_rng(2)
    bias, old = (
        generator.normal(size=40).astype(dtype),
        generator.normal(size=(48, 40)).astype(dtype),
    )
    first, second, offset, before = wide(a, b, bias, old)
    size = abs(first) @ abs(second) + 10
    expected = np.maximum(0.5 * (first @ second) + 0.25 * before + offset, 0)
    out = old.copy()
    ps.matmul(a, b, out, alpha=0.5, beta=0.25, bias=bias, activation="relu")
    assert_close(out, expected, size)
    out = old.copy()
    ps.matmul(a, b, out, beta=1)
    assert_close(out, first @ second + before, size)


@pytest.mark.parametrize("dtype", TYPES)
def test_nan_and_infinity_pass_through(dtype: Any) -> None:
    a, b = operands(40, 40, 40, dtype)
    a[3, 5], a[7, 7] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float32) @ b.astype(np.float32)
    result = ps.matmul(a, b).astype(np.float32)
    np.testing.assert_array_equal(np.isnan(result), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(result), np.isinf(expected))


@pytest.mark.parametrize("machine", ["haswell-avx2", "skylake-avx512"])
@pytest.mark.parametrize("dtype", TYPES)
def test_machines_without_the_instruction(dtype: Any, machine: str) -> None:
    if load_machine(machine).missing_on(load_machine(None)):
        pytest.skip("its code does not run here")
    a, b = operands(64, 48, 50, dtype)
    entry = dispatch(operand_of(a), operand_of(b), 1, machine=load_machine(machine))
    out = np.empty(entry.shape, entry.dtype)
    entry.run(a, b, out)
    first, second = wide(a, b)
    assert_close(out, first @ second, abs(first) @ abs(second))


def test_types_that_are_refused() -> None:
    a, b = operands(4, 4, 4, BFLOAT16)
    with pytest.raises(CallError, match="no type holds both"):
        ps.matmul(a, b.astype(np.float16))
    with pytest.raises(CallError, match="dtype is f64.* expected bf16 or f32"):
        ps.matmul(a, b, dtype="f64")
    with pytest.raises(CallError, match="dtype is f64.* expected f32 or bf16 or f16"):
        ps.matmul(a.astype(np.float32), b.astype(np.float32), dtype="f64")
    with pytest.raises(CallError, match="bias has elements of type float32"):
        ps.matmul(a, b, bias=np.zeros(4, np.float32))


@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_tensors_of_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    a = torch.randn(40, 64).to(getattr(torch, name))
    b = torch.randn(64, 48).to(getattr(torch, name))
    exact = (a.double() @ b.double()).numpy()
    size = (a.double().abs() @ b.double().abs()).numpy()
    half, single = ps.matmul(a, b), ps.matmul(a, b.T.contiguous().T, dtype="f32")
    assert (half.dtype, single.dtype) == (a.dtype, torch.float32)
    for result in (half, single):
        assert_close(as_array(result, "result"), exact, size)
