import inspect
from collections.abc import Callable

import pytest

import polysched as ps
from polysched.signature_errors import with_signature_errors
from tests.support import kernels


def scaled(x: int, factor: int = 2) -> int:
    return x * factor


def test_a_call_that_fits_is_the_call_itself() -> None:
    explained = with_signature_errors(scaled)
    assert (explained(3), explained(3, factor=5)) == (6, 15)
    assert inspect.signature(explained) == inspect.signature(scaled)


def test_an_error_inside_the_function_stays_as_it_is() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        with_signature_errors(scaled)(object())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda function: function(),
            "scaled: missing a required argument: 'x'; expected scaled(x, factor=2)",
        ),
        (
            lambda function: function(1, 2, 3),
            "scaled: too many positional arguments; expected scaled(x, factor=2)",
        ),
        (
            lambda function: function(1, factr=2),
            "scaled: there is no argument 'factr'; did you mean 'factor'?",
        ),
        (
            lambda function: function(1, times=2),
            "scaled: there is no argument 'times'; write factor=2",
        ),
    ],
)
def test_a_call_that_does_not_fit(call: Callable[[object], int], message: str) -> None:
    with pytest.raises(TypeError) as raised:
        call(with_signature_errors(scaled, {"times": "write factor=2"}))
    assert str(raised.value) == message


def test_primitives_say_what_they_take_and_do() -> None:
    schedule = ps.Schedule(kernels.scale())
    with pytest.raises(TypeError, match=r"expected split\(loop, factor, into=None\)"):
        schedule.split("i", 8, "io", "ii")  # type: ignore[call-arg, arg-type]
    documentation = ps.Schedule.split.__doc__ or ""
    assert "before::" in documentation
    assert "Checks:" in documentation


def test_options_of_numba() -> None:
    with pytest.raises(TypeError, match="no argument 'parallel'; write threads=2"):
        ps.jit(parallel=True)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="did you mean 'fastmath'"):
        ps.jit(fast_math=True)  # type: ignore[call-overload]


def test_sizes_of_optimize_are_one_argument() -> None:
    with pytest.raises(TypeError, match="optimize: there is no argument 'n'; known are .*'sizes'"):
        ps.optimize(kernels.scale(), n=100)  # type: ignore[call-arg]
