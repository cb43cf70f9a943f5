"""Calls of kernels whose arrays have strides."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.errors import CallError
from polysched.ir.declare.builder import KernelBuilder
from polysched.lower import compile
from polysched.runtime.inference import infer_parameters
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.memory import aligned_copy, aligned_zeros, share_memory
from polysched.runtime.signature import signature_of
from polysched.schedule.schedule import Schedule
from tests.support.differential import NO_CACHE
from tests.support.effort import cases
from tests.support.strided import product

PATTERN = -77.0


@pytest.fixture(scope="module")
def kernel() -> CompiledKernel:
    schedule = Schedule(product()).vectorize("start.j0", 16).vectorize("update.j", 16)
    return compile(schedule, cache=NO_CACHE)


def matrix(rows: int, columns: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(-4, 5, (rows, columns)).astype(np.float32)


def test_signature(kernel: CompiledKernel) -> None:
    assert str(kernel.signature) == (
        "product(a: f32[m, terms] strides (lda, 1), b: f32[terms, n] strides (1, ldb), "
        "c: f32[m, n] strides (ldc, 1), m, n, terms, lda, ldb, ldc)"
    )


@settings(deadline=None, max_examples=cases(60))
@given(
    sizes=st.tuples(*[st.integers(0, 20)] * 3),
    gaps=st.tuples(*[st.integers(0, 20)] * 3),
    starts=st.tuples(*[st.integers(0, 3)] * 6),
)
def test_views_of_larger_arrays(
    kernel: CompiledKernel,
    sizes: tuple[int, ...],
    gaps: tuple[int, ...],
    starts: tuple[int, ...],
) -> None:
    m, n, terms = sizes

    def view(rows: int, columns: int, operand: int) -> tuple[Any, Any]:
        top, left = starts[2 * operand : 2 * operand + 2]
        whole = matrix(top + rows + 2, left + columns + gaps[operand], operand)
        return whole, whole[top : top + rows, left : left + columns]

    _, a = view(m, terms, 0)
    _, b = view(n, terms, 1)
    around, c = view(m, n, 2)
    around.fill(PATTERN)
    wanted = around.copy()
    top, left = starts[4:]
    wanted[top : top + m, left : left + n] = a @ b.T
    assert kernel(a, b.T, c) is c
    np.testing.assert_array_equal(around, wanted)
    np.testing.assert_array_equal(kernel(a, b.T), a @ b.T)


def test_an_output_left_out_has_no_gaps(kernel: CompiledKernel) -> None:
    made = kernel(matrix(9, 40)[:, :7], matrix(5, 7).T)
    assert made.flags.c_contiguous


def test_an_output_left_out_has_the_strides_asked_for(kernel: CompiledKernel) -> None:
    a, b = matrix(9, 7), matrix(5, 7).T
    made = kernel(a, b, ldc=12)
    assert made.strides == (48, 4)
    assert made.ctypes.data % 64 == 0
    np.testing.assert_array_equal(made, a @ b)


def test_objects_of_other_libraries(kernel: CompiledKernel) -> None:
    class Tensor:
        def __init__(self, array: np.ndarray[Any, Any]) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

    a, b = matrix(9, 40)[:, 3:10], matrix(5, 7).T
    np.testing.assert_array_equal(kernel(Tensor(a), memoryview(b)), a @ b)


def test_read_only_views(kernel: CompiledKernel) -> None:
    a, b = matrix(9, 40)[:, 3:10], matrix(5, 7).T
    a.flags.writeable = False
    np.testing.assert_array_equal(kernel(a, b), a @ b)


def test_one_row_needs_no_leading_dimension(kernel: CompiledKernel) -> None:
    row = np.broadcast_to(matrix(1, 1), (1, 1))
    assert row.strides == (0, 0) or row.size == 1
    spread = np.lib.stride_tricks.as_strided(matrix(1, 8), (1, 8), (0, 4))
    b = matrix(5, 8).T
    np.testing.assert_array_equal(kernel(spread, b), spread @ b)


@pytest.mark.parametrize(
    ("a", "c", "parameters", "message"),
    [
        (
            matrix(9, 14)[:, ::2],
            None,
            {},
            "kernel 'product': array 'a' has strides of (14, 2) elements; expected (lda, 1) = "
            "(14, 1) with m = 9 (from dimension 'row' of 'a')",
        ),
        (matrix(9, 7)[:, ::-1], None, {}, "array 'a' has strides of (7, -1) elements"),
        (matrix(9, 7)[::-1], None, {}, "requires lda >= terms; got m = 9"),
        (matrix(9, 7), None, {"lda": 6}, "requires lda >= terms; got"),
        (matrix(9, 7), None, {"lda": 8}, "has strides of (7, 1) elements; expected (lda, 1) = (8"),
        (matrix(9, 7), matrix(9, 10)[:, ::2], {}, "array 'c' has strides of (10, 2) elements"),
        (
            np.zeros((9, 7), [("x", "f4"), ("y", "i1")])["x"],
            None,
            {},
            "array 'a' has strides of (35, 5) bytes; expected multiples of its element's size, 4",
        ),
    ],
)
def test_what_does_not_fit(
    kernel: CompiledKernel, a: Any, c: Any, parameters: dict[str, int], message: str
) -> None:
    passed = (a, matrix(5, 7).T) if c is None else (a, matrix(5, 7).T, c)
    with pytest.raises(CallError, match=re.escape(message)):
        kernel(*passed, **parameters)


def test_literal_strides_are_checked() -> None:
    build = KernelBuilder("k")
    x = build.input("x", "f32", (3, 4), strides=(8, 1))
    y = build.output("y", "f32", (3, 4), strides=(5, 1))
    with build.loops(i=3, j=4) as (i, j):
        y[i, j] = x[i, j] + 1.0
    kernel = compile(Schedule(build.kernel()), cache=NO_CACHE)
    whole = matrix(3, 8)
    made = kernel(whole[:, 2:6])
    assert made.strides == (20, 4)
    np.testing.assert_array_equal(made, whole[:, 2:6] + 1)
    with pytest.raises(CallError, match=r"of \(4, 1\) elements; expected \(8, 1\)$"):
        kernel(matrix(3, 4))


def test_stacks_of_any_distance() -> None:
    """Whether matrices are apart hangs on a product of parameters: each call looks."""
    build = KernelBuilder("k")
    s, m, n, ld, distance = (build.parameter(name) for name in ("s", "m", "n", "ld", "distance"))
    build.assume(ld >= n)
    x = build.input("x", "f32", (s, m, n), strides=(distance, ld, 1))
    y = build.output("y", "f32", (s, m, n), strides=(distance, ld, 1))
    with build.loops(h=s, i=m, j=n) as at:
        y[at] = x[at] + 1.0
    kernel = compile(Schedule(build.kernel()), cache=NO_CACHE)
    whole = matrix(60, 10).reshape(3, 20, 10)
    np.testing.assert_array_equal(kernel(whole[:, 3:9, 2:7]), whole[:, 3:9, 2:7] + 1)
    windows = np.lib.stride_tricks.as_strided(whole, (3, 6, 5), (200, 40, 4))
    message = (
        "kernel 'k': array 'x' of shape (3, 6, 5) has strides of (50, 10, 1) elements, with which "
        "two elements may share memory; expected each stride to be longer"
    )
    with pytest.raises(CallError, match=re.escape(message)):
        kernel(windows)


def test_parts_of_one_array(kernel: CompiledKernel) -> None:
    """Side by side, what lies in each other's gaps is apart; one column in common is not."""
    whole = np.zeros((9, 64), np.float32)
    whole[:, :7] = matrix(9, 7)
    b = matrix(19, 7).T
    assert kernel(whole[:, :7], b, whole[:, 30:49]) is not None
    np.testing.assert_array_equal(whole[:, 30:49], matrix(9, 7) @ b)
    with pytest.raises(CallError, match="arrays 'a' and 'c' overlap in memory, and 'c' is written"):
        kernel(whole[:, :7], b, whole[:, 6:25])


def test_what_is_too_hard_to_tell_overlaps() -> None:
    memory = np.zeros(10_000_000, np.int8)
    strides = [(75_501, 9_001, 1_301, 171), (65_003, 8_009, 1_407, 133)]
    one, other = (np.lib.stride_tricks.as_strided(memory, (40,) * 4, s) for s in strides)
    assert share_memory(one, other)
    assert not share_memory(memory[::2], memory[1::2])


def test_strides_of_outputs_left_out_follow_from_what_is_known() -> None:
    signature = signature_of(product())
    shapes = {"a": (3, 4), "b": (4, 5)}
    found = infer_parameters(signature, {}, shapes, {"a": (9, 1), "b": (1, 7)})
    assert dict(found.values) == {"m": 3, "n": 5, "terms": 4, "lda": 9, "ldb": 7, "ldc": 5}
    assert found.origins["lda"] == "from the stride of dimension 'row' of 'a'"


def test_what_strides_do_not_tell_either() -> None:
    build = KernelBuilder("k")
    n, s = build.parameter("n"), build.parameter("s", minimum=4)
    x = build.input("x", "f32", (n,), strides=(s // 4,))
    y = build.output("y", "f32", (n,))
    with build.loops(i=n) as i:
        y[i] = x[i]
    message = "kernel 'k': the shapes and strides of the arrays passed do not determine 's'; pass"
    with pytest.raises(CallError, match=re.escape(message)):
        infer_parameters(signature_of(build.kernel()), {}, {"x": (3,)}, {"x": (2,)})


def test_aligned_arrays_with_strides() -> None:
    made = aligned_zeros((3, 4), np.int16, strides=(1, 5))
    assert made.strides == (2, 10)
    assert made.ctypes.data % 128 == 0
    made[...] = np.arange(12).reshape(3, 4)
    copied = aligned_copy(made)
    assert copied.strides == made.strides
    np.testing.assert_array_equal(copied, made)
