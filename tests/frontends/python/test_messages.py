"""What is said of functions that are no kernels."""

import inspect
import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.python.decorator import read_kernel
from tests.frontends.python import bad_arrays, bad_calls, bad_functions, bad_loops

# ruff: noqa: F821

HELPERS = (
    bad_calls.helper,
    bad_calls.recursive,
    bad_calls.returns_in_a_loop,
    bad_calls.writes,
)
IN_HELPERS = {
    bad_calls.calls_a_recursive_function: bad_calls.recursive,
    bad_calls.calls_a_function_that_returns_in_a_loop: bad_calls.returns_in_a_loop,
}
"""The functions whose messages point into a function that they call."""
BAD = [
    value
    for module in (bad_functions, bad_arrays, bad_loops, bad_calls)
    for value in vars(module).values()
    if inspect.isfunction(value) and value not in HELPERS
]


def message(function: Callable[..., object]) -> str:
    with pytest.raises(FrontendError) as raised:
        read_kernel(function)
    return str(raised.value)


def test_the_messages_of_all_bad_functions(check_golden: Callable[[str, str], None]) -> None:
    shown = []
    for function in BAD:
        text = message(function).replace(f"{inspect.getfile(function)}:", "")
        shown.append(f"{function.__name__}:\n" + re.sub(r"^\d+:", "column ", text))
    check_golden("frontends/python_messages.txt", "\n\n".join(shown) + "\n")


@pytest.mark.parametrize("function", BAD, ids=lambda one: one.__name__)
def test_a_message_points_into_the_function(function: Callable[..., object]) -> None:
    with pytest.raises(FrontendError) as raised:
        read_kernel(function)
    location = raised.value.location
    if function is bad_functions.asynchronous:
        assert location is None
        return
    assert location is not None
    inside = IN_HELPERS.get(function, function)
    lines, first = inspect.getsourcelines(inside)
    assert first <= location.line < first + len(lines)
    assert str(raised.value).splitlines()[1].strip() in lines[location.line - first]


@pytest.mark.parametrize("function", [np.sqrt, partial(print), len, 5, None.__class__])
def test_what_is_no_function(function: object) -> None:
    with pytest.raises(FrontendError, match="is not a Python function"):
        read_kernel(function)  # type: ignore[arg-type]


def test_a_lambda_is_no_definition() -> None:
    assert "expected a function written with 'def'" in message(lambda x: x)


def test_a_function_without_source() -> None:
    names: dict[str, Callable[..., object]] = {}
    exec("def made(x): pass", names)
    assert "the source of 'made' is not available" in message(names["made"])


def test_parts_of_the_language_are_named_in_words() -> None:
    def comprehension(x: "f32[4]"):
        x[0] = [1.0 for _ in range(3)]

    def printing(x: "f32[4]"):
        print(x[0])

    def trying(x: "f32[4]"):
        try:
            return x
        except ValueError:
            return x

    assert (
        "a list comprehension (np.empty makes an array to fill) is not supported here"
        in message(comprehension)
    )
    assert "a call whose value is not used, 'print(...)', is not" in message(printing)
    assert "'try' is not supported: compiled code raises no exceptions" in message(trying)
