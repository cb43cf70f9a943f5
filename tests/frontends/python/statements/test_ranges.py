"""The loops of a ``for``: their bounds, and which names these may use."""

import itertools

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.python.decorator import read_kernel

# ruff: noqa: B020, F821


def test_one_loop_of_each_kind() -> None:
    def function(x: "f32[20, 20]"):
        for i in range(3):
            x[i, 0] = 0
        for i in range(2, 9):
            x[i, 0] = 0
        for i in range(9, 2, -3):
            x[i, 0] = 0
        for i, j in np.ndindex(3, 4):
            x[i, j] = 0
        for i, j in itertools.product(range(1, 3), range(8, 2, -2)):
            x[i, j] = 0

    domains = [one.domain for one in read_kernel(function).statements.values()]
    assert [one.count_val().to_python() for one in domains] == [3, 7, 3, 12, 6]


def test_literal_integers_at_equal_distances() -> None:
    def function(x: "f32[20, 20]"):
        for i in (-1, 0, 1):
            x[i + 1, 0] = 0
        for i in [9, 6, 3]:
            x[i, 1] = 0
        for i in (5,):
            x[i, 2] = 0

    domains = [one.domain for one in read_kernel(function).statements.values()]
    assert [one.count_val().to_python() for one in domains] == [3, 3, 1]


def test_other_literals_are_no_range() -> None:
    def unknown(x: "f32[20]"):
        for i in (1, len(x)):
            x[i] = 0

    def empty(x: "f32[20]"):
        for i in ():
            x[i] = 0

    for function in (unknown, empty):
        with pytest.raises(FrontendError, match="literal integers at equal distances"):
            read_kernel(function)


def test_bounds_of_several_indices_are_those_before_the_first_loop() -> None:
    def function(x: "f32[20, 20]"):
        for i, j in itertools.product(range(3), range(i)):
            x[i, j] = 0

    with pytest.raises(FrontendError, match="'i' is not defined here"):
        read_kernel(function)
