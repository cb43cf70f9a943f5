"""Functions that are inlined see their own variables and globals, not those of the caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched as ps
from tests.frontends.python.same_results import require_same_results

weight = 100.0
count = 3


def weighted(a):
    return a * weight


def largest(a):
    return max(a[0], weight) + abs(a)


def nested(a):
    scale = 2.0

    def scaled(v):
        return v * scale + weight

    return scaled(a)


def global_and_argument(a, weight):
    return weighted(a) + weight


def global_and_variable(a, count):
    weight = 2.0
    for _ in range(count):
        weight += 1
    return weighted(a) + weight


def builtin_and_argument(a, max):
    return largest(a) * max


def variables_of_two_functions(a, scale, weight):
    return nested(a) + scale + weight


def closure(a, weight):
    def inner(v):
        return v * weight

    return inner(a) + weighted(a)


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (global_and_argument, (2.0,)),
        (global_and_argument, (np.ones(3),)),
        (global_and_variable, (2,)),
        (builtin_and_argument, (2.0,)),
        (variables_of_two_functions, (3.0, 1.0)),
        (closure, (2.0,)),
    ],
)
def test_a_caller_with_variables_of_these_names(
    function: Callable[..., Any], given: tuple[Any, ...]
) -> None:
    require_same_results(ps.jit(function), function, np.arange(3.0), *given)
