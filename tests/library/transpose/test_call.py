import itertools
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError
from polysched.library.transpose import call
from polysched.machine.description import Machine
from polysched.runtime.call_cache import CallCache
from tests.support.effort import covering, sampled

TYPES = ("u1", "f2", "f4", "c8", "?", "M8[s]", "c16", "S3")


def numbers(shape: tuple[int, ...], dtype: str = "f4") -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).integers(0, 100, shape).astype(dtype)


@pytest.fixture(autouse=True)
def _own_cache(call_table: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(call, "_CALL_CACHE", CallCache(64))
    call.dispatch.cache_clear()
    yield
    call.dispatch.cache_clear()


def test_what_is_left_to_numpy() -> None:
    """Elements of 16 bytes, rows that become short ones, and large plain copies; nothing else."""

    def made_for(dtype: str, shape: tuple[int, ...], axes: tuple[int, ...]) -> object:
        return call.dispatch(np.dtype(dtype), shape, axes, None).copy

    assert made_for("f4", (300, 200), (1, 0)) is not None
    assert made_for("c16", (300, 200), (1, 0)) is None
    assert made_for("S3", (300, 200), (1, 0)) is not None
    assert made_for("f4", (30, 20, 10), (1, 0, 2)) is not None
    assert made_for("f4", (300, 1), (1, 0)) is not None
    assert made_for("f4", (1 << 30, 1), (1, 0)) is None
    assert made_for("f4", (0, 3), (1, 0)) is None
    assert made_for("f4", (300, 3), (1, 0)) is not None
    assert made_for("f4", (3, 300), (1, 0)) is not None
    assert made_for("f4", (300, 2, 6), (2, 1, 0)) is None
    assert made_for("f8", (300, 2, 3), (2, 1, 0)) is not None


@covering(1, offset=[0, 1], dtype=sampled(["u1", "i2", "f4", "f2", "c8", "c16", "S3", "S12"], 2))
def test_rows_of_any_length(dtype: str, offset: int) -> None:
    """Rows as long as a larger element are moved as such, if they are aligned as such."""
    for length, shape in itertools.product((1, 2, 4, 5, 8), ((3, 4), (150, 130))):
        a = np.empty((*shape, length), dtype)
        content = np.random.default_rng(0).integers(1, 255, a.nbytes, np.uint8)
        place = offset if np.dtype(dtype).alignment == 1 else 0
        a, out = (
            np.zeros(a.nbytes + 1, np.uint8)[place : place + a.nbytes].view(dtype) for _ in range(2)
        )
        a.view(np.uint8)[...] = content
        a, out = a.reshape(*shape, length), out.reshape(*shape[::-1], length)
        for _ in range(2):
            np.testing.assert_array_equal(ps.transpose(a, (1, 0, 2), out=out), a.swapaxes(0, 1))
            np.testing.assert_array_equal(ps.transpose(a, (1, 0, 2)), a.swapaxes(0, 1))


@pytest.mark.parametrize("dtype", TYPES)
def test_types(dtype: str) -> None:
    a = numbers((33, 70), dtype)
    made = ps.transpose(a)
    np.testing.assert_array_equal(made, a.T)
    assert (made.dtype, made.flags.c_contiguous) == (a.dtype, True)


def test_axes() -> None:
    for shape in ((), (5,), (3, 1), (2, 17, 18), (1, 4, 1, 5)):
        a = numbers(shape)
        for axes in permutations(range(a.ndim)):
            np.testing.assert_array_equal(ps.transpose(a, axes), a.transpose(axes))
    a = numbers((2, 3, 17, 9))
    np.testing.assert_array_equal(ps.transpose(a, (3, 1, 0, 2)), a.transpose(3, 1, 0, 2))


def test_images() -> None:
    nhwc = numbers((2, 9, 8, 35))
    nchw = ps.transpose(nhwc, (0, 3, 1, 2))
    np.testing.assert_array_equal(nchw, nhwc.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(ps.transpose(nchw, (0, 2, 3, 1)), nhwc)


@pytest.mark.parametrize("shape", [(2, 3, 64), (1, 3, 65), (2, 64, 3), (1, 65, 3), (64, 3, 1)])
def test_thin_images_of_three_dimensions(shape: tuple[int, int, int]) -> None:
    """The kernel takes the array, or the result, as it is, and the other one in another shape."""
    for _ in range(2):
        a = numbers(shape)
        for axes in permutations(range(3)):
            np.testing.assert_array_equal(ps.transpose(a, axes), a.transpose(axes))
            out = np.empty(a.transpose(axes).shape, a.dtype)
            np.testing.assert_array_equal(ps.transpose(a, axes, out), a.transpose(axes))


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 4)])
def test_nothing(shape: tuple[int, ...]) -> None:
    assert ps.transpose(numbers(shape)).shape == shape[::-1]


def test_views_that_are_not_contiguous() -> None:
    a = numbers((64, 90))
    for view in (a.T, a[::2, ::-1], a[:, 3:40], np.broadcast_to(a[:1], (5, 90))):
        np.testing.assert_array_equal(ps.transpose(view), view.T)


def test_out() -> None:
    a, out = numbers((20, 30)), np.empty((30, 20), np.float32)
    assert ps.transpose(a, out=out) is out
    np.testing.assert_array_equal(out, a.T)


@pytest.mark.parametrize("threads", [None, 1, 2])
def test_large(threads: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays larger than the caches that the plans assume."""
    monkeypatch.setattr(Machine, "last_cache_bytes", 1 << 20)
    a = numbers((1040, 530))
    np.testing.assert_array_equal(ps.transpose(a, threads=threads), a.T)


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_that_crowd(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From beyond the second cache, as small as it is taken to be: along diagonals."""
    monkeypatch.setattr(Machine, "cache_bytes", lambda *_: 0)
    for shape in ((1024, 515), (2, 512, 1024)):
        a = numbers(shape)
        order = (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2)
        np.testing.assert_array_equal(ps.transpose(a, order, threads=threads), a.swapaxes(-1, -2))


@pytest.mark.parametrize("dtype", ["f2", ">f4", "c8", "?", "M8[s]", "V4", "U1"])
def test_addresses_of_what_cannot_be_written(dtype: str) -> None:
    a = np.arange(33 * 70, dtype="u8").view("V8")[:1155].reshape(33, 35)
    a = np.ascontiguousarray(a).view(f"V{np.dtype(dtype).itemsize}").view(dtype)
    a.flags.writeable = False
    out = np.zeros(a.shape[::-1], dtype)
    assert ps.transpose(a, out=out) is out
    assert out.tobytes() == a.T.tobytes()


def test_nan_and_negative_zero_keep_their_bits() -> None:
    bits = np.random.default_rng(2).integers(0, 1 << 32, (40, 33), np.uint32)
    made = ps.transpose(bits.view(np.float32))
    np.testing.assert_array_equal(made.view(np.uint32), bits.T)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"a": [[1, 2]]}, "transpose: array 'a' is of type list; expected a numpy array"),
        ({"a": np.array([[object()]])}, "elements of type object; expected plain data"),
        ({"axes": (0, 0)}, "expected each of the axes 0 to 1 once"),
        ({"threads": 0}, "transpose: threads=0; expected an integer >= 1"),
        ({"threads": True}, "transpose: threads=True; expected an integer >= 1"),
        ({"out": [1]}, "transpose: out is of type list; expected a numpy array"),
        ({"out": np.zeros((3, 4), "f4")}, r"out has shape \(3, 4\); expected \(4, 3\)"),
        ({"out": np.zeros((4, 3), "f8")}, "out has elements of type float64; expected float32"),
        ({"out": np.zeros((3, 4), "f4").T}, "out is not contiguous in row-major order; transpose"),
    ],
)
def test_errors(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(CallError, match=message):
        ps.transpose(**{"a": numbers((3, 4)), **arguments})


@covering(1, threads=[None, 1, 2], shape=[(33, 35), (700, 600)])
def test_calls_that_come_again(shape: tuple[int, int], threads: int | None) -> None:
    """Each on other data, with an output and without, and what it refuses it refuses again."""
    for seed in range(4):
        a = numbers(shape) + np.float32(seed)
        out = np.empty(shape[::-1], np.float32)
        assert ps.transpose(a, out=out, threads=threads) is out
        np.testing.assert_array_equal(out, a.T)
        np.testing.assert_array_equal(ps.transpose(a, threads=threads), a.T)
        np.testing.assert_array_equal(ps.transpose(a[::-1], threads=threads), a[::-1].T)
        with pytest.raises(CallError, match="overlaps array 'a'"):
            ps.transpose(a, out=a.reshape(shape[::-1]), threads=threads)
        with pytest.raises(CallError, match="out has elements of type int32"):
            ps.transpose(a, out=out.view(np.int32), threads=threads)
        out.flags.writeable = False
        with pytest.raises(CallError, match="out is read-only"):
            ps.transpose(a, out=out, threads=threads)


def test_axes_that_change_between_calls() -> None:
    a = numbers((20, 30, 40))
    for axes in (changing := [2, 1, 0], (2, 1, 0), (1, 2, 0), [True + 0, np.int64(2), 0]):
        for _ in range(3):
            np.testing.assert_array_equal(ps.transpose(a, axes), a.transpose(axes))
    changing[:] = [2, 0, 1]
    np.testing.assert_array_equal(ps.transpose(a, changing), a.transpose(2, 0, 1))


def test_results_are_each_ones_own() -> None:
    a = numbers((300, 200))
    made = [ps.transpose(a) for _ in range(3)]
    assert not any(np.shares_memory(one, made[0]) for one in (a, *made[1:]))
    assert all(one.flags.c_contiguous and one.flags.writeable for one in made)
    assert made[0].ctypes.data % 128 == 0


def test_true_is_no_number_of_threads_after_one_was() -> None:
    ps.transpose(numbers((3, 4)), threads=1)
    with pytest.raises(CallError, match="threads=True; expected an integer"):
        ps.transpose(numbers((3, 4)), threads=True)


def test_out_that_overlaps() -> None:
    memory = numbers((40,))
    a, out = memory[:12].reshape(3, 4), memory[8:20].reshape(4, 3)
    before = memory.copy()
    with pytest.raises(CallError, match="out overlaps array 'a'; transpose into other memory"):
        ps.transpose(a, out=out)
    np.testing.assert_array_equal(memory, before)


@pytest.mark.parametrize("kind", ["f4", "S4"])
def test_an_array_at_an_odd_address_is_copied(kind: str) -> None:
    """numpy takes bytes of text to be aligned anywhere."""
    memory = np.zeros(200 * 200 * 4 + 1, np.uint8)
    memory[1:] = np.random.default_rng(0).integers(1, 99, memory.size - 1)
    a = memory[1:].view(kind).reshape(200, 200)
    np.testing.assert_array_equal(ps.transpose(a), a.T)
    with pytest.raises(CallError, match="out is misaligned: its address or a stride is not a"):
        ps.transpose(np.zeros((200, 200), kind), out=a)


def test_a_number_of_threads_is_no_order_of_axes() -> None:
    a = np.arange(40 * 33, dtype=np.float32).reshape(40, 33)
    for _ in range(3):
        assert (ps.transpose(a, threads=1) == a.T).all()
    with pytest.raises(CallError, match="axes=1"):
        ps.transpose(a, 1)  # type: ignore[arg-type]
    for threads in (True, 0, [1], {}):
        with pytest.raises(CallError, match="transpose: threads="):
            ps.transpose(a, threads=threads)  # type: ignore[arg-type]
    with pytest.raises(CallError, match="axes="):
        ps.transpose(a, {0, 1})  # type: ignore[arg-type]
