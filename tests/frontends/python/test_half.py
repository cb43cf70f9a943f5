"""Functions of bf16 and f16 round where numpy and ml_dtypes round: after every operation."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import polysched as ps
from tests.support.effort import covering, sampled

pytestmark = pytest.mark.usefixtures("as_written")

TYPES = (ml_dtypes.bfloat16, np.float16)
N = 37


def mixed(x: Any, y: Any, z: Any, out: Any) -> None:
    for i in range(x.shape[0]):
        t = x[i] * y[i] - x[i]
        out[0, i] = t / y[i]
        out[1, i] = t + 1
        out[2, i] = z[i] * x[i]
        out[3, i] = x[i] if x[i] < y[i] else y[i]
        out[4, i] = np.maximum(x[i], y[i]) ** 2
        out[5, i] = np.sqrt(np.abs(t)) + 0.3
        out[6, i] = np.float32(x[i]) * y[i] - z[i]
        out[7, i] = -x[i]
        out[8, i] = i
        out[9, i] += x[i] * y[i]
        z[i] = x[i] + y[i]


def whole(x: Any, y: Any, z: Any, out: Any) -> Any:
    out[0, :] = (x * y + x) / y
    out[1, :] = np.where(x < y, x, y)
    out[2, :] = z
    out[3, :] = np.maximum(x, y) - x
    out[4] += x * x
    out[5, :] = np.max(x)
    return x * y - x


def arguments(dtype: Any) -> list[Any]:
    generator = np.random.default_rng(4)
    x, y = (generator.normal(0, 2, N).astype(dtype) for _ in range(2))
    z = generator.normal(0, 2, N).astype(np.float32)
    return [x, y, z, np.zeros((10, N), dtype)]


@covering(1, dtype=TYPES, python=[mixed, whole])
def test_rounds_as_numpy(python: Any, dtype: Any) -> None:
    expected, given = arguments(dtype), arguments(dtype)
    wanted, result = python(*expected), ps.jit(python)(*given)
    for one, other in zip([*given, result], [*expected, wanted], strict=True):
        if one is not None:
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one.astype(np.float32), other.astype(np.float32))


def totals(x: Any, out: Any) -> None:
    out[0] = np.sum(x)
    out[1] = np.mean(x)
    out[2] = np.std(x)
    out[3] = x @ x
    out[4] = np.cumsum(x)[3]


@pytest.mark.parametrize("dtype", sampled(TYPES, 2))
def test_sums_are_accumulated_in_f32(dtype: Any) -> None:
    x = (np.arange(1000) % 7 / 3).astype(dtype)
    out = np.zeros(5, dtype)
    ps.jit(totals)(x, out)
    exact = x.astype(np.float64)
    expected = [exact.sum(), exact.mean(), exact.std(), exact @ exact, exact[:4].sum()]
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=2.0**-7)


def test_annotations() -> None:
    @ps.kernel
    def scale(x: ps.Array[ps.bf16, "n"], y: "f16[n]", factor: "bf16"):  # noqa: F821
        for i in range(x.shape[0]):
            y[i] = np.float32(x[i]) * factor

    x = np.arange(5).astype(ml_dtypes.bfloat16)
    y = np.zeros(5, np.float16)
    ps.compile(scale)(x, y, np.array(3, ml_dtypes.bfloat16))
    np.testing.assert_array_equal(y, np.arange(5) * 3)
