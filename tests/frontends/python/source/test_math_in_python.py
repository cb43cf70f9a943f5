"""Functions of math and numpy that are written in terms of others."""

import math

import numpy as np
import pytest

import polysched as ps
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")

X = np.concatenate(
    [
        np.linspace(-7, 7, 1001),
        [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-300, 1e-10, -1e-20, 0.84375, 1.25, 6.0],
    ]
)


def error_function(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = math.erf(x[i])
    return out


def test_the_error_function_is_right_to_the_last_place() -> None:
    expected = error_function(X)
    found = ps.jit(error_function)(X)
    np.testing.assert_allclose(found, expected, rtol=4e-16, atol=0)
    np.testing.assert_array_equal(np.signbit(found[:-1]), np.signbit(expected[:-1]))


def logarithms(x):
    return np.log1p(x), np.expm1(x), np.logaddexp(x, x + 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logarithms_near_1(dtype: type) -> None:
    given = X[X > -0.99].astype(dtype)
    with np.errstate(all="ignore"):
        expected = logarithms(given)
    for found, wanted in zip(ps.jit(logarithms)(given), expected, strict=True):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=4 * np.finfo(dtype).eps, atol=0)


def of_numbers(x):
    return np.isfinite(x), np.isinf(x), np.isclose(x, x * (1 + 1e-6)), np.allclose(x, x + 1e-9)


def test_finite_and_close_numbers() -> None:
    with np.errstate(all="ignore"):
        require_same_results(ps.jit(of_numbers), of_numbers, X)


def scalars(n, m, x):
    quotient, rest = divmod(n, m)
    above, below = divmod(x, 2.0)
    powers = n**3 + m**0 - n**1
    rounded = math.floor(x) + 10 * math.ceil(x) + 100 * math.trunc(x)
    return quotient, rest, above, below, powers, rounded, math.isnan(x), math.isfinite(x)


@pytest.mark.parametrize(("n", "m", "x"), [(7, 3, 2.5), (-7, 3, -2.5), (7, -3, 2.0)])
def test_functions_of_python_numbers(n: int, m: int, x: float) -> None:
    require_same_results(ps.jit(scalars), scalars, n, m, x)


def statistics(a):
    b = a.copy()
    np.fill_diagonal(b, 7.0)
    np.copyto(a, b)
    return np.gradient(a[0]), np.nansum(b), np.nansum(b, axis=0), np.cross(a, b)


def test_functions_of_arrays() -> None:
    a = np.arange(9.0).reshape(3, 3)
    a[0, 1] = np.nan
    require_same_results(ps.jit(statistics), statistics, a)


def correlations(a):
    return np.cov(a), np.corrcoef(a), np.cov(a, rowvar=False)


def test_covariances() -> None:
    a = np.random.default_rng(0).random((4, 9))
    for found, expected in zip(ps.jit(correlations)(a), correlations(a), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def of_integers(a, b):
    return np.isclose(a, b), np.logaddexp(np.int32(a), np.int32(b))


def test_differences_of_integers_do_not_wrap_around() -> None:
    a, b = np.array([0, -128, 127, 5], np.int8), np.array([-128, 0, -128, 5], np.int8)
    require_same_results(ps.jit(of_integers), of_integers, a, b)


def powers(a):
    return a**0, a**1, a**3, a**5


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
def test_powers_of_integers_wrap_around_as_in_numpy(dtype: type) -> None:
    require_same_results(ps.jit(powers), powers, np.arange(12).astype(dtype))


def stacks(a, b):
    return a @ b, a[0] @ b, a @ b[1], np.matmul(a, b).sum(axis=(1, 2)), a @ b[0, :, 0]


def test_products_of_stacks_of_matrices() -> None:
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(40.0).reshape(2, 4, 5)
    require_same_results(ps.jit(stacks), stacks, a, b)


def changed(count, mean, x):
    count += 1
    mean += (x - mean) / count
    return count, mean


def running_mean(xs):
    count, mean = 0, 0.0
    for x in xs:
        count, mean = changed(count, mean, x)
    return count, mean


def test_a_count_that_a_function_returns_fits_64_bits() -> None:
    require_same_results(ps.jit(running_mean), running_mean, np.arange(9.0))


def means(x):
    return np.nanmean(x), x[x > 3].mean(), np.linspace(x[0], x[2], 4)


def of_narrow_integers(x):
    return np.gradient(x), np.linalg.norm(x), np.average(x, weights=x), x.dtype == np.float32


@pytest.mark.parametrize(
    ("function", "dtype"),
    [(means, np.float32), (of_narrow_integers, np.uint8), (of_narrow_integers, np.int8)],
)
def test_types_in_which_numpy_computes(function, dtype: type) -> None:
    require_same_results(ps.jit(function), function, np.array([100, 60, 4, 120], dtype))
