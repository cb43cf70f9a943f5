"""Unusual arguments of every library call: the right result, or one clear error and no write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError

NumpyArray = np.ndarray[Any, Any]
Call = Callable[..., Any]


def numbers(*shape: int) -> NumpyArray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def softmax(x: Any, **options: Any) -> Any:
    return ps.softmax(x, **options)


def layer_norm(x: Any, weight: Any, bias: Any, **options: Any) -> Any:
    return ps.layer_norm(x, weight, bias, **options)


CALLS: dict[str, tuple[Call, tuple[NumpyArray, ...]]] = {
    "matmul": (ps.matmul, (numbers(5, 7), numbers(7, 9))),
    "matmul of a vector": (ps.matmul, (numbers(5, 7), numbers(7))),
    "matmul of a stack": (ps.matmul, (numbers(3, 5, 7), numbers(3, 7, 9))),
    "einsum": (lambda a, b, **o: ps.einsum("ij,jk->ki", a, b, **o), (numbers(5, 7), numbers(7, 9))),
    "softmax": (softmax, (numbers(4, 9),)),
    "softmax of columns": (lambda x, **o: ps.softmax(x, 0, **o), (numbers(4, 9),)),
    "layer_norm": (layer_norm, (numbers(4, 9), numbers(9), numbers(9))),
    "attention": (ps.attention, (numbers(2, 5, 8), numbers(2, 6, 8), numbers(2, 6, 4))),
    "conv2d": (
        lambda x, w, b, **o: ps.conv2d(x, w, b, padding=1, **o),
        (numbers(2, 6, 5, 3), numbers(3, 3, 3, 4), numbers(4)),
    ),
    "conv2d channels first": (
        lambda x, w, b, **o: ps.conv2d(x, w, b, layout="NCHW", **o),
        (numbers(2, 3, 6, 5), numbers(4, 3, 3, 3), numbers(4)),
    ),
    "conv1d": (ps.conv1d, (numbers(2, 9, 3), numbers(3, 3, 4))),
    "transpose": (lambda x, **o: ps.transpose(x, (2, 0, 1), **o), (numbers(4, 9, 3),)),
}


def close(found: Any, expected: NumpyArray) -> None:
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-5)


def refusal(call: Call, *arrays: Any, **options: Any) -> str | None:
    """The message of the error of a call; None if it returns."""
    try:
        call(*arrays, **options)
    except CallError as error:
        return str(error)
    return None


def reversed_view(array: NumpyArray) -> NumpyArray:
    """The same values; all strides are negative."""
    every = (slice(None, None, -1),) * array.ndim
    return array[every].copy()[every]


def with_gaps(array: NumpyArray) -> NumpyArray:
    """The same values; no dimension is contiguous."""
    wide = np.full([2 * extent for extent in array.shape], np.nan, array.dtype)
    view = wide[(slice(None, None, 2),) * array.ndim]
    view[...] = array
    return view


def at_odd_address(array: NumpyArray) -> NumpyArray:
    """The same values, at an address that is not aligned to an element."""
    memory = bytearray(array.nbytes + 1)
    view = np.frombuffer(memory, array.dtype, array.size, offset=1).reshape(array.shape)
    view[...] = array
    return view


def in_columns(array: NumpyArray) -> NumpyArray:
    return np.asfortranarray(array)


VIEWS = (reversed_view, with_gaps, at_odd_address, in_columns)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", CALLS)
def test_inputs_of_any_layout(name: str, view: Callable[[NumpyArray], NumpyArray]) -> None:
    call, arrays = CALLS[name]
    close(call(*map(view, arrays)), call(*arrays))


@pytest.mark.parametrize("name", CALLS)
def test_inputs_with_zero_strides(name: str) -> None:
    call, arrays = CALLS[name]
    for position, array in enumerate(arrays):
        same = np.broadcast_to(array.flat[0], array.shape)
        given = [same if at == position else other for at, other in enumerate(arrays)]
        close(call(*given), call(*(np.ascontiguousarray(one) for one in given)))


@pytest.mark.parametrize("name", CALLS)
def test_foreign_byte_order_is_refused_or_right(name: str) -> None:
    call, arrays = CALLS[name]
    swapped = [array.astype(array.dtype.newbyteorder()) for array in arrays]
    if refusal(call, *swapped) is None:
        close(call(*swapped), call(*arrays))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", CALLS)
def test_a_number_that_is_not_finite_reaches_what_depends_on_it(name: str, value: float) -> None:
    call, arrays = CALLS[name]
    regular = np.asarray(call(*arrays))
    changed = [array.copy() for array in arrays]
    changed[0].flat[0] = value
    found = np.asarray(call(*changed))
    is_hit = ~np.isclose(found, regular)
    # The first element does not reach the last one, except through a sum over the first axis.
    assert is_hit.any()
    assert not is_hit.flat[-1]
    if np.isnan(value):
        assert np.isnan(found[is_hit]).all()


@pytest.mark.parametrize("name", CALLS)
def test_out_is_written_and_returned(name: str) -> None:
    call, arrays = CALLS[name]
    expected = call(*arrays)
    out = np.full(expected.shape, np.nan, expected.dtype)
    assert call(*arrays, out=out) is out
    close(out, expected)


@pytest.mark.parametrize("name", CALLS)
def test_out_may_be_a_buffer_or_a_tensor(name: str) -> None:
    call, arrays = CALLS[name]
    expected = call(*arrays)
    memory = np.full(expected.shape, np.nan, expected.dtype)
    buffer = memoryview(memory)
    assert call(*arrays, out=buffer) is buffer
    close(memory, expected)
    torch = pytest.importorskip("torch")
    tensor = torch.full(expected.shape, float("nan"))
    assert call(*arrays, out=tensor) is tensor
    close(tensor.numpy(), expected)
    assert call(*map(torch.from_numpy, arrays), out=tensor) is tensor


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", CALLS)
def test_out_of_any_layout_is_right_or_refused(
    name: str, view: Callable[[NumpyArray], NumpyArray]
) -> None:
    call, arrays = CALLS[name]
    expected = call(*arrays)
    out = view(np.full(expected.shape, 7, expected.dtype))
    message = refusal(call, *arrays, out=out)
    if message is None:
        close(out, expected)
    else:
        assert "out" in message
        assert (out == 7).all()


BAD_OUTS: dict[str, Callable[[NumpyArray], Any]] = {
    "a list": np.ndarray.tolist,
    "another type": lambda expected: np.zeros(expected.shape, np.float64),
    "another shape": lambda expected: np.zeros((*expected.shape, 1), expected.dtype),
    "too long": lambda expected: np.zeros(
        (expected.shape[0] + 1, *expected.shape[1:]), expected.dtype
    ),
    "bytes": lambda expected: bytes(expected.nbytes),
}


@pytest.mark.parametrize("bad", BAD_OUTS)
@pytest.mark.parametrize("name", CALLS)
def test_out_that_does_not_fit_is_refused(name: str, bad: str) -> None:
    call, arrays = CALLS[name]
    with pytest.raises(CallError, match="out"):
        call(*arrays, out=BAD_OUTS[bad](np.asarray(call(*arrays))))


@pytest.mark.parametrize("name", CALLS)
def test_out_that_is_read_only_is_refused(name: str) -> None:
    call, arrays = CALLS[name]
    out = np.zeros_like(call(*arrays))
    out.flags.writeable = False
    message = refusal(call, *arrays, out=out)
    assert message is not None
    assert "read-only" in message
    assert (out == 0).all()


@pytest.mark.parametrize("name", CALLS)
def test_out_that_overlaps_an_input_is_right_or_refused(name: str) -> None:
    call, arrays = CALLS[name]
    shape = call(*arrays).shape
    size = int(np.prod(shape))
    for position, array in enumerate(arrays):
        memory = np.zeros(size + array.size, np.float32)
        start = max(size - 1, 0)  # the last element of out is the first one of the input
        inside = memory[start : start + array.size].reshape(array.shape)
        inside[...] = array
        given = [inside if at == position else other for at, other in enumerate(arrays)]
        before, expected = memory.copy(), call(*given)
        out = memory[:size].reshape(shape)
        message = refusal(call, *given, out=out)
        if message is None:
            close(out, expected)
        else:
            assert "overlap" in message
            np.testing.assert_array_equal(memory, before)


EMPTY: dict[str, tuple[Call, tuple[tuple[int, ...], ...], tuple[int, ...]]] = {
    "matmul without rows": (ps.matmul, ((0, 7), (7, 9)), (0, 9)),
    "matmul without columns": (ps.matmul, ((5, 7), (7, 0)), (5, 0)),
    "matmul without terms": (ps.matmul, ((5, 0), (0, 9)), (5, 9)),
    "matmul of no matrices": (ps.matmul, ((0, 5, 7), (7, 9)), (0, 5, 9)),
    "einsum without terms": (lambda a, b: ps.einsum("ij,jk", a, b), ((5, 0), (0, 9)), (5, 9)),
    "softmax of no rows": (softmax, ((0, 5),), (0, 5)),
    "softmax of empty rows": (softmax, ((5, 0),), (5, 0)),
    "layer_norm of empty rows": (layer_norm, ((5, 0), (0,), (0,)), (5, 0)),
    "attention without queries": (ps.attention, ((2, 0, 8), (2, 6, 8), (2, 6, 4)), (2, 0, 4)),
    "attention without keys": (ps.attention, ((2, 5, 8), (2, 0, 8), (2, 0, 4)), (2, 5, 4)),
    "attention without columns": (ps.attention, ((2, 5, 8), (2, 6, 8), (2, 6, 0)), (2, 5, 0)),
    "attention of no heads": (ps.attention, ((0, 5, 8), (0, 6, 8), (0, 6, 4)), (0, 5, 4)),
    "conv2d of no images": (ps.conv2d, ((0, 6, 5, 3), (3, 3, 3, 4)), (0, 4, 3, 4)),
    "transpose": (ps.transpose, ((0, 5),), (5, 0)),
}


@pytest.mark.parametrize("name", EMPTY)
def test_empty_dimensions(name: str) -> None:
    call, shapes, expected = EMPTY[name]
    found = call(*(np.ones(shape, np.float32) for shape in shapes))
    assert found.shape == expected
    assert (found == 0).all()


def test_weights_without_elements_are_refused() -> None:
    with pytest.raises(CallError, match=r"'weight' has shape .* expected positive extents"):
        ps.conv2d(np.ones((2, 6, 5, 3), np.float32), np.ones((3, 3, 3, 0), np.float32))
