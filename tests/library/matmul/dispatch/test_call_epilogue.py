"""Epilogues of products as users call them: factors, biases, activations, and their errors."""

import numpy as np
import pytest

from polysched.errors import CallError
from polysched.library.matmul.dispatch.call import matmul
from tests.library.matmul.dispatch.test_call import DTYPES, EMPTY, I8, SHAPES, A, B, exact, some
from tests.support.effort import covering

FACTORS = [(1, 0), (1, 1), (1, 3), (2, 0), (2, 1), (-1, 3), (0, 0), (0, 1), (0, 3), (1.0, 0.0)]


def finished(
    a: np.ndarray,
    b: np.ndarray,
    out: np.ndarray,
    alpha: float,
    beta: float,
    bias: np.ndarray | None,
    activation: str | None,
) -> np.ndarray:
    """What a call with such arguments computes, exactly."""
    total = int(alpha) * exact(a, b) + int(beta) * out + (0 if bias is None else bias)
    return np.maximum(total, 0) if activation == "relu" else total


@covering(2, factors=FACTORS, along=[None, "columns", "rows"], activation=[None, "relu"])
def test_epilogue(factors: tuple[float, float], along: str | None, activation: str | None) -> None:
    alpha, beta = factors
    a, b, out = some(5, 70), some(70, 9), some(5, 9)
    bias = {None: None, "columns": some(9), "rows": some(5, 1)}[along]
    expected = finished(a, b, out, alpha, beta, bias, activation)
    arguments = {"alpha": alpha, "beta": beta, "bias": bias, "activation": activation}
    assert matmul(a, b, out, **arguments) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("left", "right"), [*SHAPES, ((20, 300), (300, 40)), *EMPTY], ids=str)
def test_epilogue_of_shapes(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = some(*left), some(*right)
    out = some(*exact(a, b).shape)
    bias = some(*out.shape[-1:])
    expected = finished(a, b, out, 2, 3, bias, "relu")
    matmul(a, b, out, alpha=2, beta=3, bias=bias, activation="relu")
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("left", "right"), [((5, 2, 3), (3, 4)), ((5, 2, 3), (5, 3, 4))], ids=str)
@pytest.mark.parametrize("shape", [(4,), (2, 1), (1, 4), (1, 2, 1), (1,), (), (1, 1, 1)], ids=str)
def test_bias_of_stacks(
    left: tuple[int, ...], right: tuple[int, ...], shape: tuple[int, ...]
) -> None:
    a, b, bias = some(*left), some(*right), some(*shape)
    np.testing.assert_array_equal(matmul(a, b, bias=bias), exact(a, b) + bias)


def test_bias_of_a_stack_by_a_vector() -> None:
    a, b, bias = some(5, 2, 3), some(3), some(2)
    np.testing.assert_array_equal(matmul(a, b, bias=bias), exact(a, b) + bias)


@pytest.mark.parametrize("dtype", DTYPES)
def test_types_of_a_finish(dtype: str) -> None:
    a, b = some(5, 7, dtype=dtype), some(7, 9, dtype=dtype)
    total = matmul(a, b).dtype
    bias, out = some(9).astype(total), some(5, 9).astype(total)
    expected = finished(a, b, out, 2, -3, bias, "relu")
    found = matmul(a, b, out, alpha=2, beta=np.int8(-3), bias=bias, activation="relu")
    assert found.dtype == total
    np.testing.assert_array_equal(found, expected)


def test_empty_sums_are_written_the_long_way_round() -> None:
    out = np.ones((2, 4), np.float32)
    matmul(some(2, 0), some(0, 4), out, alpha=1.0)
    assert not out.any()


def test_factors_are_numbers_of_the_call() -> None:
    a, b = some(5, 7), some(7, 9)
    for alpha in (0.5, np.float64(0.25), np.array(2.0), -3):
        np.testing.assert_array_equal(matmul(a, b, alpha=alpha), float(alpha) * exact(a, b))


def test_epilogue_on_threads() -> None:
    a, b, out = some(200, 500), some(500, 130), some(200, 130)
    bias = some(200, 1)
    expected = finished(a, b, out, 2, 1, bias, "relu")
    matmul(a, b, out, alpha=2, beta=1, bias=bias, activation="relu", threads=2)
    np.testing.assert_array_equal(out, expected)


def test_a_finish_of_few_rows_by_a_transposed_matrix() -> None:
    a, b, out = some(2, 300), some(40, 300).T, some(2, 40)
    bias = some(40)
    expected = finished(a, b, out, 2, 3, bias, None)
    np.testing.assert_array_equal(matmul(a, b, out, alpha=2, beta=3, bias=bias), expected)


def test_what_has_the_factor_0_is_not_read() -> None:
    nan = np.full((5, 5), np.nan, np.float32)
    a, b = some(5, 5), some(5, 5)
    bias = some(5)
    np.testing.assert_array_equal(matmul(a, b, nan.copy(), bias=bias), exact(a, b) + bias)
    np.testing.assert_array_equal(matmul(nan, b, a.copy(), alpha=0, beta=1), a)
    np.testing.assert_array_equal(matmul(nan, nan, alpha=0, bias=bias), np.tile(bias, (5, 1)))


def test_what_has_another_factor_is_read() -> None:
    a, b = some(5, 5), some(5, 5)
    out = np.full((5, 5), np.nan, np.float32)
    assert np.isnan(matmul(a, b, out.copy(), beta=1)).all()
    assert np.isnan(matmul(a, b, out.copy(), beta=0.5, activation="relu")).all()
    assert np.isnan(matmul(a, b, alpha=np.nan)).all()
    assert np.isnan(matmul(np.empty((2, 0), "f4"), np.empty((0, 2), "f4"), alpha=np.nan)).all()


def test_the_bias_may_be_in_the_output() -> None:
    a, b, out = some(5, 7), some(7, 9), some(5, 9)
    expected = exact(a, b) + out[0]
    np.testing.assert_array_equal(matmul(a, b, out, bias=out[0]), expected)


def test_a_finish_may_not_overlap() -> None:
    memory = some(8, 4)
    before = memory.copy()
    with pytest.raises(CallError, match="arrays 'a' and 'out' overlap in memory"):
        matmul(memory[:4], some(4, 4), memory[2:6], beta=2, bias=some(4))
    np.testing.assert_array_equal(memory, before)


WRONG_FINISHES = [
    ((A, B), {"beta": 2}, "beta=2 is the factor of what 'out' holds; give out="),
    ((A, B), {"alpha": "2"}, "alpha is '2' of type str; expected a real number"),
    ((A, B), {"alpha": 1j}, "alpha is 1j of type complex; expected a real number"),
    ((A, B), {"alpha": True}, "alpha is True of type bool; expected a real number"),
    ((A, B), {"alpha": np.ones(2)}, "of type ndarray; expected a real number"),
    ((A, B), {"alpha": 1e300}, "alpha is 1e+300; expected a number within the range of float32"),
    ((A, B), {"alpha": 10**400}, "expected a number within the range of float32"),
    (
        I8,
        {"alpha": 0.5},
        "alpha is 0.5; expected an integer, since the result has elements of type",
    ),
    (I8, {"alpha": 2**31}, "alpha is 2147483648; expected a number within the range of int32"),
    (I8, {"bias": some(4, dtype="int8")}, "bias has elements of type int8; expected int32"),
    ((A, B), {"bias": [1]}, "bias is of type list; expected a numpy array"),
    ((A, B), {"bias": some(2)}, "bias has shape (2,); expected (4,), or (2, 1) for one of each"),
    ((A, B), {"bias": some(2, 4)}, "bias has shape (2, 4); expected (4,), or (2, 1)"),
    ((A, B), {"bias": some(1, 1, 4)}, "bias has shape (1, 1, 4); expected (4,), or (2, 1)"),
    ((A, some(3)), {"bias": some(2, 1)}, "bias has shape (2, 1); expected (2,): the result"),
    ((A[0], some(3)), {"bias": some(1)}, "bias has shape (1,); expected (): the result has shape"),
    ((A, B), {"activation": "rely"}, "there is no activation 'rely'; did you mean 'relu'?"),
    ((A, B), {"activation": ["relu"]}, "there is no activation ['relu']"),
    (I8, {"activation": "silu"}, "activation 'silu' of sums of type int32; integers have 'relu'"),
    ((A, B, [0]), {"beta": 1}, "out is of type list; expected a numpy array"),
    ((A, B), {"bias": some(4), "threads": 0}, "threads=0; expected an integer >= 1"),
]


@pytest.mark.parametrize(
    ("arguments", "options", "message"), WRONG_FINISHES, ids=[one[-1] for one in WRONG_FINISHES]
)
def test_errors_of_a_finish(arguments: tuple, options: dict[str, object], message: str) -> None:
    with pytest.raises(CallError) as error:
        matmul(*arguments, **options)
    assert str(error.value).startswith("matmul: ")
    assert message in str(error.value)
