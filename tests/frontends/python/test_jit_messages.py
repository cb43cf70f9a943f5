"""What ``ps.jit`` says of functions and arguments that it refuses, and its reports."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError, FrontendError
from tests.frontends.python.programs import softmax


def scaled(x, factor, y):
    y[:] = factor * x
    return np.sum(x), len(x), y


def test_arguments_that_do_not_fit_the_definition() -> None:
    with pytest.raises(CallError, match=r"function 'softmax': .* expected softmax\(x\)"):
        ps.jit(softmax)()


def sorted_rows(x):
    return np.sort(x, axis=0)


def selected(x):
    return np.maximum(x, x, where=x > 0)


def sums_of_rows(x):
    return np.apply_along_axis(np.sum, 0, x)


def gradient_of_columns(x):
    return np.gradient(x, axis=0)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (sorted_rows, "'sort' of a whole array is not supported"),
        (selected, "'np.maximum' with where= is not supported"),
        (sums_of_rows, "this is a function; supported are"),
        (gradient_of_columns, r"'axis'; supported are the arguments \(f, dx=1.0\)"),
    ],
)
def test_calls_with_other_arguments(function: Callable[..., object], message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        ps.jit(function)(np.ones((3, 3)))


def test_a_function_that_cannot_be_compiled() -> None:
    @ps.jit
    def sorted_copy(x):
        return np.sort(x)

    with pytest.raises(FrontendError, match="'sort' of a whole array is not supported") as raised:
        sorted_copy(np.zeros(3))
    assert "^^^^" in str(raised.value)


@pytest.mark.parametrize("value", ["2", None])
def test_a_value_that_is_no_number(value: str | None) -> None:
    def scaled(x: Any, s: Any) -> Any:
        return x * s

    with pytest.raises(ps.FrontendError) as raised:
        ps.jit(scaled)(np.zeros(5), value)
    assert f"the value here is {value!r}; expected a number or an array" in str(raised.value)


def test_what_is_compiled_already() -> None:
    def halved(x: Any) -> Any:
        return x / 2

    with pytest.raises(ps.FrontendError, match="compiled by jit already"):
        ps.jit(ps.jit(halved))


def test_what_numba_has() -> None:
    def halved(x: Any) -> Any:
        return x / 2

    with pytest.raises(ps.FrontendError, match="leave out types: calls give the types"):
        ps.jit("f8(f8)")(halved)  # type: ignore[call-overload]
    with pytest.raises(CallError, match="jit: threads=0; expected an integer >= 1"):
        ps.jit(threads=0)(halved)
    fast = ps.jit(halved)
    for name, hint in {
        "py_func": "write python",
        "check": "its schedule has it: schedule.check",
    }.items():
        with pytest.raises(AttributeError, match=f"a function of ps.jit has no '{name}'; {hint}"):
            getattr(fast, name)


def test_a_tuple_is_not_an_array() -> None:
    def first_grid(x: Any) -> Any:
        return np.meshgrid(x, x)[0]

    with pytest.raises(ps.FrontendError, match="a tuple is not an array; give each of"):
        ps.jit(first_grid)(np.zeros(4))


def test_the_report_leaves_out_what_all_sizes_satisfy() -> None:
    function = ps.jit(scaled)
    function(np.zeros(5), 2.5, np.zeros(5))
    assert "every call checks" not in function.report()


def test_the_report_has_conditions_of_arrays_that_are_not_empty() -> None:
    def crop(image, height):
        out = np.empty((height, image.shape[1]))
        for y in range(height):
            for x in range(image.shape[1]):
                out[y, x] = image[min(y + 2, image.shape[0] - 1), x]
        return out

    function = ps.jit(crop)
    function(np.ones((9, 8)), 5)
    assert "every call checks" not in function.report()


def test_unknown_arguments_are_named() -> None:
    with pytest.raises(CallError, match=r"^function 'scaled': there is no argument 'z'; known are"):
        ps.jit(scaled)(np.zeros(5), 2.5, z=np.zeros(5))
    with pytest.raises(CallError, match="too many positional arguments; expected scaled"):
        ps.jit(scaled)(1, 2, 3, 4)


@pytest.mark.parametrize("value", [None, "mean"])
def test_a_value_that_is_no_array_is_shown(value) -> None:
    def first(x, w):
        return x * w[0]

    with pytest.raises(FrontendError, match=f"the value here is {value!r}; expected an array"):
        ps.jit(first)(np.zeros(5), value)


def test_errors_of_the_function_have_a_short_traceback() -> None:
    def with_list(x):
        found = [x, None]
        return found[0]

    with pytest.raises(FrontendError) as caught:
        ps.jit(with_list)(np.zeros(5))
    names = [entry.name for entry in caught.traceback]
    assert names[-1] == "read_function"
