"""Expressions of Python, one kind at a time: what they compute."""

import math

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.python.decorator import read_kernel

# ruff: noqa: F821

RATE = 0.5
COUNT = 3


def values(function: object) -> list[str]:
    """What the statements of a function's kernel store."""
    return [str(one.value) for one in read_kernel(function).statements.values()]  # type: ignore[arg-type]


def test_arithmetic() -> None:
    def function(x: "f32[n]", k: "i32[n]"):
        x[0] = -x[1] + RATE * x[2] / 4 - +x[3]
        x[0] = x[1] ** 2
        x[0] = x[1] ** 0.5
        k[0] = k[1] // 2 % COUNT
        x[0] = math.pi

    assert values(function) == [
        "(((-x[1]) + ((0.5 * x[2]) / 4.0)) - x[3])",
        "(x[1] * x[1])",
        "pow(x[1], 0.5)",
        "((k[1] // 2) % 3)",
        str(math.pi),
    ]


def test_bits() -> None:
    def function(k: "i32[n]", x: "f32[n]"):
        k[0] = k[1] & 3 | ~k[2] ^ k[3] << 2 >> k[4]
        k[0] ^= 1 << 4
        for i in range(9):
            if i & 1 and (k[5] > 0) & (k[6] < 1):
                x[i & 3] = x[i >> 1]

    assert values(function) == [
        "((k[1] & 3) | (~(k[2]) ^ ((k[3] << 2) >> k[4])))",
        "(k[0] ^ 16)",
        "select(((0 < k[5]) and (k[6] < 1)), x[(i // 2)], x[(i % 4)])",  # for odd i
    ]


def test_squares_and_what_is_no_number() -> None:
    def function(x: "f32[n]"):
        x[0] = np.square(x[1]) + pow(x[2], 2) + pow(x[3], 3)
        x[0] = 0 if np.isnan(x[1]) else x[1]

    assert values(function) == [
        "(((x[1] * x[1]) + (x[2] * x[2])) + pow(x[3], 3.0))",
        "select((x[1] != x[1]), 0.0, x[1])",
    ]


def test_bits_of_conditions_and_of_floats_are_refused() -> None:
    def complement(x: "f32[n]", k: int):
        if ~(k > 1):
            x[0] = 0

    def floats(x: "f32[n]"):
        x[0] = x[1] & 1

    with pytest.raises(FrontendError, match="'~' of a condition"):
        read_kernel(complement)
    with pytest.raises(
        FrontendError, match="numpy does not define 'bitwise_and' for f32 and Python int"
    ):
        read_kernel(floats)


def test_conditions() -> None:
    def function(x: "f32[n]"):
        x[0] = 1 if 0 < x[1] <= 2 or not x[2] > 3 else x[4]
        x[0] = 1 if True and x[1] != 0 else 2

    assert values(function) == [
        "select((((0.0 < x[1]) and (x[1] <= 2.0)) or not((3.0 < x[2]))), 1.0, x[4])",
        "f32(f64(select((x[1] != 0.0), 1, 2)))",
    ]


def test_shapes_and_places_from_the_end() -> None:
    def function(x: "f32[n, m]"):
        x[-1, x.shape[1] - 1] = x.shape[-2] + len(x)

    statement = read_kernel(function).statements["x"]
    assert str(statement.target) == "x[(n - 1), (m - 1)]"
    assert str(statement.value) == "f32(f64((n + n)))"


def test_a_number_that_has_no_one_meaning() -> None:
    def function(x: "f32[n]"):
        for j in range(3):
            for i in range(x.shape[0]):
                x[i] = 0
            x[j] = i

    with pytest.raises(FrontendError, match="'i' is read outside of a loop that gives it a value"):
        read_kernel(function)
