"""Python integers fit 64 bits, or limit the sizes of calls, or are refused."""

from collections.abc import Callable

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError, FrontendError
from polysched.frontends.python.decorator import read_kernel

# ruff: noqa: F821


def products(x: "f64[n]"):
    n = len(x)
    for i in range(n):
        x[i] = i * n + i


def parameters(x: "i64[n]", s: int):
    for i in range(len(x)):
        x[i] = (s * 3 + i) % 1000


def squares(x: "i64[n]"):
    n = len(x)
    for i in range(n):
        x[i] = i * n * n * n * n


def promised(x: "i64[n]"):
    n = len(x)
    assert n <= 4000
    for i in range(n):
        x[i] = i * n * n * n * n


def counted(x: "f64[n, m]", y: "i64[1]"):
    count = 0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 0:
                count += 2
    y[0] = count


def remainders(y: "i64[n]"):
    k = 1
    for i in range(len(y)):
        k = (k * 1103515245 + 12345) % 2**31
        y[i] = k


def hashes(x: "i64[n]"):
    h = 0
    for i in range(len(x)):
        h = (h * 31 + int(x[i]) % 256) & 0xFFFFFFFF
        x[i] = h


def summed(x: "i32[n]", y: "i64[1]"):
    total = 0
    for i in range(len(x)):
        total += int(x[i]) * 2**30
    y[0] = total


def large_on_the_way(x: "i64[n]"):
    for i in range(len(x)):
        x[i] = i * 10**12 * 10**6 % 7


def fibonacci(y: "i64[n]"):
    a = 0
    b = 1
    for i in range(len(y)):
        y[i] = a
        t = a + b
        a = b
        b = t


def longest_run(x: "i64[n]", y: "i64[1]"):
    best = run = 0
    for i in range(len(x)):
        run = run + 1 if x[i] > 0 else 0
        best = max(best, run)
    y[0] = best


def doubling_runs(x: "i64[n]", y: "i64[1]"):
    run = 1
    for i in range(len(x)):
        run = run + run if x[i] > 0 else 1
    y[0] = run


def exact_quotients(y: "f64[n]", k: "u8[n]", s: int):
    for i in range(len(y)):
        y[i] = int(k[i]) / 3 + s / 7 + (s > 0.5)


def test_index_arithmetic_is_for_all_sizes_that_fit() -> None:
    assert str(read_kernel(products).context) == "[n] -> {  : 0 <= n <= 3037000499 }"
    assert str(read_kernel(counted).context) == "[n, m] -> {  : n >= 0 and m >= 0 }"
    assert str(read_kernel(longest_run).context) == "[n] -> {  : n >= 0 }"
    assert str(read_kernel(promised).context) == "[n] -> {  : 0 <= n <= 4000 }"


def test_a_call_that_would_leave_64_bits_is_refused() -> None:
    run = ps.Schedule(read_kernel(parameters)).compile()
    x = np.zeros(4, np.int64)
    run(x, s=3)
    np.testing.assert_array_equal(x, [9, 10, 11, 12])
    with pytest.raises(CallError, match="requires s <= "):
        run(x, s=2**62)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (squares, "this Python integer may need 76 bits.* write 'assert n <= ...' for smaller"),
        (fibonacci, "this Python integer may need 65 bits"),
        (doubling_runs, "this Python integer may need 65 bits"),
        (summed, "this Python integer may need 65 bits"),
        (large_on_the_way, "this Python integer may need 76 bits"),
    ],
)
def test_what_no_call_could_compute(function: Callable[..., None], message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        read_kernel(function)


@pytest.mark.parametrize("function", [remainders, hashes])
def test_remainders_bound_what_grows(function: Callable[..., None]) -> None:
    expected, found = np.arange(5), np.arange(5)
    function(expected)
    ps.Schedule(read_kernel(function)).compile()(found)
    np.testing.assert_array_equal(found, expected)


def test_quotients_are_exact_or_refused() -> None:
    context = read_kernel(exact_quotients).context
    assert "-9007199254740992 <= s <= 9007199254740992" in str(context)
