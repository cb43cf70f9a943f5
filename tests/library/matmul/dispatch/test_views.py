"""``matmul`` on views: read and written where they lie, and nothing around them touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.errors import CallError, KernelError
from polysched.library.matmul.dispatch.call import matmul
from polysched.library.matmul.dispatch.dispatch import dispatch
from polysched.library.matmul.dispatch.views import form_of, joined, operand_of
from polysched.library.matmul.kernel.declare import Sizes, Stack, matmul_kernel
from polysched.library.matmul.kernel.operands import Stored
from polysched.library.matmul.plan.config import Config
from polysched.library.matmul.plan.planner import plan
from polysched.library.matmul.plan.problem import Problem
from polysched.machine.load import load_machine
from tests.library.matmul.products import TRANSPOSED, scheduled
from tests.library.transpose.fenced import fenced
from tests.support.effort import cases, covering

AnyArray = np.ndarray[Any, Any]
PATTERN = 77


def filled(*shape: int, dtype: str = "f4") -> AnyArray:
    return np.random.default_rng(sum(shape)).integers(-8, 8, shape).astype(dtype)


def part(*shape: int, dtype: str = "f4") -> AnyArray:
    """Rows of a wider matrix."""
    *outer, rows, columns = shape
    return filled(*outer, rows + 9, columns + 13, dtype=dtype)[..., 3 : 3 + rows, 5 : 5 + columns]


def by_columns(*shape: int, dtype: str = "f4") -> AnyArray:
    """Columns of a wider matrix."""
    *outer, rows, columns = shape
    return part(*outer, columns, rows, dtype=dtype).swapaxes(-1, -2)


def every_second(*shape: int, dtype: str = "f4") -> AnyArray:
    *outer, columns = shape
    return filled(*outer, 2 * columns, dtype=dtype)[..., ::2]


def every_second_by_columns(*shape: int, dtype: str = "f4") -> AnyArray:
    *outer, rows, columns = shape
    return every_second(*outer, columns, rows, dtype=dtype).swapaxes(-1, -2)


def backwards(*shape: int, dtype: str = "f4") -> AnyArray:
    return filled(*shape, dtype=dtype)[..., ::-1]


def spread(*shape: int, dtype: str = "f4") -> AnyArray:
    return np.broadcast_to(filled(*shape[:-1], 1, dtype=dtype), shape)


def whole_by_columns(*shape: int, dtype: str = "f4") -> AnyArray:
    return np.asfortranarray(filled(*shape, dtype=dtype))


IN_PLACE = (filled, whole_by_columns, part, by_columns)
OPERANDS: tuple[Callable[..., AnyArray], ...] = (*IN_PLACE, every_second, backwards, spread)
RESULTS = (*IN_PLACE, every_second)


def memory(array: AnyArray) -> AnyArray:
    """All of the memory that a view is of."""
    return array if array.base is None else memory(array.base)


def assert_written(a: AnyArray, b: AnyArray, out: AnyArray, **options: Any) -> None:
    """Multiply, and check the result and that nothing else has changed."""
    around = memory(out)
    around.fill(PATTERN)
    expected = a @ b
    assert matmul(a, b, out, **options) is out
    np.testing.assert_array_equal(out, expected)
    out[...] = PATTERN
    assert (around == PATTERN).all()


EVERYWHERE = ((1, 33, 40), (33, 1, 40), (40, 70, 33))


@covering(1, sizes=EVERYWHERE, number=range(len(RESULTS)))
def test_views_everywhere(sizes: tuple[int, int, int], number: int) -> None:
    """All pairs of two of the three views at all sizes, and all three together at one of them."""
    m, n, k = sizes
    turn = number + EVERYWHERE.index(sizes)
    for place, make_a in enumerate(OPERANDS):
        for make_b in OPERANDS[(turn - place) % len(RESULTS) :: len(RESULTS)]:
            assert_written(make_a(m, k), make_b(k, n), RESULTS[number](m, n), threads=1)


@settings(deadline=None, max_examples=cases(6))
@given(
    sizes=st.tuples(*[st.integers(1, 36)] * 3),
    makers=st.tuples(*[st.sampled_from(OPERANDS)] * 2, st.sampled_from(RESULTS)),
    dtype=st.sampled_from(["f4", "f8", "i4"]),
    threads=st.sampled_from([1, 2]),
)
def test_any_sizes(
    sizes: tuple[int, int, int],
    makers: tuple[Callable[..., AnyArray], ...],
    dtype: str,
    threads: int,
) -> None:
    m, n, k = sizes
    make_a, make_b, make_out = makers
    a, b = make_a(m, k, dtype=dtype), make_b(k, n, dtype=dtype)
    assert_written(a, b, make_out(m, n, dtype=dtype), threads=threads)


@covering(
    1,
    make_out=[filled, part, by_columns],
    make_b=[filled, part, by_columns],
    make_a=[part, by_columns, every_second],
)
def test_stacks(
    make_a: Callable[..., AnyArray],
    make_b: Callable[..., AnyArray],
    make_out: Callable[..., AnyArray],
) -> None:
    assert_written(make_a(3, 6, 9), make_b(3, 9, 20), make_out(3, 6, 20), threads=1)
    assert_written(make_a(3, 6, 9), make_b(1, 9, 20), np.empty((3, 6, 20), "f4"), threads=1)
    assert_written(make_a(6, 9), make_b(3, 9, 20), make_out(3, 6, 20), threads=1)


def test_rows_of_a_stack() -> None:
    """A stack by one matrix is one tall matrix, if its matrices follow one another."""
    whole = filled(4, 5, 30)
    assert_written(whole[:, :, 3:12], part(9, 17), np.empty((4, 5, 40), "f4")[:, :, 2:19])
    # Rows are left out between the matrices.
    np.testing.assert_array_equal(
        matmul(whole[:, :3, 3:12], part(9, 17)), whole[:, :3, 3:12] @ part(9, 17)
    )
    assert_written(whole[:, :3], filled(30, 4), np.empty((4, 5, 4), "f4")[:, :3])
    assert_written(filled(4, 40, 30)[:, :20], filled(30, 4), np.empty((4, 50, 4), "f4")[:, :20])


@pytest.mark.parametrize(
    ("sizes", "dtype", "turn"),
    [
        ((90, 7, 200), "i1", 0),
        ((130, 5, 20), "f4", 1),
    ],
)
def test_few_columns(sizes: tuple[int, int, int], dtype: str, turn: int) -> None:
    """Computed as rows of the transposed product, and written as columns: the product alone, or
    what follows it.
    """
    m, n, k = sizes
    total = matmul(filled(1, 1, dtype=dtype), filled(1, 1, dtype=dtype)).dtype
    bias = filled(n, dtype=total.str)
    for place, make_a in enumerate(IN_PLACE):
        make_b = IN_PLACE[(place + turn) % len(IN_PLACE)]
        a, b = make_a(m, k, dtype=dtype), make_b(k, n, dtype=dtype)
        expected = a.astype(total) @ b.astype(total)
        if (place + turn) % 2:
            np.testing.assert_array_equal(matmul(a, b, threads=1), expected)
            continue
        out = np.full((m, n + 4), PATTERN, total)
        matmul(a, b, out[:, 1 : 1 + n], bias=bias, activation="relu", threads=1)
        np.testing.assert_array_equal(out[:, 1 : 1 + n], np.maximum(expected + bias, 0))
        assert (np.delete(out, slice(1, 1 + n), axis=1) == PATTERN).all()


def test_few_columns_of_a_stack() -> None:
    a, b = filled(3, 90, 100), filled(3, 100, 4)
    np.testing.assert_array_equal(matmul(a, b, threads=1), a @ b)
    assert_written(a, b, np.empty((3, 90, 9), "f4")[:, :, 2:6], threads=2)
    np.testing.assert_array_equal(matmul(a[1], b, threads=1), a[1] @ b)


def test_vectors() -> None:
    matrix, vector = part(30, 40), filled(40)
    np.testing.assert_array_equal(matmul(matrix, vector), matrix @ vector)
    np.testing.assert_array_equal(matmul(vector, matrix.T), vector @ matrix.T)
    np.testing.assert_array_equal(matmul(matrix, filled(80)[::2]), matrix @ filled(80)[::2])
    assert_written(matrix, vector, np.empty((30, 7), "f4")[:, 3])
    assert_written(vector, matrix.T, np.empty((30, 7), "f4")[:, 3])


@covering(1, make_a=[part, by_columns], make_out=RESULTS)
def test_what_follows_the_product(
    make_a: Callable[..., AnyArray], make_out: Callable[..., AnyArray]
) -> None:
    a, b, out = make_a(9, 12), part(12, 21), make_out(9, 21)
    row, column = filled(21), filled(9, 1)
    old = out.copy()
    for bias in (row, column):
        out[...] = old
        matmul(a, b, out, alpha=2, beta=3, bias=bias, activation="relu")
        np.testing.assert_array_equal(out, np.maximum(2 * (a @ b) + 3 * old + bias, 0))
    out[...] = old
    matmul(a, b, out, alpha=0, beta=2, bias=row)
    np.testing.assert_array_equal(out, 2 * old + row)
    out[...] = old
    matmul(a[:, :0], b[:0], out, beta=2, bias=column)
    np.testing.assert_array_equal(out, 2 * old + column)


@pytest.mark.parametrize("sizes", [(3, 5, 7), (13, 70, 33), (64, 64, 64)])
@pytest.mark.parametrize("at_end", [False, True])
def test_between_forbidden_pages(sizes: tuple[int, int, int], at_end: bool) -> None:
    """Nothing before the first row or behind the last is touched; if it is, the process ends."""
    m, n, k = sizes
    views, memories = [], []
    for rows, columns in ((m, k), (k, n), (m, n)):
        leading = columns + 3
        memory, line = fenced(((rows - 1) * leading + columns,), np.float32, at_end=at_end)
        memories.append(memory)
        line[...] = filled(*line.shape)
        views.append(np.lib.stride_tricks.as_strided(line, (rows, columns), (4 * leading, 4)))
    a, b, out = views
    expected = a @ b
    assert matmul(a, b, out, threads=1) is out
    np.testing.assert_array_equal(out, expected)
    assert len(memories) == 3


def test_no_terms_and_no_elements() -> None:
    out = np.full((4, 9), PATTERN, "f4")
    matmul(part(4, 3)[:, :0], part(3, 5)[:0], out[:, 2:7])
    assert (out[:, 2:7] == 0).all()
    assert (np.delete(out, slice(2, 7), axis=1) == PATTERN).all()
    assert matmul(part(4, 3)[:0], part(3, 5)).shape == (0, 5)


def test_parts_of_one_matrix() -> None:
    """Operands and result side by side in one matrix; an element in common is refused."""
    whole = filled(40, 90)
    expected = whole[:, :20] @ whole[:20, 20:50]
    matmul(whole[:, :20], whole[:20, 20:50], whole[:, 50:80])
    np.testing.assert_array_equal(whole[:, 50:80], expected)
    with pytest.raises(CallError, match="arrays 'a' and 'out' overlap in memory"):
        matmul(whole[:, :20], whole[:20, 20:50], whole[:, 19:49])


def test_elements_that_share_memory_are_copied() -> None:
    windows = np.lib.stride_tricks.sliding_window_view(filled(30), 9)
    assert form_of(operand_of(windows), windows.shape).is_copy
    np.testing.assert_array_equal(matmul(windows, part(9, 4)), windows @ part(9, 4))


@pytest.mark.parametrize(
    ("make", "is_transposed", "strides"),
    [
        (part, False, (33, 1)),
        (by_columns, True, (23, 1)),
        (every_second, False, (40, 2)),
        (every_second_by_columns, True, (20, 2)),
    ],
)
def test_views_are_read_where_they_lie(
    make: Callable[..., AnyArray], is_transposed: bool, strides: tuple[int, int]
) -> None:
    view = make(10, 20)
    form = form_of(operand_of(view), view.shape)
    assert (form.is_transposed, form.is_copy, form.strides) == (is_transposed, False, strides)
    assert form.prepare is not None
    assert np.shares_memory(form.prepare(view), view)


def test_views_that_are_copied() -> None:
    for view in (backwards(10, 20), spread(10, 20), part(10, 20)[::-1]):
        assert form_of(operand_of(view), view.shape).is_copy


def test_a_column_of_a_matrix() -> None:
    column = part(10, 20)[:, :1]
    assert form_of(operand_of(column), (10, 1)).strides == (33, 1)
    assert form_of(operand_of(column), (1, 10)).strides == (330, 33)


def test_what_has_gaps_is_packed_if_it_is_read_again() -> None:
    machine = load_machine("znver4")  # it packs nothing for alignment
    gaps = Stored(strides=(400, 2))
    assert plan(Problem(Sizes(100, 100, 100), b=gaps), machine).pack_b
    assert not plan(Problem(Sizes(4, 100, 100), b=gaps), machine).pack_b
    assert not plan(Problem(Sizes(100, 100, 100)), machine).pack_b
    across = Problem(Sizes(4, 100, 100), a=gaps, b=TRANSPOSED)
    assert plan(across, machine).dot_form
    assert plan(across, machine).pack_a


@covering(
    2,
    sizes=[(40, 50, 70), (3, 40, 100), (40, 1, 90), (1, 1, 90)],
    make_b=[every_second, every_second_by_columns],
    make_a=[every_second, every_second_by_columns],
)
def test_gaps_in_both_dimensions(
    make_a: Callable[..., AnyArray], make_b: Callable[..., AnyArray], sizes: tuple[int, int, int]
) -> None:
    m, n, k = sizes
    assert_written(make_a(m, k), make_b(k, n), make_b(m, n))


def test_contiguous_operands_know_of_no_strides() -> None:
    """The call cache runs them directly, and they share a kernel."""
    a, b = operand_of(filled(8, 8)), operand_of(filled(8, 8))
    found = dispatch(a, b, 1)
    assert found.kernel is dispatch(a._replace(strides=(32, 4)), b, 1).kernel
    assert found.kernel is not None
    assert not found.kernel.signature.has_strides


@pytest.mark.parametrize(
    ("shape", "strides", "target", "expected"),
    [
        ((3, 4), (9, 1), (3, 4), (9, 1)),
        ((2, 3, 4), (30, 10, 1), (6, 4), (10, 1)),
        ((2, 3, 4), (31, 10, 1), (6, 4), None),
        ((2, 1, 4), (31, 0, 1), (1, 2, 1, 4), (62, 31, 4, 1)),
        ((4,), (3,), (4, 1), (3, 1)),
        ((6, 4), (10, 1), (2, 3, 4), None),
        ((), (), (1, 1), (1, 1)),
    ],
)
def test_joined_dimensions(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    target: tuple[int, ...],
    expected: tuple[int, ...] | None,
) -> None:
    assert joined(list(strides), shape, target) == expected


def test_kernels_with_strides() -> None:
    kernel = matmul_kernel(
        5,
        20,
        7,
        batch=(Stack(2),),
        a=Stored(is_transposed=True, strides=(70, 9, 1)),
        b=Stored(strides=(300, 25, 1)),
        strides_out=(200, 24, 1),
    )
    assert scheduled(kernel, Config()).check().is_legal
    with pytest.raises(KernelError, match="two elements may share memory, as the stride of dimens"):
        matmul_kernel(5, 20, 7, a=Stored(strides=(6, 1)))


def test_rows_that_meet_in_a_cache_are_packed() -> None:
    """By the distance between rows, not by their length."""
    machine = load_machine("sapphirerapids")
    sizes = Sizes(1000, 1000, 1000)
    plain = Problem(sizes, a=TRANSPOSED)
    apart = Problem(sizes, a=Stored(is_transposed=True, strides=(4096, 1)))
    assert not plan(plain, machine).pack_a
    assert plan(apart, machine).pack_a
    assert plan(Problem(Sizes(1024, 1000, 1000), a=TRANSPOSED), machine).pack_a
    padded = Problem(Sizes(1024, 1000, 1000), a=Stored(is_transposed=True, strides=(1040, 1)))
    assert not plan(padded, machine).pack_a
