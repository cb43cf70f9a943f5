"""``ps.softmax`` and ``ps.layer_norm``."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError
from polysched.ir.expr.dtypes import as_dtype
from polysched.library.rows.call import RowCode
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.memory import aligned_zeros
from tests.support.effort import covering

NumpyArray = np.ndarray[Any, Any]

SHAPES = ((1, 1), (3, 7), (5, 64), (4, 100), (2, 3, 40), (70,), (300, 1000))
TOLERANCES = {"f4": 4e-6, "f8": 1e-14}


def numbers(shape: tuple[int, ...], dtype: str) -> NumpyArray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def exact_softmax(x: NumpyArray, axis: int = -1) -> NumpyArray:
    wide = x.astype(np.longdouble)
    power = np.exp(wide - wide.max(axis, keepdims=True))
    result: NumpyArray = power / power.sum(axis, keepdims=True)
    return result


def exact_norm(x: NumpyArray, weight: Any = 1, bias: Any = 0, eps: float = 1e-5) -> NumpyArray:
    wide = x.astype(np.longdouble)
    centered = wide - wide.mean(-1, keepdims=True)
    variance = (centered * centered).mean(-1, keepdims=True)
    result: NumpyArray = centered / np.sqrt(variance + eps) * weight + bias
    return result


@covering(
    1,
    name=["softmax", "layer_norm"],
    dtype=[ps.f32, ps.f64],
    machine=["skylake-avx512", "haswell-avx2"],
    is_parallel=[False, True],
)
def test_schedules_are_proved_for_all_sizes(
    name: str, dtype: ps.DType, machine: str, is_parallel: bool
) -> None:
    for is_short, is_far in ((False, False), (True, False), (False, True)):
        target = load_machine(machine)
        code = RowCode(name, dtype, is_short, is_parallel, is_far, target)
        schedule = code.schedule()
        assert schedule.check().is_legal
        has_next = not is_short and (is_far or not is_parallel)
        assert ("prefetch" in schedule.trace()) == has_next
        assert ("stream" in schedule.trace()) == is_far
        assert schedule.kernel.name == code.name


@covering(1, threads=[1, 2], dtype=["f4", "f8"], shapes=[SHAPES[::2], SHAPES[1::2]])
def test_any_shape(dtype: str, threads: int, shapes: Sequence[tuple[int, ...]]) -> None:
    for shape in shapes:
        x = numbers(shape, dtype)
        weight, bias = numbers(shape[-1:], dtype), numbers((shape[-1],), dtype) + 1
        close = {"rtol": 0, "atol": TOLERANCES[dtype]}
        np.testing.assert_allclose(ps.softmax(x, threads=threads), exact_softmax(x), **close)
        found = ps.layer_norm(x, weight, bias, threads=threads)
        np.testing.assert_allclose(found, exact_norm(x, weight, bias), **close)
        assert found.dtype == x.dtype
        out = np.full_like(x, np.nan)
        assert ps.layer_norm(x, eps=1e-3, out=out, threads=threads) is out
        np.testing.assert_allclose(out, exact_norm(x, eps=1e-3), **close)


@covering(1, name=["softmax", "layer_norm"], dtype=["f4", "f8"], is_parallel=[False, True])
def test_rows_are_written_past_the_caches_at_any_address(
    name: str, dtype: str, is_parallel: bool
) -> None:
    machine = load_machine()
    code = RowCode(name, as_dtype(np.dtype(dtype)), False, is_parallel, True, machine)
    run = code.schedule().compile()
    lanes = machine.lanes(np.dtype(dtype).itemsize * 8)
    for rows, vectors in ((1, 4), (9, 5), (4, 16)):
        x = numbers((rows, vectors * lanes), dtype)
        weight, bias = numbers(x.shape[1:], dtype), numbers(x.shape[1:], dtype) + 1
        for first in (0, 1, lanes - 1):
            memory = aligned_zeros((x.size + 2 * lanes,), dtype)
            memory.fill(7)
            start = lanes + first
            out = memory[start : start + x.size].reshape(x.shape)
            assert out.ctypes.data // out.itemsize % lanes == first
            if name == "softmax":
                run(x, out, first=first)
                exact = exact_softmax(x)
            else:
                numbers_of_rows = np.array(1e-5, dtype), np.array(1 / x.shape[1], dtype)
                run(x, weight, bias, *numbers_of_rows, out, first=first)
                exact = exact_norm(x, weight, bias)
            np.testing.assert_allclose(out, exact, rtol=0, atol=TOLERANCES[dtype])
            assert (memory[:start] == 7).all()
            assert (memory[start + x.size :] == 7).all()


@covering(1, threads=[1, 2], start=[0, 3])
def test_rows_in_memory(threads: int, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays larger than the caches that the plans assume."""
    monkeypatch.setattr(Machine, "last_cache_bytes", 1 << 21)
    columns = 4096
    rows = load_machine().last_cache_bytes // (8 * columns) + 3
    x = numbers((rows, columns), "f4")
    out = np.empty(x.size + start, x.dtype)[start:].reshape(x.shape)
    for found, exact in (
        (ps.softmax(x, out=out, threads=threads).copy(), exact_softmax),
        (ps.layer_norm(x, out=out, threads=threads).copy(), exact_norm),
    ):
        for row in (0, 1, rows // 2, rows - 2, rows - 1):
            np.testing.assert_allclose(found[row], exact(x[row]), rtol=0, atol=TOLERANCES["f4"])
        assert np.isfinite(found).all()


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_softmax_along_any_axis(axis: int) -> None:
    x = numbers((5, 9, 20), "f8")
    np.testing.assert_allclose(ps.softmax(x, axis), exact_softmax(x, axis), atol=1e-15)
    out = np.empty_like(x)
    assert ps.softmax(x[::-1, :, ::2].repeat(2, 2), axis, out=out) is out
    np.testing.assert_allclose(out, exact_softmax(x[::-1, :, ::2].repeat(2, 2), axis), atol=1e-15)


def test_large_numbers_do_not_overflow() -> None:
    x = np.array([[1e4, 1e4 + 1, -1e4]], "f4")
    np.testing.assert_allclose(ps.softmax(x), exact_softmax(x), atol=1e-7)
    # The sum of squares of a one-pass variance would cancel.
    shifted = numbers((3, 500), "f4") + np.float32(1e4)
    np.testing.assert_allclose(ps.layer_norm(shifted), exact_norm(shifted), atol=2e-3)


@pytest.mark.parametrize("columns", [5, 200])
def test_nan_and_infinity_stay_in_their_rows(columns: int) -> None:
    x = numbers((4, columns), "f4")
    x[0, 3], x[1, 2], x[3, :] = np.nan, np.inf, -np.inf
    for found in (ps.softmax(x), ps.layer_norm(x)):
        assert np.isnan(found).all(-1).tolist() == [True, True, False, True]
    x[3, 1] = 0
    assert ps.softmax(x)[3].tolist() == [0, 1, *[0] * (columns - 2)]


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0,)])
def test_empty_arrays(shape: tuple[int, ...]) -> None:
    x = np.empty(shape, np.float32)
    assert ps.softmax(x).shape == ps.layer_norm(x).shape == shape


X = numbers((4, 6), "f4")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ps.softmax(X.astype("i4")), "softmax: 'x' has elements of type int32; expected"),
        (lambda: ps.softmax(X.astype("f2")), "other types are not built yet"),
        (lambda: ps.softmax(X, 2), "axis=2; expected an integer from -2 to 1"),
        (lambda: ps.softmax(X, 0.0), r"axis=0\.0; expected an integer"),  # type: ignore[arg-type]
        (lambda: ps.softmax(np.float32(1)), "'x' has no dimension"),
        (lambda: ps.softmax(X, out=X), "arrays 'x' and 'out' overlap in memory"),
        (lambda: ps.softmax(X, out=X[:3].copy()), "out has shape"),
        (lambda: ps.softmax(X, out=np.empty((4, 6))), "elements of type float64"),
        (lambda: ps.softmax(X, out=np.empty((4, 12), "f4")[:, ::2]), "softmax: out "),
        (lambda: ps.softmax(X, out=[1]), "out is of type list"),
        (lambda: ps.softmax(X, threads=0), "threads=0"),
        (lambda: ps.layer_norm(X, np.ones(5, "f4")), r"'weight' has shape \(5,\)"),
        (lambda: ps.layer_norm(X, None, np.ones(6)), "'bias' has shape .* type float64"),
        (lambda: ps.layer_norm(X, eps=-1), "eps=-1; expected a number >= 0"),
        (lambda: ps.layer_norm(X, eps="a"), "eps='a'; expected a number"),  # type: ignore[arg-type]
        (lambda: ps.layer_norm(X, X[0], out=X), "overlap in memory"),
    ],
)
def test_errors_name_the_argument(call: Any, message: str) -> None:
    with pytest.raises(CallError, match=message):
        call()
