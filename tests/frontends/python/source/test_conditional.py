"""Conditions on indices that decide which elements are read."""

import ast

import numpy as np

import polysched as ps
from polysched.frontends.python.source.conditional import MOST_CASES, split

# ruff: noqa: F821


def text(source: str) -> str:
    """The statement as it is split, if every condition without a subscript is affine."""
    node = ast.parse(source).body[0]
    found = split(node, lambda test: "[" not in ast.unparse(test))
    return ast.unparse(found)


def test_a_choice_becomes_a_branch() -> None:
    assert text("b[i] = 2 * (a[i + 1] if i < n - 1 else 0)") == (
        "if i < n - 1:\n    b[i] = 2 * a[i + 1]\nelse:\n    b[i] = 2 * 0"
    )
    assert text("b[i] += a[i] if i and a[i - 1] > 0 else 1") == (
        "if i:\n    b[i] += a[i] if a[i - 1] > 0 else 1\n"
        "elif False:\n    b[i] += a[i]\nelse:\n    b[i] += 1"
    )

    assert text("b[i] = i or a[i]") == "if i:\n    b[i] = i\nelse:\n    b[i] = a[i]"


def test_what_stays() -> None:
    for source in (
        "b[i] = 1 if i < 3 else 2",
        "b[i] = a[i] if c[i] > 0 else 0",
        "b[i] = a.shape[0] if i < 3 else 0",
    ):
        assert text(source) == source


def test_a_branch_over_both() -> None:
    assert text("if i > 0 and a[i - 1] > 0:\n    x = 1\nelse:\n    x = 2") == (
        "if i > 0:\n    if a[i - 1] > 0:\n        x = 1\n    else:\n        x = 2\nelse:\n    x = 2"
    )
    assert text("if i == 0 or a[i - 1] > 0:\n    x = 1") == (
        "if i == 0:\n    x = 1\nelif a[i - 1] > 0:\n    x = 1"
    )


def test_the_cases_are_counted() -> None:
    many = " + ".join(f"(a[i] if i < {k} else 0)" for k in range(9))
    assert text(f"b[i] = {many}").count("b[i] =") == MOST_CASES


def test_elements_outside_are_not_read() -> None:
    def function(a: "f64[n]", b: "f64[n]", c: "f64[n]"):
        n = len(a)
        for i in range(n):
            b[i] = a[i + 1] if i < n - 1 else a[0]
            c[i] = a[i] if i > 2 and a[i - 3] > 0 else 7
            if i > 0 and a[i - 1] > 1:
                c[i] = 3 * (a[i - 1] if i > 0 else 1) + (0 if i == n - 1 else a[i + 1])

    a = np.arange(5.0)
    results = []
    for run in (function, ps.Schedule(ps.kernel(function)).compile()):
        b, c = np.zeros(5), np.zeros(5)
        run(a.copy(), b, c)
        results += [(b, c)]
    np.testing.assert_array_equal(results[0], results[1])
