import itertools
import sys
from typing import Any

import numpy as np
import pytest

import polysched
from polysched.errors import CallError
from polysched.library.matmul.dispatch import call
from polysched.library.matmul.dispatch.call import matmul
from polysched.runtime.call_cache import CallCache

DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64")


def some(*shape: int, dtype: str = "float32") -> np.ndarray:
    return np.random.default_rng(0).integers(-8, 8, shape).astype(dtype)


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.matmul(a.astype(np.int64), b.astype(np.int64))


def test_exported() -> None:
    assert polysched.matmul is matmul
    assert vars(polysched)["matmul"] is matmul  # asked for once, it is an ordinary name


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
    ((2, 3), (5, 3, 4)),
    ((3,), (5, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (1, 6, 3, 4)),
    ((5, 2, 3), (6, 1, 3, 4)),
    ((2, 1, 5, 2, 3), (6, 1, 3, 4)),
    ((5, 2, 3), (5, 3, 1)),
    ((2, 3), (5, 3, 1)),
    ((1, 1, 2, 3), (3, 4)),
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
    ((0, 2, 3), (1, 3, 4)),
    ((0, 2, 3), (3, 4)),
    ((2, 3), (0, 3, 4)),
]


@pytest.mark.parametrize(("left", "right"), EMPTY, ids=str)
def test_empty(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    found = matmul(some(*left), some(*right))
    expected = np.matmul(some(*left), some(*right))
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


def test_a_bias_of_no_rows() -> None:
    assert matmul(some(0, 5), some(5, 7), bias=some(0, 1)).shape == (0, 7)
    assert matmul(some(0, 5), some(5), bias=some(1)).shape == (0,)


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


def test_output_tensors() -> None:
    torch = pytest.importorskip("torch")
    a, b, out = some(2, 3), some(3, 4), torch.full((2, 4), 2.0)
    for beta in (0, 2, 2):
        assert matmul(a, torch.from_numpy(b), out, beta=beta) is out
    np.testing.assert_allclose(out.numpy(), 7 * exact(a, b), rtol=1e-5)
    half = torch.zeros((4, 2), dtype=torch.bfloat16).T
    rounded = [torch.from_numpy(array).bfloat16() for array in (a, b)]
    assert matmul(*rounded, out=half) is half
    assert torch.allclose(half.float(), rounded[0].float() @ rounded[1].float(), rtol=2**-7)
    with pytest.raises(CallError, match="matmul: out: its DLPack export cannot be viewed"):
        matmul(a, b, torch.zeros((2, 4), requires_grad=True))
    with pytest.raises(CallError, match="matmul: out has elements of type float64"):
        matmul(a, b, torch.zeros((2, 4), dtype=torch.float64))


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


@pytest.mark.parametrize(("m", "n"), [(4, 1), (300, 3)])
def test_operands_are_called_what_the_caller_calls_them(m: int, n: int) -> None:
    """Whatever the order is in which the kernel takes them."""
    memory = some(m + n, 100)
    with pytest.raises(CallError, match="arrays 'a' and 'out' overlap in memory"):
        matmul(memory[:m], some(100, n), memory[:m, 5 : 5 + n])
    with pytest.raises(CallError, match="arrays 'b' and 'out' overlap in memory"):
        matmul(some(m, 100), memory.reshape(-1)[: 100 * n].reshape(100, n), memory[:m, 5 : 5 + n])


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
    ((A.astype("c8"), B.astype("c8")), "elements of type complex64; expected float32, float64"),
    ((A.astype(">f4"), B.astype(">f4")), "elements of type >f4; expected float32"),
    ((A.astype("u4"), B.astype("u4")), "elements of type uint32; expected float32"),
    ((A, [[1.0]]), "array 'b' is of type list; expected a numpy array"),
    ((A, np.float32(1)), "'b' has no dimension; expected a matrix"),
    ((some(3, 2, 2), some(2, 2, 2)), "are stacks of (3,) and (2,) matrices; expected extents"),
    ((some(0, 2, 2), some(2, 2, 2)), "are stacks of (0,) and (2,) matrices; expected extents"),
    ((A, B, np.empty((2, 5), "f4")), "out has shape (2, 5); expected (2, 4)"),
    ((A, B, np.empty((2, 4))), "out has elements of type float64; expected float32"),
    (
        (A, B, np.empty((2, 4), "f4")[:, ::-1]),
        "out has a stride of -4 bytes along axis 1; expected a positive one; multiply",
    ),
    (
        (A, B, read_only(np.empty((2, 4), "f4"))),
        "out is read-only; multiply into a new array and copy it",
    ),
    ((A, B, misaligned(2, 4)), "out is misaligned: its address or a stride is not a multiple of 4"),
    ((A, B, misaligned(2, 8)[:, :4]), "out is misaligned: its address or"),
    ((A, B, [0]), "out is of type list; expected a numpy array"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[message for _, message in WRONG])
def test_errors(arguments: tuple, message: str) -> None:
    with pytest.raises(CallError) as error:
        matmul(*arguments)
    assert str(error.value).startswith("matmul: ")
    assert message in str(error.value)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", 1.0, True])
@pytest.mark.parametrize("options", [{}, {"alpha": 2}], ids=str)
def test_wrong_number_of_threads(threads: object, options: dict[str, int]) -> None:
    matmul(A, B, threads=1, **options)  # what is kept of 1 is not taken for 1.0
    with pytest.raises(CallError, match=r"matmul: threads=.*; expected an integer >= 1"):
        matmul(A, B, threads=threads, **options)


@pytest.mark.unguarded
def test_a_kept_plan_makes_calls_short(call_table: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated call runs a few functions in Python; none of them dispatches or prepares."""
    monkeypatch.setattr(call, "_CALL_CACHE", CallCache(4))
    out = np.empty((2, 4), np.float32)
    for _ in range(2):  # the second call computes the plan's properties
        matmul(A, B, out)
    entered: list[str] = []
    sys.setprofile(
        lambda frame, event, _: entered.append(frame.f_code.co_name) if event == "call" else None
    )
    try:
        matmul(A, B, out)
    finally:
        sys.setprofile(None)
    in_python = ["_run", "run_plan", "_addresses", "simple_addresses"]
    assert entered == ["matmul", *(in_python if call_table is None else [])]


I8 = some(2, 3, dtype="int8"), some(3, 4, dtype="int8")


def test_stacks_whose_dimensions_do_not_follow_one_another() -> None:
    """Heads of attention: neither operand is copied, and the result goes where it is asked to."""
    generator = np.random.default_rng(0)
    q, k = (generator.integers(-4, 5, (2, n, 3, 8)).astype("f4") for n in (20, 6))
    scores = np.zeros((2, 20, 3, 6), "f4")
    for _ in range(2):
        given = q.transpose(0, 2, 1, 3), k.transpose(0, 2, 3, 1)
        assert matmul(*given, scores.transpose(0, 2, 1, 3)).base is scores
        np.testing.assert_array_equal(scores, np.einsum("bihd,bjhd->bihj", q, k))
        np.testing.assert_array_equal(matmul(*given), given[0] @ given[1])
    rows = generator.integers(-4, 5, (3, 40, 8)).astype("f4")[:, :20]
    np.testing.assert_array_equal(matmul(rows, k[0, :, 0].T), rows @ k[0, :, 0].T)
    turned = generator.integers(-4, 5, (3, 8, 20)).astype("f4").swapaxes(1, 2)
    np.testing.assert_array_equal(matmul(turned, k[0, :, 0].T), turned @ k[0, :, 0].T)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_stacks_in_any_order_of_their_dimensions(order: tuple[int, ...]) -> None:
    def stored(*shape: int) -> Any:
        array = np.random.default_rng(sum(shape)).normal(size=shape).astype("f4")
        return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))

    a, b, plain = stored(3, 5, 7), stored(3, 7, 9), np.ones((3, 7, 9), "f4")
    exact = np.matmul(a.astype("f8"), b)
    np.testing.assert_allclose(matmul(a, b, specialize=True), exact, atol=1e-5)
    np.testing.assert_allclose(
        matmul(a, plain, specialize=True), np.matmul(a.astype("f8"), plain), atol=1e-5
    )
