"""Functions are specialized for ``None``, text and tuples, also when they are called with these."""

# mypy: disable-error-code="no-untyped-def"

import ast

import numpy as np
import pytest

import polysched as ps
from polysched import FrontendError
from polysched.frontends.python.scope.specialized import specialized, static_value

pytestmark = pytest.mark.usefixtures("as_written")


def test_code_is_kept_for_each_text_and_literal() -> None:
    def scaled(x, mode="sum", scale=None, axes=(0, 1)):
        y = x if scale is None else x * scale
        if mode == "sum":
            return y.sum(axis=axes)
        return y.sum(axis=axes) / x.shape[axes[0]]

    fast, x = ps.jit(scaled), np.arange(6.0).reshape(2, 3)
    for named in ({}, {"mode": "mean"}, {"scale": 2.0}, {"axes": (1,)}, {"mode": "sum"}):
        np.testing.assert_array_equal(fast(x, **named), scaled(x, **named))


def test_integers_that_must_be_literals_are_those_of_each_call() -> None:
    def pooled(x, k=2):
        out = np.zeros(x.shape[0] // k)
        for i in range(x.shape[0] // k):
            out[i] = x[i * k : (i + 1) * k].max()
        return out

    fast, x = ps.jit(pooled), np.arange(12.0)
    for k in (2, 3, 2):
        np.testing.assert_array_equal(fast(x, k), pooled(x, k))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if p is None:\n    p = 1\nq = p is None", "p = 1\nq = p is None"),
        ("for i in r:\n    if p is None:\n        p = 1", None),
        ("a = 1 if p is None and b else 2", "a = 1 if b else 2"),
        ("a = x is None or p is not None", "a = False"),
        ("a = b and p is None", "a = b and True"),
        ("a = p is None and 3", "a = 3"),
    ],
)
def test_a_parameter_is_known_until_it_is_assigned(text: str, expected: str | None) -> None:
    value = static_value(None)
    assert value is not None
    body = specialized(ast.parse(text).body, {"p": value}, {"x"})
    assert "\n".join(map(ast.unparse, body)) == (text if expected is None else expected)


def test_what_a_library_function_lacks_is_said_at_the_call() -> None:
    def matrix_norm(a):
        return np.linalg.norm(a, ord=1)

    with pytest.raises(FrontendError, match="'norm': norms of matrices are not supported") as found:
        ps.jit(matrix_norm)(np.ones((3, 3)))
    assert "np.linalg.norm(a, ord=1)" in str(found.value)


def test_a_function_inside_does_not_call_itself() -> None:
    def outer(x):
        def inner(v):
            return inner(v) + 1

        return inner(x[0])

    with pytest.raises(FrontendError, match="'inner' calls itself"):
        ps.jit(outer)(np.ones(3))
