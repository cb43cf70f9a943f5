"""Arrays as subscripts make copies, as in numpy."""

import numpy as np
import pytest

import polysched as ps
from polysched.errors import PolyschedError
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")


def gathered_then_changed(x, idx):
    y = x[idx]
    y[0] = 100
    return y, x.sum()


def changed_after_gathering(x, idx):
    y = x[idx]
    x[:] = 0
    return y.sum()


def returned_gather(x, idx):
    return x[idx], np.take(x, idx)


def scattered(x, idx):
    x[idx] = 3.0
    x[idx] += 1.0


@pytest.mark.parametrize(
    "function", [gathered_then_changed, changed_after_gathering, returned_gather, scattered]
)
def test_a_gather_is_a_copy(function) -> None:
    require_same_results(ps.jit(function), function, np.arange(8.0), np.array([1, 2, 7]))


def taken(a, rows, columns):
    return np.take(a, rows, axis=0), np.take(a, columns, axis=1)


def test_take_along_an_axis() -> None:
    a = np.arange(12.0).reshape(4, 3)
    require_same_results(ps.jit(taken), taken, a, np.array([2, 0]), np.array([1]))


def rolled(a):
    return np.roll(a, (1, -1), axis=(0, 1)), np.roll(a, 1, axis=(0, 1))


def test_roll_along_several_axes() -> None:
    require_same_results(ps.jit(rolled), rolled, np.arange(12.0).reshape(4, 3))


def counted_truths(x):
    count = 0
    for i in range(len(x)):
        if x[i] and not x[i] - 1:
            count += 1
    return count


def test_a_float_is_a_condition() -> None:
    given = np.array([0.0, -0.0, 1.0, np.nan, 1.0])
    require_same_results(ps.jit(counted_truths), counted_truths, given)


def lengths(x):
    return len(x[1:4]), x[-3:].size, np.zeros(len(x[5::-1])), np.ones_like(x[1 : len(x) + 1])


@pytest.mark.parametrize("n", [7, 3, 0])
def test_slices_of_which_only_the_length_is_used_end_with_the_array(n: int) -> None:
    require_same_results(ps.jit(lengths), lengths, np.arange(float(n)))


def test_a_slice_of_an_index_that_ends_outside_is_an_error() -> None:
    @ps.jit
    def windows(x):
        count = 0
        for i in range(len(x)):
            count += len(x[i : i + 3])
        return count

    with pytest.raises(PolyschedError, match="requires|ends outside"):
        windows(np.zeros(5))
