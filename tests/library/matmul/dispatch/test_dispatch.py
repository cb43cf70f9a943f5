import numpy as np
import pytest

import polysched as ps
from polysched.ir.expr.dtypes import f32
from polysched.library.matmul.dispatch.dispatch import (
    Task,
    cached_dispatch,
    dispatch,
    matmul_target,
    operand_key,
)
from polysched.library.matmul.dispatch.shapes import product_of
from polysched.library.matmul.dispatch.views import operand_of
from polysched.library.matmul.kernel.epilogue import PLAIN, Epilogue, Factor
from polysched.library.matmul.kernel.operands import ComputedOperand, Stored
from polysched.runtime.call_cache import CallCache


def task_of(a: np.ndarray, b: np.ndarray) -> Task:
    return Task(operand_of(a), operand_of(b), f32, product_of(a.shape, b.shape), PLAIN)


def some(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def test_a_task_that_is_turned_reads_the_same_memory() -> None:
    task = task_of(some(7, 30)[:, :5], some(9, 5).T)
    assert task.problem.a == Stored(strides=(30, 1))
    assert task.problem.b == Stored(is_transposed=True)
    assert task.transposed.problem.a == Stored()
    assert task.transposed.problem.b == Stored(is_transposed=True, strides=(30, 1))
    assert task.transposed.shape == task.shape[::-1]
    assert task.transposed.transposed == task


def test_a_single_column_is_a_row_when_it_is_turned() -> None:
    task = task_of(some(7, 5), some(5))
    assert task.transposed.problem.a == Stored()


@pytest.mark.parametrize(
    "b", [some(9), some(9, 1), some(9, 3)[:, 1]], ids=["flat", "column", "gaps"]
)
def test_a_vector_lies_along_the_sums(b: np.ndarray) -> None:
    task = task_of(some(9), b)
    assert task.problem.b.is_transposed
    assert dispatch(task.a, task.b, 1).direct_call is not None


def test_a_computed_operand_is_made() -> None:
    weights = ps.computed(lambda code: ps.cast(code, "f32"), np.ones((9, 5), np.int8))
    a = operand_of(some(7, 5))
    task = Task(a, weights.T.operand, f32, product_of((7, 5), (5, 9)), PLAIN)
    assert isinstance(task.problem.b, ComputedOperand)
    assert task.problem.b.is_transposed
    assert task.problem == task.transposed.transposed.problem  # a plan is found again by it
    assert not task.transposed.problem.a.is_transposed


@pytest.mark.parametrize(
    ("a", "b", "is_swapped"),
    [
        (some(7, 5), some(5), True),
        (some(5), some(5, 7), False),
        (some(1000, 124), some(124, 2), True),
        (some(7, 5), some(5, 9), False),
    ],
    ids=["by a vector", "of a vector", "few columns", "square"],
)
def test_what_is_turned(a: np.ndarray, b: np.ndarray, is_swapped: bool) -> None:
    found = dispatch(operand_of(a), operand_of(b), 1)
    assert found.is_swapped is is_swapped
    assert found.direct_call is not None
    assert found.direct_call.sources == ((1, 0, 2) if is_swapped else (0, 1, 2))
    out = np.empty(found.shape, found.dtype)
    found.run(a, b, out)
    np.testing.assert_array_equal(out, a @ b)


def test_calls_that_prepare_arguments_have_no_target() -> None:
    a, b = operand_of(some(7, 5)[:, ::-1]), operand_of(some(5, 9))
    assert dispatch(a, b, 1).direct_call is None
    a = operand_of(some(7, 5))
    assert dispatch(a, b, 1, Epilogue(alpha=Factor.ZERO)).direct_call is None
    assert dispatch(a, b, 1, bias=(1, 1)).direct_call is None  # one number for all of a row
    found = dispatch(a, b, 1, bias=(7, 1)).direct_call
    assert found is not None
    assert found.sources == (0, 1, 2, 3)


def test_a_call_and_those_who_ask_for_its_target_share_an_entry() -> None:
    a, b = np.ones((9, 13), "f4"), np.ones((13, 11), "f4")
    ps.matmul(a, b)
    before = cached_dispatch.cache_info().misses
    entry = cached_dispatch(operand_key(a), operand_key(b), None, PLAIN, None, None, None, ())
    assert matmul_target(a, b, None) is entry.direct_call is not None
    assert cached_dispatch.cache_info().misses == before


def test_an_entry_depends_on_types_shapes_strides_and_alignment() -> None:
    a = np.ones((6, 6), "f4")
    misaligned = np.zeros(4 * a.size + 1, np.uint8)[1:].view("f4").reshape(a.shape)
    others = (
        a.astype("f8"),
        np.ones((6, 7), "f4"),
        a.T,
        np.ones((6, 12), "f4")[:, ::2],
        misaligned,
    )
    assert operand_key(a) == operand_key(a + 1)
    assert len({operand_key(array) for array in (a, *others)}) == 1 + len(others)


def test_a_call_cache_of_another_function() -> None:
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-4, 5, shape).astype("f4") for shape in ((5, 7), (7, 6)))
    target = matmul_target(a, b, None)
    assert target is not None
    cache = CallCache(8)
    cache.add("product", (a, b, None), target)
    np.testing.assert_array_equal(cache.run("product", a, b, None), a @ b)


def test_what_takes_more() -> None:
    a = np.ones((5, 5), "f4")
    for left, right in ((np.flip(a), a), (a, np.broadcast_to(a[:1], (5, 5))), (a[:0], a)):
        np.testing.assert_array_equal(ps.matmul(left, right), left @ right)
        assert matmul_target(left, right, None) is None
