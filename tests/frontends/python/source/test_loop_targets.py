"""Indices of loops that reuse the name of a number."""

import ast

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.python.source.loop_targets import with_own_targets
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")


def _function(text: str) -> ast.FunctionDef:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


def test_an_index_that_nothing_reads_later_gets_a_name_of_its_own() -> None:
    function = _function(
        """
def f(x):
    for i in range(9):
        c = x[i]
        x[c] = 0
    for c in range(5):
        x[c] += c
"""
    )
    assert "for c_index in range(5):\n        x[c_index] += c_index" in ast.unparse(
        with_own_targets(function)
    )


def test_an_index_that_is_read_later_keeps_its_name() -> None:
    for text in (
        "def f(x):\n    c = x[0]\n    for c in range(5):\n        x[c] = 0\n    return c",
        "def f(x):\n    for c in range(5):\n        x[c] = 0",
        "def f(x):\n    c = 1\n    for c in range(5):\n        c = c + 1\n        x[c] = 0",
        "def f(x):\n    c = 3\n    for t in range(3):\n        x[0] = c\n"
        "        for c in range(5):\n            x[c] = 0",
    ):
        function = _function(text)
        assert with_own_targets(function) is function
    left = _function(
        "def f(x):\n    c = 0\n    for i in range(3):\n        for c in range(5):\n"
        "            x[c] = 0\n        if x[i] > 0:\n            break\n        c = 7\n    return c"
    )
    assert with_own_targets(left) is left
    held = _function("def f(x):\n    c = 1\n    for c in range(5):\n        x[c] = 0")
    assert with_own_targets(held) is not held
    assert with_own_targets(held, {"c"}) is held


@ps.jit
def nearest_labels(x, centers):
    labels = np.empty(len(x), np.int64)
    for _ in range(2):
        for i in range(len(x)):
            best = np.inf
            for c in range(len(centers)):
                distance = abs(x[i] - centers[c])
                if distance < best:
                    best = distance
                    labels[i] = c
        for i in range(len(x)):
            c = labels[i]
            centers[c] += 0.1 * (x[i] - centers[c])
    return labels


def test_an_index_and_a_number_of_one_name() -> None:
    draw = np.random.default_rng(1).random
    require_same_results(nearest_labels, nearest_labels.python, draw(50), draw(4))
