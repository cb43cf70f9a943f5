"""Numbers that branches over data give values, and what a kernel has to choose as Python does."""

import numpy as np
import pytest

import polysched as ps
from polysched.errors import FrontendError

# ruff: noqa: F821
condition = False


def compiled(function: object) -> ps.CompiledKernel:
    return ps.Schedule(ps.kernel(function)).compile()  # type: ignore[arg-type]


def test_a_number_of_one_way_through_a_branch_is_not_read_outside() -> None:
    def function(x: "f64[n]", y: "f64[n]"):
        for i in range(len(x)):
            if x[i] > 0:
                t = x[i]
            y[i] = t

    with pytest.raises(FrontendError, match="'t' is read where a branch"):
        ps.kernel(function)


def test_nor_on_the_other_way() -> None:
    def function(x: "f64[n]", y: "f64[n]"):
        for i in range(len(x)):
            if x[i] > 0:
                t = x[i]
            else:
                y[i] = t

    with pytest.raises(FrontendError, match="'t' is read where a branch"):
        ps.kernel(function)


def test_a_number_of_both_ways_is() -> None:
    def function(x: "f64[n]", y: "f64[n]"):
        for i in range(len(x)):
            if x[i] > 1:
                t = x[i]
            elif x[i] > 0:
                t = 7.0
            else:
                t = -x[i]
            y[i] = t

    x, y = np.array([0.5, 2.0, -3.0]), np.zeros(3)
    compiled(function)(x, y)
    np.testing.assert_array_equal(y, [7.0, 2.0, 3.0])


def test_a_kept_condition_takes_no_name() -> None:
    def function(x: "f64[n]", y: "f64[n]"):
        for i in range(len(x)):
            if x[i] > 0:
                x[i] = -1.0
                y[i] = 1.0
            y[i] = 5.0 if condition else y[i]

    x, y = np.array([1.0, -1.0, 2.0]), np.zeros(3)
    compiled(function)(x, y)
    np.testing.assert_array_equal(y, [1.0, 0.0, 1.0])


def test_a_filled_array_has_the_type_of_its_value() -> None:
    def function(x: "i64[n]"):
        t = np.full(len(x), 7)
        for i in range(len(x)):
            x[i] = t[i] // 2

    assert ps.kernel(function).arrays["t"].dtype == ps.i64


def test_python_chooses_a_number_as_it_is() -> None:
    def smallest(x: "u8[n]", y: "i64[n]"):
        for i in range(len(x)):
            y[i] = int(min(x[i], i - 3))

    def selected(x: "f32[n]", y: "f32[n]"):
        for i in range(len(x)):
            y[i] = (0.1 if x[i] > 0 else x[i]) * 0.1

    def exact(x: "f32[n]", y: "f32[n]"):
        for i in range(len(x)):
            y[i] = max(0, x[i]) + (0.5 if x[i] > 1 else x[i])

    for function in (smallest, selected):
        with pytest.raises(FrontendError, match="chooses between"):
            ps.kernel(function)
    ps.kernel(exact)
