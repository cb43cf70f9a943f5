from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from polysched.bench import matmul
from polysched.bench.matmul import (
    SUITE,
    MatmulSize,
    contestants,
    prepare_onednn,
    random_data,
    reference,
    tolerance,
)
from polysched.bench.measure.contestant import UnavailableError
from polysched.errors import BenchError
from tests.support.effort import covering

TINY = MatmulSize(5, 9, 7)


def test_sizes() -> None:
    assert str(TINY) == "5x9x7"
    assert TINY.flops == 2 * 5 * 9 * 7
    assert len(set(SUITE)) == len(SUITE) == 13


def test_an_empty_product_is_refused() -> None:
    with pytest.raises(BenchError, match="matmul size: k must be at least 1, got 0"):
        MatmulSize(1, 1, 0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_data(dtype: type) -> None:
    data = random_data(TINY, dtype)
    for array, shape in ((data.a, (5, 7)), (data.b, (7, 9)), (data.output(), (5, 9))):
        assert array.shape == shape
        assert array.dtype == dtype
        assert array.ctypes.data % 128 == 0
    assert np.abs(data.a).max() <= 1
    expected = [[sum(x * y for x, y in zip(row, column, strict=True)) for column in data.b.T]
                for row in data.a.astype(np.float64)]  # fmt: skip
    np.testing.assert_allclose(reference(data), expected, rtol=0, atol=1e-12)


def test_data_of_small_integers() -> None:
    data = random_data(TINY, np.int8)
    assert (data.a.dtype, data.b.dtype, data.output().dtype) == (np.int8, np.int8, np.int32)
    assert data.a.min() < -1
    assert tolerance(TINY, np.int8) == 0
    assert [one.name for one in contestants(data, 1)] == ["polysched", "torch"]


@covering(1, dtype=[np.float32, np.int8, np.float16, ml_dtypes.bfloat16], threads=[1, 2])
def test_contestants_are_right(threads: int, dtype: type) -> None:
    data = random_data(TINY, dtype)
    for contestant in contestants(data, threads):
        try:
            runner = contestant.prepare()
        except UnavailableError:
            assert contestant.name in {"torch", "oneDNN"}
            continue
        runner.output().fill(0)
        runner.run()
        error = np.abs(runner.output().astype(np.float64) - reference(data)).max()
        assert error <= tolerance(TINY, dtype)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_types_are_raced_with_torch(dtype: type) -> None:
    assert [one.name for one in contestants(random_data(TINY, dtype), 1)] == ["polysched", "torch"]
    assert tolerance(TINY, np.float32) < tolerance(TINY, dtype) < TINY.k * 2.0**-8


def test_onednn_races_products_of_float32() -> None:
    names = [[one.name for one in contestants(random_data(TINY, t), 1)] for t in ("f4", "f8")]
    assert names == [["polysched", "numpy", "torch", "oneDNN"], ["polysched", "numpy", "torch"]]


def test_a_torch_without_onednn_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = SimpleNamespace(__version__="9.9", ops=SimpleNamespace(mkldnn=None))
    monkeypatch.setattr(matmul, "torch_on", lambda threads: torch)
    with pytest.raises(UnavailableError, match=r"torch 9\.9 has no inner product of oneDNN"):
        prepare_onednn(random_data(TINY), 1)
