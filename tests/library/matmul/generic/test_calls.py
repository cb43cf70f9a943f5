"""Calls of new shapes by generic kernels, and specialized code after some calls."""

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError
from polysched.library.matmul.dispatch import call
from polysched.library.matmul.dispatch.compiled import host
from polysched.library.matmul.generic import building, calls
from polysched.library.matmul.generic.blocks import TransposeBlock
from polysched.library.matmul.generic.calls import GENERIC_CALLS, GenericCalls
from polysched.library.matmul.generic.compiled import KernelLoader
from polysched.library.matmul.generic.specialize import Specializer
from polysched.runtime.cache import ObjectCache
from polysched.runtime.call_cache import CallCache
from tests.support.effort import covering

NumpyArray = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def generic(monkeypatch: pytest.MonkeyPatch) -> GenericCalls:
    made = GenericCalls(Specializer())
    monkeypatch.setattr(call, "_GENERIC", made)
    monkeypatch.setattr(call, "_CALL_CACHE", CallCache(64))
    return made


def numbers(shape: tuple[int, ...], dtype: str = "f4", seed: int = 1) -> NumpyArray:
    return np.random.default_rng(seed).integers(-8, 8, shape).astype(dtype)


SHAPES = (
    ((37, 50), (50, 33)),
    ((1, 300), (300, 90)),
    ((2, 70), (70, 1300)),
    ((90, 70), (70,)),
    ((70,), (70, 90)),
    ((70,), (70,)),
    ((3, 5, 20), (20, 17)),
    ((3, 5, 20), (20,)),
    ((1, 1), (1, 1)),
)


@covering(1, threads=[1, 2], dtype=["f4", "f8"], shapes=[SHAPES[::2], SHAPES[1::2]])
def test_products_are_exact(
    dtype: str,
    threads: int,
    shapes: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    generic: GenericCalls,
) -> None:
    for left, right in shapes:
        a, b = numbers(left, dtype), numbers(right, dtype, 2)
        found = ps.matmul(a, b, threads=threads, specialize=False)
        np.testing.assert_array_equal(found, a @ b)
        assert generic.is_served(a, b, None, threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_stacks_are_multiplied_one_by_one(threads: int, generic: GenericCalls) -> None:
    for left, right in (
        ((3, 9, 8), (3, 8, 7)),
        ((2, 1, 9, 8), (3, 8, 7)),
        ((9, 8), (5, 8, 7)),
        ((4, 9, 40), (4, 40, 1)),
        ((4, 70, 80), (4, 80, 90)),
    ):
        a, b = numbers(left), numbers(right, seed=2)
        for x, y in (
            (a, b),
            (a[..., ::-1, :], b),
            (a, np.swapaxes(np.swapaxes(b, -1, -2).copy(), -1, -2)),
        ):
            expected = x @ y
            found = ps.matmul(x, y, threads=threads, specialize=False)
            np.testing.assert_array_equal(found, expected)
            out = np.full_like(expected, np.nan)
            assert ps.matmul(x, y, out, threads=threads, specialize=False) is out
            np.testing.assert_array_equal(out, expected)
        assert generic.is_served(a, b, None, threads)
    many = numbers((65, 2, 3)), numbers((65, 3, 2), seed=2)
    np.testing.assert_array_equal(ps.matmul(*many, specialize=False), many[0] @ many[1])
    assert not generic.is_served(*many, None, None)


def test_views_are_multiplied_in_place(generic: GenericCalls) -> None:
    whole = numbers((90, 120))
    a, b = whole[:40, 3:33], whole[10:40, 5:68]
    for left, right in ((a, b), (b.T, a.T), (a, b.T[:30].T), (a.T[:20, ::2].T, b[:20])):
        out = np.full((90, 120), np.nan, np.float32)
        shape = left.shape[0], right.shape[1]
        view = out[2 : 2 + shape[0], 1 : 1 + shape[1]]
        assert ps.matmul(left, right, view, specialize=False) is view
        np.testing.assert_array_equal(view, left @ right)
        assert np.isnan(out).sum() == out.size - view.size
        assert generic.is_served(left, right, view, None)


def test_nan_and_infinity_pass_through() -> None:
    a, b = numbers((20, 30)), numbers((30, 40), seed=2)
    a[3, 4], b[5, 6], b[7, 8] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(ps.matmul(a, b, specialize=False), a @ b)


def test_after_some_calls_specialized_code_runs(
    generic: GenericCalls, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = numbers((9, 8)), numbers((8, 7), seed=2)
    ps.matmul(a, b, specialize=False)  # makes the generic kernels
    for _ in range(GENERIC_CALLS):
        assert not generic.specializer.is_done(next(iter(generic._kinds), None))
        ps.matmul(a, b)
    generic.specializer.wait()
    assert not generic.is_served(a, b, None, None)
    made = call.cached_dispatch.cache_info().misses
    np.testing.assert_array_equal(ps.matmul(a, b), a @ b)
    assert call.cached_dispatch.cache_info().misses == made, "the background made other code"
    monkeypatch.setattr(call, "cached_dispatch", None)
    monkeypatch.setattr(call, "_GENERIC", None)
    np.testing.assert_array_equal(ps.matmul(a, b), a @ b)  # from the call cache


def test_kernels_that_are_not_on_disk_are_made_in_the_background(
    generic: GenericCalls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader = KernelLoader(host(), lambda: ObjectCache(tmp_path / "cache"))
    monkeypatch.setattr(calls, "_kernels", lambda: loader)
    a, b = numbers((5, 8)), numbers((8, 3), seed=2)
    np.testing.assert_array_equal(ps.matmul(a, b), a @ b)  # by specialized code
    assert not generic.is_served(a, b, None, None)
    generic.specializer.wait()
    b = numbers((8, 2))
    np.testing.assert_array_equal(ps.matmul(a, b), a @ b)
    assert generic.is_served(a, b, None, None)


def test_specialized_code_may_run_at_once_or_never(generic: GenericCalls) -> None:
    a, b = numbers((9, 8)), numbers((8, 6), seed=2)
    np.testing.assert_array_equal(ps.matmul(a, b, specialize=True), a @ b)
    assert not generic._kinds
    ps.matmul(a, b, specialize=False)  # although specialized code is in the call cache
    assert generic.is_served(a, b, None, None)
    b = numbers((8, 5))
    for _ in range(2 * GENERIC_CALLS):
        ps.matmul(a, b, specialize=False)
    assert generic.is_served(a, b, None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"specialize": "yes"}, "specialize='yes'; expected True, False or None"),
        ({"specialize": 1}, "specialize=1; expected True, False or None"),
        ({"out": np.zeros((9, 9), "f4")}, "out has shape"),
        ({"out": np.zeros((9, 7), "f8")}, "out has elements of type float64"),
        ({"out": [1]}, "out is of type list"),
        ({"threads": 0}, "threads=0; expected an integer >= 1"),
    ],
)
def test_errors_name_the_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError, match=message.replace("(", r"\(")):
        ps.matmul(numbers((9, 8)), numbers((8, 7)), **arguments)


def test_operands_that_do_not_fit_are_errors() -> None:
    with pytest.raises(CallError, match="'a' of shape"):
        ps.matmul(numbers((9, 8)), numbers((7, 7)))
    whole = numbers((16, 8))
    with pytest.raises(CallError, match="arrays 'a' and 'out' overlap"):
        ps.matmul(whole[:8], numbers((8, 8)), whole[4:12])


def test_empty_negative_and_zero_strides_give_the_right_result() -> None:
    a, b = numbers((6, 8)), numbers((8, 7), seed=2)
    for left, right in (
        (a[::-1], b[:, ::-1]),
        (np.broadcast_to(a[0], (4, 8)), b),
        (a[:0], b),
        (a[:, :0], b[:0]),
    ):
        np.testing.assert_array_equal(ps.matmul(left, right), left @ right)


def test_code_on_disk_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = ObjectCache(tmp_path / "cache")
    KernelLoader(host(), lambda: folder).address(TransposeBlock(ps.f32, 16))
    monkeypatch.setattr(building, "built", None)
    KernelLoader(host(), lambda: folder).address(TransposeBlock(ps.f32, 16))
    with pytest.raises(TypeError):
        KernelLoader(host(), lambda: folder).address(TransposeBlock(ps.f64, 8))


def test_functions_run_once_and_errors_are_left_to_the_caller() -> None:
    specializer, ran = Specializer(), list[str]()
    specializer.submit("fails", lambda: 1 // 0)
    specializer.submit("runs", lambda: ran.append(threading.current_thread().name))
    specializer.wait()
    assert ran == ["polysched specializer"]
    assert specializer.is_done("fails")
    assert specializer.is_done("runs")


def test_the_end_drops_what_waits() -> None:
    specializer, ran = Specializer(), list[int]()
    started, begin = threading.Event(), threading.Event()

    def first() -> None:
        started.set()
        begin.wait()

    specializer.submit(0, first)
    started.wait()
    for number in range(1, 4):
        specializer.submit(number, lambda: ran.append(1))
    threading.Timer(0.1, begin.set).start()
    specializer.close()
    specializer.submit(9, lambda: ran.append(9))
    assert not ran
    assert specializer.is_done(0)
    assert not specializer.is_done(9)


def test_a_process_ends_while_code_is_made() -> None:
    script = (
        "import numpy as np, polysched as ps\n"
        "a = np.ones((9, 9), 'f4')\n"
        "for n in range(5, 12):\n"
        "    for _ in range(5): ps.matmul(a, np.ones((9, n), 'f4'))\n"
        "print('end')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_a_kernel_that_lacks_twice_is_made_by_the_call(
    generic: GenericCalls, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loader = KernelLoader(host(), lambda: ObjectCache(tmp_path))
    monkeypatch.setattr(calls, "_kernels", lambda: loader)
    monkeypatch.setattr(generic.specializer, "submit", lambda *_: None)
    shapes = [((5, rows), (rows, 16)) for rows in (30, 31, 32)]
    served = []
    for left, right in shapes:
        a, b = numbers(left), numbers(right, seed=2)
        for _ in range(2):
            np.testing.assert_array_equal(ps.matmul(a, b, threads=1), a @ b)
        served.append(generic.is_served(a, b, None, 1))
    assert served == [False, True, True]
    a, b = (numbers(shape) for shape in shapes[0])
    np.testing.assert_array_equal(ps.matmul(a, b, threads=1, specialize=False), a @ b)
    assert generic.is_served(a, b, None, 1)
