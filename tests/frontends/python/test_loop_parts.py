"""Functions with a ``while`` loop that ends by computed values."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import FrontendError

Function = Callable[..., Any]


def converge(u, tolerance):
    v = u.copy()
    error, steps = 1.0, 0
    while error > tolerance and steps < 50:
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        error = np.max(np.abs(v - u))
        u, v = v, u
        steps += 1
    return u, steps


def repeat(x, limit):
    total = 0.0
    while True:
        x *= 0.5
        change = x.sum()
        total += change
        if change < limit:
            break
    return total


def halve(u, *, gain=0.5, least=0.2):
    def scaled(value, factor=2.0):
        return value / factor

    part = u[:4]
    while part[0] > least:
        for i in range(len(part)):
            part[i] = scaled(part[i]) + gain * part[i] * 0.5
    while u[-1] > least:
        u -= 0.1
    return part


def sort(x):
    changed = True
    while changed:
        changed = False
        for i in range(len(x) - 1):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
                changed = True
    return x


def search(a, key):
    low, high = 0, len(a) - 1
    while low < high:
        middle = (low + high) // 2
        if a[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


def common_divisor(a, b):
    while b != 0:
        a, b = b, a % b
    return a


def doubling(x, k):
    total = 0.0
    while k < len(x):
        total += x[k]
        k += k  # not a step of the first k
    return total, k


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (converge, (np.linspace(0.0, 1.0, 9) ** 2, 1e-3)),
        (converge, (np.linspace(0.0, 1.0, 9) ** 2, 2.0)),
        (repeat, (np.arange(6.0), 1e-2)),
        (halve, (np.linspace(1.0, 2.0, 6),)),
        (sort, (np.array([3.0, 1.0, 2.0]),)),
        (search, (np.arange(40), 23)),
        (common_divisor, (84, 36)),
        (common_divisor, (7, 0)),
        (doubling, (np.arange(9.0), 1)),
        (doubling, (np.arange(9.0), 20)),
    ],
)
def test_results_and_arguments_are_pythons(function: Function, arguments: tuple[Any, ...]) -> None:
    compiled = ps.jit(function)
    for _ in range(2):
        expected_given, given = copy.deepcopy(arguments), copy.deepcopy(arguments)
        expected, found = function(*expected_given), compiled(*given)
        pairs = zip((*_results(expected), *expected_given), (*_results(found), *given), strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(one, other, rtol=1e-12)
    assert function.__name__ in compiled.report()


def _results(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def test_a_returned_name_is_the_argument_that_it_stands_for() -> None:
    def swap(a, b):
        while a[0] > 0:
            a[0] -= 1
            a, b = b, a
        return a

    a, b = np.array([1.0]), np.array([3.0])
    assert ps.jit(swap)(a, b) is a
    assert (a[0], b[0]) == (0.0, 2.0)


def test_what_cannot_be_cut_is_refused_at_the_condition() -> None:
    def inside(x):
        for i in range(len(x)):
            while x[i] > 0.1:
                x[i] *= 0.5

    def late(x):
        while x[0] > 0.1:
            last = x[0]
            x *= 0.5
        return last

    def with_default(x):
        k = 1.0

        def scaled(v, k=k):
            return v * k

        while x[0] > 0.1:
            k = 0.5
            x[0] = scaled(x[0]) - k

    cases = ((inside, "x[i] > 0.1"), (late, "x[0] > 0.1"), (with_default, "x[0] > 0.1"))
    for function, condition in cases:
        with pytest.raises(FrontendError, match="expected a loop that counts") as refused:
            ps.jit(function)(np.ones(3))
        line, carets = str(refused.value).splitlines()[1:3]
        at = line.index(condition)
        assert carets.strip() == "^" * len(condition)
        assert carets.index("^") == at
