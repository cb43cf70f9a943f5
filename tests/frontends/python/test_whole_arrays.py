"""Masks, ``out=``, array literals and numpy's functions by name, compared with Python."""

import math

import numpy as np
import pytest

import polysched as ps
from polysched.errors import FrontendError
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")

X = np.arange(1.0, 6.0)
Y = X[::-1].copy()
CUBE = np.arange(24.0).reshape(2, 3, 4)


def operators(x, y):
    return (
        np.add(x, y) * np.subtract(x, 2)
        + np.divide(x, y)
        - np.power(x, 2)
        + np.floor_divide(x, y)
        + np.mod(x, y)
    )


def of_numbers(n):
    return np.add(n, 3), np.multiply(n, 2.5), np.less(n, 3)


def comparisons(x):
    return np.greater(x, 2), np.logical_and(x > 1, x < 4), np.logical_not(x > 1), np.less(x, 3)


def logic(x):
    return np.logical_or(x, x > 3), np.logical_xor(x, x - 1), np.greater_equal(x, 2)


def copies(x):
    return np.array(x), np.asarray(x) + 1


def same_mask(x, y):
    m = (x > 2) & (y < 4)
    x[m] = -y[m] * 2 + x[m] + 1
    y[y > 3] -= 1


def masked_numbers(x):
    x[x > 2.0] = np.float32(7)
    x[~(x < 1)] *= 3


def literals(x):
    w = np.array([1, 2, 3])
    v = np.array([[1.5, x[0]], [2, 3]], dtype=np.float32)
    return w, v, np.array((True, False)), np.asarray([[1], [2.5]])


def literal_of_sizes(n):
    return np.array([n, 2 * n])


def weighted(x):
    w = np.array([0.25, 0.5, 0.25])
    out = np.zeros_like(x)
    for i in range(1, len(x) - 1):
        for k in range(3):
            out[i] += w[k] * x[i + k - 1]
    return out


def into(x, y, out):
    r = np.add(x, y, out=out)
    np.maximum(out, 3, out=out)
    np.sqrt(y, y)
    return r.sum()


def reduced_into(a, b, sums, product):
    np.sum(a, axis=1, out=sums)
    np.dot(a, b, out=product)


def permuted(x):
    return x.transpose(1, 2, 0) + 0, x.transpose((2, 0, 1)) * 2, np.transpose(x, [0, 2, 1]) + 1


def roots(x, half):
    half **= 0.5
    return np.arctan2(x**0.5, -1), (x + 1) ** 0.5, np.clip(half, 0, 1)


def rounded_integers(k):
    out = np.zeros(len(k))
    for i in range(len(k)):
        out[i] = 100 * round(k[i]) + 1000 * math.floor(k[i])
    return out


def several_targets(x):
    a = b = x.sum()
    c = d = x * 2
    c[0] = 100
    a += 1
    return a, b, d + 0


CASES = [
    (operators, X, Y), (of_numbers, 5), (comparisons, X), (logic, X), (copies, X),
    (same_mask, X, Y), (masked_numbers, X), (literals, X), (literal_of_sizes, 4), (weighted, X),
    (into, X, Y, 0 * X), (reduced_into, CUBE[0], CUBE[1].T.copy(), np.zeros(3), np.zeros((3, 3))),
    (permuted, CUBE), (several_targets, X), (roots, -0.0 * X, X.astype(np.float16)),
    (rounded_integers, X.astype(np.int8)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arguments"), [(one, rest) for one, *rest in CASES])
def test_results_as_in_python(function, arguments) -> None:
    require_same_results(ps.jit(function), function, *arguments)


def selected(x):
    return x[x > 2] * 2


def other_mask(x, y):
    x[x > 2] = y[y > 2]


def mask_and_whole(x, y):
    x[0] = np.sum(x[x > 2] * y)


def mask_of_another_shape(x, y):
    x[y[1:] > 2] = 0


def narrower(x, out):
    np.add(x, 1, out=out)


def out_in_an_expression(x, out):
    x[:] = 2 * np.add(x, 1, out=out)


def ragged(x):
    w = np.array([[1, 2], [3]])
    return w * x[0]


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (selected, (X,), "how many elements this mask selects"),
        (other_mask, (X, Y), "how many elements this mask selects"),
        (mask_and_whole, (X, Y), "how many elements this mask selects"),
        (mask_of_another_shape, (X, Y), "a mask of shape"),
        (narrower, (X, np.zeros(5, np.int64)), "the result is f64, and out= is an array of i64"),
        (out_in_an_expression, (X, Y), "with out= in a statement of its own"),
        (ragged, (X,), "a list of lists of the same length"),
    ],
)
def test_what_is_refused(function, arguments, message) -> None:
    with pytest.raises(FrontendError, match=message) as raised:
        ps.jit(function)(*arguments)
    assert "^" in str(raised.value)


@ps.jit
def shapes(x):
    first = np.zeros(x.shape[:2])
    second = np.ones((3,) + x.shape[1:])  # noqa: RUF005
    third = np.zeros(len(x) + 2)
    return first, second, third, np.dot(x, np.array([0.5, 0.25, 0.125]))


@ps.jit
def ufunc_methods(x, y):
    return (
        np.minimum.reduce(x, axis=1),
        np.maximum.reduce(x),
        np.subtract.outer(x[0], y),
        np.add.outer(x, y),
    )


@ps.jit
def selected_elements(x, top):
    m = x > top
    return np.sum(x[m]), x[m].mean(), np.count_nonzero(m), np.arange(9, -3, -2)


@ps.jit
def computed_of_selected(x, y, top):
    m = y > top
    count = len(x[m])
    mean = np.mean(x[m]) if len(x) else x.max()
    spread = ((x[m] - mean) ** 2).sum() + np.sum(1 / x[x > 0] * y[x > 0])
    return count, spread, np.prod(x[m]), np.any(x[m] > 6), (x[m] < y[m]).all(), np.max(-x[m])


@ps.jit
def halves(x):
    return (x[0::2][: len(x) // 2] + x[1::2]) / 2


def rounded(x):
    out = np.empty(len(x), np.int64)
    for i in range(len(x)):
        out[i] = round(x[i])
    return out


def test_shapes_in_parts_and_products_with_vectors() -> None:
    require_same_results(shapes, shapes.python, np.arange(60.0).reshape(4, 5, 3))


def test_methods_of_ufuncs() -> None:
    x = np.arange(20.0).reshape(4, 5) % 7
    require_same_results(ufunc_methods, ufunc_methods.python, x, np.arange(3.0))


def test_reductions_of_the_elements_that_a_mask_selects() -> None:
    require_same_results(selected_elements, selected_elements.python, np.arange(8.0), 2.5)
    x, y = np.array([0.0, 0.5, 2.0, 4.0]), np.array([8.0, 1.0, 2.0, 4.0])
    for top in (0.0, 1.5, 6.0):
        require_same_results(computed_of_selected, computed_of_selected.python, x, y, top)


@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_a_function_of_which_nothing_is_left_for_small_arrays(n) -> None:
    require_same_results(halves, halves.python, np.arange(float(n)))


def test_round_goes_to_even() -> None:
    require_same_results(ps.jit(rounded), rounded, np.array([0.5, 1.5, -2.5, 2.6, -0.2]))


def names_of_types(x):
    return x.astype("i8") * 3_000_000_000, np.zeros(3, "u1") + x.astype("u2"), np.sum(x, dtype="i4")


def test_names_of_types_in_numpy_s_calls_are_numpy_s() -> None:
    # Short names count bytes there, and bits in annotations.
    require_same_results(ps.jit(names_of_types), names_of_types, np.arange(3, dtype=np.int32) + 300)
