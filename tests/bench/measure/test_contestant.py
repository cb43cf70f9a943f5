import importlib
import json
import sys
from types import ModuleType

import numpy as np
import pytest

from polysched.bench.measure.contestant import (
    Runner,
    UnavailableError,
    optional_module,
    returning,
    warm,
)


def test_an_installed_module_is_returned() -> None:
    assert optional_module("json") is json


def test_an_absent_module_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UnavailableError) as caught:
        optional_module("torch")
    assert str(caught.value) == "torch is not installed (pip install '.[bench]')"


@pytest.mark.parametrize(
    "failure",
    [
        ModuleNotFoundError("No module named 'sympy'", name="sympy"),
        ImportError("libgomp.so.1: cannot open shared object file"),
        OSError("libc10.so: wrong ELF class"),
    ],
)
def test_a_broken_module_says_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(name: str) -> ModuleType:
        raise failure

    monkeypatch.setattr(importlib, "import_module", fail)
    with pytest.raises(UnavailableError) as caught:
        optional_module("torch")
    assert str(caught.value) == f"torch cannot be loaded: {failure}"


def test_a_runner_is_warmed_by_a_call() -> None:
    calls: list[int] = []
    runner = Runner(lambda: calls.append(1), lambda: np.zeros(1))
    assert warm(runner) is runner
    assert calls == [1]


def test_the_latest_result_is_kept() -> None:
    numbers = iter(range(3))
    runner = returning(lambda: next(numbers), lambda number: np.array([number]))
    assert runner.output() == [0]
    runner.run()
    runner.run()
    assert runner.output() == [2]
