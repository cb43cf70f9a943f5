"""numpy's functions that join, pad, reshape and view arrays give numpy's results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import FrontendError
from tests.frontends.python.fuzz import made
from tests.support.effort import cases

pytestmark = pytest.mark.usefixtures("as_written")

EXPRESSIONS = (
    "np.concatenate((x, y))",
    "np.concatenate([a, b], axis=1)",
    "np.concatenate((x[::2] + x[1::2], y))",
    "np.stack((x, y))",
    "np.stack((x, y), axis=1)",
    "np.hstack((a, b))",
    "np.vstack((x, y))",
    "np.tile(x, 3)",
    "np.tile(a, (2, 2))",
    "np.pad(a, 1)",
    "np.pad(a, ((1, 2), (0, 3)), constant_values=2.5)",
    "np.repeat(x, 2)",
    "np.linspace(0.0, x[0], 7)",
    "np.linspace(1, 2, x.shape[0])",
    "np.identity(3) + x[0]",
    "np.diff(a, axis=0)",
    "np.sign(x - 0.5)",
    "np.round(4 * x)",
    "np.flipud(a) * 1.0",
    "np.fliplr(a) * 1.0",
    "np.trace(a[:, :4])",
    "np.diag(a[:, :4]) * 2",
    "np.swapaxes(a, 0, 1) + 0",
    "np.expand_dims(x, 0) + 0",
    "np.squeeze(a[:1]) + 0",
    "np.linalg.norm(x)",
    "np.ptp(x)",
    "np.average(a)",
    "np.count_nonzero(x > 0.5)",
    "x.reshape(-1, 1) * x.reshape(1, -1)",
    "x.reshape(-1, 2).sum(axis=1)",
    "np.arange(12).reshape(3, 4) * x[0]",
    "np.arange(12).reshape(3, 4).ravel() * x[0]",
    "a.reshape(a.shape[0], 1, a.shape[1]) - a",
)
BITS_DIFFER = ("norm", "average", "trace", "sum")


def _function(expression: str) -> Callable[..., Any]:
    return made(f"def made(x, y, a, b):\n    return {expression}\n", f"of {expression}")


@pytest.mark.parametrize("position", range(len(EXPRESSIONS)))
def test_expressions(position: int) -> None:
    expression = EXPRESSIONS[position]
    function = _function(expression)
    generator = np.random.default_rng(position)
    for extent in (8, 6)[: cases(1)]:
        arguments = [generator.random(extent) for _ in range(2)]
        arguments += [generator.random((4, extent)) for _ in range(2)]
        expected, found = function(*arguments), ps.jit(function)(*arguments)
        assert np.shape(found) == np.shape(expected)
        assert np.asarray(found).dtype == np.asarray(expected).dtype
        exact = not any(name in expression for name in BITS_DIFFER)
        np.testing.assert_allclose(found, expected, rtol=0 if exact else 1e-14)


def test_a_reshaped_array_is_a_view() -> None:
    function = made(
        "def made(x):\n    out = np.zeros((4, 3))\n    flat = out.reshape(-1)\n"
        "    for i in range(12):\n        flat[i] = i * x[0]\n    return out\n",
        "flat",
    )
    given = np.array([0.5])
    np.testing.assert_array_equal(ps.jit(function)(given), function(given))


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("a.reshape(-1)", "a dimension that is split or joined at literal extents"),
        ("np.pad(x, 1, mode='mean')", "or mode='edge', 'reflect'"),
        ("np.concatenate((x, a))", "do not fit side by side along dimension 0"),
        ("np.tile(x, x[0])", "with a literal count"),
        ("np.round(x, 2)", "rounding to a number of decimals is not supported"),
        ("np.stack(x)", "expected np.stack"),
        ("np.diagonal(x) + 0", "expected a square matrix"),
    ],
)
def test_refusals(expression: str, reason: str) -> None:
    arguments = [np.ones(8), np.ones(8), np.ones((4, 8)), np.ones((4, 8))]
    with pytest.raises(FrontendError, match=reason) as raised:
        ps.jit(_function(expression))(*arguments)
    assert "^" in str(raised.value)


def test_a_store_that_reads_ahead_of_itself_needs_no_temporary() -> None:
    function = made("def made(u):\n    u[1:] = u[1:] - 0.5 * (u[1:] - u[:-1])\n", "backwards")
    compiled, given = ps.jit(function), np.random.default_rng(0).random(37)
    expected = given.copy()
    function(expected)
    compiled(given)
    np.testing.assert_array_equal(given, expected)
    assert list(compiled.schedule.kernel.arrays) == ["u"]


def test_a_store_that_reads_both_sides_keeps_its_temporary() -> None:
    function = made("def made(u):\n    u[1:-1] = u[:-2] + u[2:]\n", "both sides")
    given = np.random.default_rng(0).random(37)
    expected = given.copy()
    function(expected)
    ps.jit(function)(given)
    np.testing.assert_array_equal(given, expected)


SWAPS = (
    """
def made(x, y, n):
    for t in range(n):
        y[1:-1] = 0.5 * (x[2:] + x[:-2]) + t
        x, y = y, x
    return x, y
""",
    """
def made(x, y, n):
    a, b = x.copy(), np.zeros_like(x)
    for t in range(1, n):
        b[1:-1] = a[:-2] * t + a[2:]
        a, b = b, a
    total = 0.0
    for i in range(x.shape[0]):
        total += a[i]
    return total
""",
    """
def made(x, y, n):
    for _ in range(n):
        y[1:-1] = 0.5 * (x[2:] + x[:-2])
        x, y = y, x
""",
    """
def made(x, y, n):
    z = x.copy()
    for t in range(n):
        z[1:-1] = y[2:] - x[:-2] + t
        x, y, z = y, z, x
    return x, y, z
""",
    """
def made(x, y, n):
    for t in range(1, n):
        y[1:-1] = 0.5 * (x[2:] + x[:-2]) + t
        kept = x
        x = y
        y = kept
    return x, y
""",
    """
def made(x, y, n):
    last = 0
    for t in range(n):
        y[1:-1] = x[2:] + last
        last = t
        x, y = y, x
    return y + last
""",
)


@pytest.mark.parametrize("text", SWAPS)
def test_buffers_are_swapped(text: str) -> None:
    function = made(text, f"swaps {len(text)}")
    compiled = ps.jit(function)
    for count in (-1, 0, 1, 2, 5, 40, 41):
        given, expected = (
            [array(17) for array in (np.random.default_rng(1).random, np.ones)] for _ in range(2)
        )
        found, wanted = compiled(*given, count), function(*expected, count)
        for one, other in zip((*given, found), (*expected, wanted), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "rest",
    [
        "x[0] = 1.0\n    return x",  # of which array depends on n
        "t = t + 1\n    return y[t]",
        "a[0] = 1.0\n    return x",  # 'a' is one of the two
        "z = helper.grow(x)\n    return z",
        "z = np.add(x, 1.0, x)\n    return z",
    ],
)
def test_swaps_that_later_stores_would_show_are_refused(rest: str) -> None:
    text = (
        "import types\ndef grow(a):\n    a[0] = 9.0\n    return a[1]\n"
        "helper = types.SimpleNamespace(grow=grow)\n"
        "def made(x, y, n):\n    a = x\n    t = 0\n    for t in range(n):\n"
        f"        y[:] = x + 1\n        x, y = y, x\n    {rest}\n"
    )
    with pytest.raises(FrontendError):
        ps.jit(made(text, rest))(np.ones(5), np.ones(5), 3)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (np.ones(5, np.float32), "expected 'x' and 'y' to have one type and one shape"),
        (np.ones((1, 5)), "expected 'x' and 'y' to have one type and one shape"),
        (np.ones(1), r"requires x.shape\[0\] == 1"),
    ],
)
def test_exchanged_arrays_that_are_read_later_are_alike(other: Any, message: str) -> None:
    text = "def made(x, y, n):\n    for t in range(n):\n"
    text += "        y[:] = x.max() + t\n        x, y = y, x\n    return x\n"
    with pytest.raises(ps.PolyschedError, match=message):
        ps.jit(made(text, "unlike arrays"))(np.ones(5), other, 3)


def test_an_exchange_that_leaves_an_array_out_is_refused() -> None:
    text = """
def made(x, y, n):
    for t in range(n):
        y[1:-1] = x[2:]
        x = y
    return x
"""
    with pytest.raises(FrontendError, match="'x' is another array before this loop"):
        ps.jit(made(text, "exchange"))(np.ones(5), np.ones(5), 3)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("np.max(x, initial=x)", "expected a number of type f64"),
        ("np.max(n, initial=0.5)", "this is Python float; expected i64"),
        ("np.diff(x, 0)", "expected np.diff"),
    ],
)
def test_other_arguments_are_refused(value: str, message: str) -> None:
    function = made(f"def made(x, n):\n    return {value}\n", f"refused {len(value)}")
    with pytest.raises(FrontendError, match=message):
        ps.jit(function)(np.ones(5), np.ones(5, np.int64))


def test_a_loop_over_floats_is_refused() -> None:
    text = "def made(x):\n    for v in np.arange(0.0, 1.0, 0.25):\n        x[0] += v\n"
    with pytest.raises(FrontendError, match=r"expected the name of an array, range"):
        ps.jit(made(text, "floats"))(np.ones(5))


@pytest.mark.parametrize("view", ["a[1:]", "a[:, ::2]", "a[:, 1:3]", "a[::-1, ::-1]", "a[::-1]"])
def test_an_array_in_another_shape_is_a_view_where_numpy_makes_one(view: str) -> None:
    function = made(f"def made(a):\n    r = {view}.reshape(-1)\n    r[1] = 77.0\n", f"in {view}")
    given, expected = np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4)
    ps.jit(function)(given)
    function(expected)
    np.testing.assert_array_equal(given, expected)
