import time

import numpy as np
import pytest

import polysched
from polysched.errors import CallError
from polysched.library.matmul.call import matmul

DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64")


def some(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(0).integers(-8, 8, shape).astype(dtype)


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.matmul(a.astype(np.int64), b.astype(np.int64))


def test_exported() -> None:
    assert polysched.matmul is matmul


@pytest.mark.parametrize("dtype", DTYPES)
def test_types(dtype: str) -> None:
    a, b = some(5, 7, dtype=dtype), some(7, 9, dtype=dtype)
    found = matmul(a, b)
    assert found.dtype == {"int8": np.int32, "int16": np.int32}.get(dtype, np.dtype(dtype))
    np.testing.assert_array_equal(found, exact(a, b))


SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 2, 3), (3,)),
    ((5, 2, 2, 3), (5, 2, 3, 4)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_shapes(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = some(*left), some(*right)
    found = matmul(a, b)
    assert found.shape == np.matmul(a, b).shape
    np.testing.assert_array_equal(found, exact(a, b))


EMPTY = [
    ((0, 3), (3, 4)),
    ((2, 3), (3, 0)),
    ((2, 0), (0, 4)),
    ((0,), (0,)),
    ((0, 2, 3), (0, 3, 4)),
]


@pytest.mark.parametrize(("left", "right"), EMPTY, ids=str)
def test_empty(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    found = matmul(some(*left), some(*right))
    expected = np.matmul(some(*left), some(*right))
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def test_empty_sums_are_written() -> None:
    out = np.ones((2, 4), np.float32)
    assert matmul(some(2, 0), some(0, 4), out) is out
    assert not out.any()


def misaligned(*shape: int) -> np.ndarray:
    return np.zeros(4 * np.prod(shape) + 1, np.uint8)[1:].view(np.float32).reshape(shape)


def layouts(matrix: np.ndarray) -> dict[str, np.ndarray]:
    wide = np.repeat(matrix, 2, axis=1)
    shifted = misaligned(*matrix.shape)
    shifted[:] = matrix
    frozen = matrix.copy()
    frozen.flags.writeable = False
    return {
        "plain": matrix,
        "transposed": np.asfortranarray(matrix),
        "every second column": wide[:, ::2],
        "backwards": np.flip(np.flip(matrix).copy()),
        "misaligned": shifted,
        "read-only": frozen,
    }


@pytest.mark.parametrize("left", layouts(np.eye(2, dtype="f4")))
@pytest.mark.parametrize("right", ["plain", "transposed", "every second column"])
def test_layouts(left: str, right: str) -> None:
    a, b = some(5, 7), some(7, 9)
    found = matmul(layouts(a)[left], layouts(b)[right])
    np.testing.assert_array_equal(found, exact(a, b))


def test_output_and_other_kinds_of_arrays() -> None:
    a, b, out = some(2, 3), some(3, 4), np.empty((2, 4), np.float32)
    assert matmul(memoryview(a), memoryview(b), out) is out
    np.testing.assert_array_equal(out, exact(a, b))


def test_output_of_vectors() -> None:
    a, b, out = some(3), some(3, 4), np.empty(4, np.float32)
    matmul(a, b, out)
    np.testing.assert_array_equal(out, exact(a, b))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads(threads: int) -> None:
    a, b = some(70, 500), some(500, 130)
    np.testing.assert_array_equal(matmul(a, b, threads=threads), exact(a, b))


def test_nan_and_infinity() -> None:
    a, b = some(5, 7), some(7, 9)
    a[1, 2], b[3, 4], b[2, 5], a[4, 0], b[0] = np.nan, np.inf, np.inf, np.inf, 0
    with np.errstate(invalid="ignore"):
        expected = np.array([[np.sum(row * column) for column in b.T] for row in a])
    np.testing.assert_array_equal(matmul(a, b), expected)


def test_output_may_not_overlap() -> None:
    memory = some(8, 4)
    before = memory.copy()
    with pytest.raises(CallError, match="arrays 'a' and 'out' overlap in memory"):
        matmul(memory[:4], some(4, 4), memory[2:6])
    with pytest.raises(CallError, match="arrays 'b' and 'out' overlap in memory"):
        matmul(some(4, 4), memory[:4], memory[2:6])
    np.testing.assert_array_equal(memory, before)


def test_output_beside_an_operand() -> None:
    memory = some(12, 4)
    a, b = memory[:4].copy(), memory[8:].copy()
    matmul(memory[:4], memory[8:], memory[4:8])
    np.testing.assert_array_equal(memory[4:8], exact(a, b))


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


A, B = some(2, 3), some(3, 4)
WRONG = [
    ((A, some(2, 4)), "'a' of shape (2, 3) has 3 columns and 'b' of shape (2, 4) has 2 rows"),
    ((A, B.astype("f8")), "'a' has elements of type float32 and 'b' of type float64"),
    ((A.astype("c8"), B.astype("c8")), "elements of type complex64; expected float32, float64"),
    ((A.astype(">f4"), B.astype(">f4")), "elements of type >f4; expected float32"),
    ((A.astype("u4"), B.astype("u4")), "elements of type uint32; expected float32"),
    ((A, [[1.0]]), "array 'b' is of type list; expected a numpy array"),
    ((A, np.float32(1)), "'b' has no dimension; expected a matrix"),
    ((some(3, 2, 2), some(2, 2, 2)), "are stacks of (3,) and (2,) matrices; expected equal"),
    ((A, some(5, 3, 4)), "are stacks of () and (5,) matrices; expected equal stacks"),
    ((A, B, np.empty((2, 5), "f4")), "out has shape (2, 5); expected (2, 4)"),
    ((A, B, np.empty((2, 4))), "out has elements of type float64; expected float32"),
    ((A, B, np.empty((4, 2), "f4").T), "or not contiguous in row-major order; multiply"),
    ((A, B, read_only(np.empty((2, 4), "f4"))), "out is read-only, misaligned or not contiguous"),
    ((A, B, misaligned(2, 4)), "out is read-only, misaligned or not contiguous"),
    ((A, B, [0]), "out is of type list; expected a numpy array"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[message for _, message in WRONG])
def test_errors(arguments: tuple, message: str) -> None:
    with pytest.raises(CallError) as error:
        matmul(*arguments)
    assert str(error.value).startswith("matmul: ")
    assert message in str(error.value)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_wrong_number_of_threads(threads: object) -> None:
    with pytest.raises(CallError, match=r"matmul: threads=.*; expected an integer >= 1"):
        matmul(A, B, threads=threads)


def test_a_kept_plan_makes_calls_short() -> None:
    """Generous, for machines that are busy; it takes 2 microseconds on a free one."""
    out = np.empty((2, 4), np.float32)
    matmul(A, B, out)
    best = min(_timed(out) for _ in range(200))
    assert best < 20e-6


def _timed(out: np.ndarray) -> float:
    start = time.perf_counter()
    for _ in range(10):
        matmul(A, B, out)
    return (time.perf_counter() - start) / 10
