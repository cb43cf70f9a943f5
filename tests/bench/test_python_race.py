import pytest

from polysched.bench import python_functions, python_race
from polysched.bench.python_race import (
    NAMES,
    PythonResult,
    Refused,
    race_function,
)


def raced(name: str, compiler=lambda function: function) -> PythonResult | Refused:
    return race_function(name, fastmath=False, seconds=0, compiler=compiler)


def test_every_function_has_arguments() -> None:
    assert len(NAMES) == 20
    assert all(hasattr(python_functions, name) for name in NAMES)


def test_a_race_with_python_itself() -> None:
    result = raced("gray_scale")
    assert isinstance(result, PythonResult)
    assert result.rounds >= 5
    assert result.numba_form == "same"
    assert result.ratio > 0
    assert result.function == "gray_scale"


def test_a_wrong_result_is_no_result() -> None:
    result = raced("gray_scale", lambda function: lambda image: function(image) + 1)
    assert result == Refused("gray_scale", False, "the result differs from numba's")


def test_a_function_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def sorted_rows(image):
        image.sort()

    monkeypatch.setattr(python_functions, "gray_scale", sorted_rows)
    result = raced("gray_scale")
    assert isinstance(result, Refused)
    assert "sort" in result.reason


def test_a_form_that_the_peer_refuses_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def loops(image):
        return python_functions.gray_scale(image)

    def compiler(function):
        if function is not loops:
            raise TypeError("not this form")
        return function

    monkeypatch.setattr(python_functions, "gray_scale_loops", loops, raising=False)
    result = raced("gray_scale", compiler)
    assert isinstance(result, PythonResult)
    assert result.numba_form == "loops"


def test_the_peer_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(python_race.importlib, "import_module", missing)
    with pytest.raises(python_race.BenchError, match="numba is not installed"):
        python_race.numba_compiler(fastmath=True)
