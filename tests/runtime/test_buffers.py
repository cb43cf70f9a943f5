"""Calls with packed arrays: buffers of bytes, their shapes, and what is said of others."""

import numpy as np
import pytest

import polysched as ps
from polysched.ir.core.kernel import Kernel
from polysched.lower import compile
from polysched.runtime.buffers import buffer_rank, buffer_shape, buffer_type
from polysched.runtime.kernel import CompiledKernel
from polysched.schedule.schedule import Schedule
from tests.support.differential import NO_CACHE


def copied(rows: str) -> Kernel:
    """``v[i, j] = w[i, j] + 1``, both of i5."""
    build = ps.KernelBuilder("copied")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    w = build.input("w", "i5", (n, m), rows=rows)
    v = build.output("v", "i5", (n, m), rows=rows)
    with build.loops(i=n, j=m) as (i, j):
        v[i, j] = w[i, j] + 1
    return build.kernel()


def compiled(rows: str) -> CompiledKernel:
    return compile(Schedule(copied(rows)), cache=NO_CACHE)


@pytest.mark.parametrize(("rows", "shape"), [("padded", (3, 5)), ("contiguous", (14,))])
def test_buffers_of_bytes_go_in_and_come_out(rows: str, shape: tuple[int, ...]) -> None:
    values = np.arange(21).reshape(3, 7) - 10
    buffer = ps.pack_bits(values, "i5", rows=rows, overflow="raise")
    assert buffer.shape == shape
    result = compiled(rows)(buffer, n=3, m=7)
    assert (result.dtype, result.shape) == (np.uint8, shape)
    assert np.array_equal(ps.unpack_bits(result, "i5", (3, 7), rows=rows), values + 1)


def test_what_numpy_sees() -> None:
    padded, contiguous = (copied(rows).arrays["w"] for rows in ("padded", "contiguous"))
    assert buffer_type(padded) == np.uint8
    assert (buffer_rank(padded), buffer_rank(contiguous)) == (2, 1)
    assert buffer_shape(padded, (3, 7)) == (3, 5)
    assert buffer_shape(contiguous, (3, 7)) == (14,)


def test_rows_tell_of_padded_arrays_but_not_their_length() -> None:
    run = compiled("padded")
    with pytest.raises(ps.CallError, match="do not determine 'm'; pass m=..."):
        run(np.zeros((3, 5), np.uint8))
    assert run(np.zeros((3, 5), np.uint8), m=7).shape == (3, 5)
    with pytest.raises(ps.CallError, match="do not determine 'n' and 'm'"):
        compiled("contiguous")(np.zeros(14, np.uint8))


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (
            np.zeros((3, 4), np.uint8),
            r"array 'w' of i5 packed in bytes, padded rows has shape \(3, 4\); expected \(3, 5\) ",
        ),
        (
            np.zeros((3, 7), np.int8),
            "of i5 packed in bytes, padded rows has elements of type int8; expected uint8: pack",
        ),
        (np.zeros(15, np.uint8), r"has 1 dimension, shape \(15,\); expected 2"),
        (np.zeros((3, 10), np.uint8)[:, ::2], "is not contiguous"),
    ],
)
def test_other_buffers_are_refused(buffer: np.ndarray, message: str) -> None:
    with pytest.raises(ps.CallError, match=message):
        compiled("padded")(buffer, n=3, m=7)


def test_overlapping_buffers_are_refused() -> None:
    memory = np.zeros(29, np.uint8)
    run = compiled("contiguous")
    with pytest.raises(ps.CallError, match="arrays 'w' and 'v' overlap in memory"):
        run(memory[:14], memory[13:27], n=3, m=7)
    run(memory[:14], memory[14:28], n=3, m=7)


def test_the_signature_says_how_they_lie() -> None:
    assert str(compiled("padded").signature).startswith(
        "copied(w: i5[n, m] packed in bytes, rows padded, v: i5"
    )


def test_rows_have_to_be_said() -> None:
    build = ps.KernelBuilder("k")
    with pytest.raises(ps.KernelError, match="array 'w' of i4 has 2 dimensions: say where a row"):
        build.input("w", "i4", (3, 4))
    with pytest.raises(ps.KernelError, match="declare an index array of u8"):
        build.input("w", "u4", (3,), values=(0, 4))
