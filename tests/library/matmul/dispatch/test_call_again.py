"""Repeated products of one kind, which run from the call cache."""

from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError
from polysched.library.matmul.dispatch import call
from polysched.runtime.call_cache import CallCache
from tests.support.effort import covering

NumpyArray = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _own_cache(call_table: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call, "_CALL_CACHE", CallCache(64))


def numbers(seed: int, shape: tuple[int, ...], dtype: str) -> NumpyArray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


KINDS = {
    "plain": lambda seed, dtype: (numbers(seed, (7, 5), dtype), numbers(seed + 1, (5, 9), dtype)),
    "transposed": lambda seed, dtype: (
        numbers(seed, (5, 7), dtype).T,
        numbers(seed + 1, (9, 5), dtype).T,
    ),
    "vectors": lambda seed, dtype: (numbers(seed, (7, 5), dtype), numbers(seed + 1, (5,), dtype)),
    "dot": lambda seed, dtype: (numbers(seed, (33,), dtype), numbers(seed + 1, (33,), dtype)),
    "stack": lambda seed, dtype: (
        numbers(seed, (3, 4, 5), dtype),
        numbers(seed + 1, (5, 6), dtype),
    ),
    "broadcast": lambda seed, dtype: (
        np.broadcast_to(numbers(seed, (4, 5), dtype), (3, 4, 5)),
        numbers(seed + 1, (3, 5, 6), dtype),
    ),
    "part": lambda seed, dtype: (
        numbers(seed, (20, 30), dtype)[2:9, 3:8],
        numbers(seed + 1, (20, 30), dtype)[2:7, 3:12],
    ),
    "part, transposed": lambda seed, dtype: (
        numbers(seed, (20, 30), dtype)[2:7, 3:10].T,
        numbers(seed + 1, (20, 30), dtype)[2:11, 3:8].T,
    ),
    "every second": lambda seed, dtype: (
        numbers(seed, (20, 30), dtype)[2:9, 3:13:2],
        numbers(seed + 1, (20, 30), dtype)[2:7, 3:12],
    ),
    "backwards": lambda seed, dtype: (
        numbers(seed, (7, 5), dtype)[::-1],
        numbers(seed + 1, (5, 9), dtype)[:, ::-1],
    ),
}


@covering(1, dtype=["f4", "i1"], kind=KINDS)
def test_again(kind: str, dtype: str) -> None:
    for turn in range(3):
        a, b = KINDS[kind](2 * turn, dtype)
        expected = np.matmul(a, b, dtype="i4" if dtype == "i1" else dtype)
        out = np.full(expected.shape, 77, expected.dtype)
        frame = np.full((*expected.shape, 2), 77, expected.dtype)
        view = frame[..., 0]
        assert np.array_equal(ps.matmul(a, b), expected)
        assert ps.matmul(a, b, out) is out
        assert np.array_equal(out, expected)
        if out.ndim:
            assert ps.matmul(a, b, view) is view
            assert np.array_equal(view, expected)
            assert (frame[..., 1] == 77).all()


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_threads(threads: int | None) -> None:
    for turn in range(3):
        a, b = numbers(turn, (300, 260), "f4"), numbers(9 + turn, (260, 280), "f4")
        assert np.array_equal(ps.matmul(a, b, threads=threads), a @ b)


def test_the_second_call_of_a_kind_is_not_dispatched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a, b = KINDS["part"](0, "f4")
    expected = ps.matmul(a, b)
    monkeypatch.setattr(call, "cached_dispatch", None)
    assert np.array_equal(ps.matmul(a, b), expected)


FINISHES: dict[str, dict[str, Any]] = {
    "scaled": {"alpha": 3},
    "added": {"beta": 1},
    "scaled and added": {"alpha": -2, "beta": 3},
    "by columns": {"bias": lambda shape: shape[-1:]},
    "by rows": {"bias": lambda shape: (*shape[-2:-1], 1)},
    "one for all": {"bias": lambda shape: (1,) * len(shape)},
    "activated": {"activation": "relu"},
    "all of it": {
        "alpha": 2,
        "beta": -1,
        "bias": lambda shape: shape[-1:],
        "activation": "relu",
    },
}


def finished(product: NumpyArray, out: NumpyArray, options: dict[str, Any]) -> NumpyArray:
    """What a epilogue makes of a product, exactly."""
    total = options.get("alpha", 1) * product + options.get("beta", 0) * out
    if "bias" in options:
        total = total + options["bias"]
    result: NumpyArray = np.maximum(total, 0) if "activation" in options else total
    return result.astype(product.dtype)


@covering(
    1, kind=["plain", "transposed", "vectors", "stack", "part", "every second"], epilogue=FINISHES
)
def test_a_finish_again(kind: str, epilogue: str) -> None:
    for turn in range(3):
        a, b = KINDS[kind](2 * turn, "f4")
        product = a @ b
        options = dict(FINISHES[epilogue])
        options |= {name: options[name] + turn for name in ("alpha", "beta") if name in options}
        if "bias" in options:
            options["bias"] = numbers(turn, options["bias"](product.shape), "f4")
        before = numbers(turn, product.shape, "f4")
        frame = np.stack([before, before], axis=-1)
        for out in (before.copy(), frame[..., 0]):
            assert ps.matmul(a, b, out, **options) is out
            assert np.array_equal(out, finished(product, before, options))
        assert np.array_equal(frame[..., 1], before)
        if "beta" not in options:
            expected = finished(product, before, options)
            assert np.array_equal(ps.matmul(a, b, **options), expected)


@pytest.mark.parametrize("epilogue", FINISHES)
def test_the_second_finish_of_a_kind_is_not_dispatched(
    epilogue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = KINDS["part"](0, "f4")
    out = np.ones((7, 9), "f4")
    options = dict(FINISHES[epilogue])
    if "bias" in options:
        options["bias"] = numbers(1, options["bias"](out.shape), "f4")
    expected = [finished(a @ b, out, options)]
    expected.append(finished(a @ b, expected[0], options))
    assert np.array_equal(ps.matmul(a, b, out, **options), expected[0])
    if epilogue != "one for all":  # which is spread over a vector first
        monkeypatch.setattr(call, "cached_dispatch", None)
    assert np.array_equal(ps.matmul(a, b, out, **options), expected[1])


def test_a_bias_that_lies_otherwise() -> None:
    a, b = KINDS["plain"](0, "f4")
    bias = numbers(1, (18,), "f4")
    for _ in range(2):
        assert np.array_equal(ps.matmul(a, b, bias=bias[:9]), a @ b + bias[:9])
        assert np.array_equal(ps.matmul(a, b, bias=bias[::2]), a @ b + bias[::2])
        assert np.array_equal(ps.matmul(a, b, bias=bias[8::-1]), a @ b + bias[8::-1])
        with pytest.raises(CallError, match="bias has elements of type float64"):
            ps.matmul(a, b, bias=bias[:9].astype("f8"))


def test_a_bias_in_the_output_is_read_before_that_is_written() -> None:
    a, b = KINDS["plain"](0, "f4")
    for turn in range(3):
        out = numbers(turn, (7, 9), "f4")
        expected = a @ b + out[3]
        ps.matmul(a, b, numbers(9, (7, 9), "f4"), bias=numbers(8, (9,), "f4"))
        assert np.array_equal(ps.matmul(a, b, out, bias=out[3]), expected)


def test_a_factor_is_one_of_the_call_and_its_type_counts() -> None:
    a, b = KINDS["plain"](0, "i4")
    for alpha in (2, 3, -4):
        assert np.array_equal(ps.matmul(a, b, alpha=alpha), alpha * (a @ b))
        with pytest.raises(CallError, match="expected an integer"):
            ps.matmul(a, b, alpha=float(alpha))


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_threads_of_a_finish(threads: int | None) -> None:
    for turn in range(3):
        a, b = numbers(turn, (300, 260), "f4"), numbers(9 + turn, (260, 280), "f4")
        found = ps.matmul(a, b, alpha=turn + 2, activation="relu", threads=threads)
        assert np.array_equal(found, np.maximum((turn + 2) * (a @ b), 0))


def test_other_factors_are_no_calls_of_the_kind() -> None:
    a, b = KINDS["plain"](0, "f4")
    out = np.ones((7, 9), "f4")
    for _ in range(3):
        assert np.array_equal(ps.matmul(a, b, out), a @ b)
        assert np.array_equal(ps.matmul(a, b, out, alpha=2), 2 * (a @ b))
        assert np.array_equal(ps.matmul(a, b, activation="relu"), np.maximum(a @ b, 0))
        assert np.array_equal(ps.matmul(a, b, bias=out[0]), a @ b + out[0])


def test_what_is_wrong_is_still_told() -> None:
    a, b = KINDS["plain"](0, "f4")
    out = np.zeros((7, 9), "f4")
    ps.matmul(a, b, out)
    ps.matmul(a, b)
    with pytest.raises(CallError, match="float32"):
        ps.matmul(a, b, np.zeros((7, 9)))
    with pytest.raises(CallError, match="shape"):
        ps.matmul(a, b, out[:, :8])
    with pytest.raises(CallError, match="threads=True"):
        ps.matmul(a, b, threads=True)
    out.flags.writeable = False
    with pytest.raises(CallError, match="read-only"):
        ps.matmul(a, b, out)


def test_an_output_that_overlaps() -> None:
    square = numbers(0, (8, 8), "f4")
    expected = square @ square
    ps.matmul(square, square, np.zeros((8, 8), "f4"))
    with pytest.raises(CallError, match="overlap"):
        ps.matmul(square, square, square)
    assert np.array_equal(ps.matmul(square, square), expected)
