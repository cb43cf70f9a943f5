"""Names that get another array in a loop are copied where no other name shows it."""

# mypy: disable-error-code="no-untyped-def"

import ast
from types import SimpleNamespace

import numpy as np
import pytest

import polysched as ps
from polysched import FrontendError
from polysched.frontends.python.source.liveness import is_changed, is_dead_after


def alias_is_changed(x, k):
    a, b = x * 2, x + 1
    for _ in range(k):
        a = b
        b[0] = a[0] + 1
    return a + b


def view_is_changed(x, k):
    a = x * 2
    for _ in range(k):
        b = a + 1
        v = b[:2]
        a = b
        v[0] = 100
    return a


def argument_is_changed(x, k):
    for _ in range(k):
        x[0] = 1
        x = x * 2
    return x


def argument_is_changed_later(x, k):
    for _ in range(k):
        x = x * 2
    x[0] = 5
    return x + 0


def rows_are_changed(x, k):
    y, z = x.reshape(10, 10) * 1.0, np.zeros((10, 10))
    s = 0.0
    for t in range(k):
        z = y
        for row in y:
            row[:] = row + t
        s += z[0, 0]
    return s


@pytest.mark.parametrize(
    "function",
    [
        rows_are_changed,
        alias_is_changed,
        view_is_changed,
        argument_is_changed,
        argument_is_changed_later,
    ],
)
def test_a_copy_that_would_show_is_refused(function) -> None:
    with pytest.raises(FrontendError, match="another array before this loop or branch"):
        ps.jit(function)(np.ones(100), 50)


def test_an_array_outside_is_not_changed() -> None:
    with pytest.raises(FrontendError, match="which a kernel cannot change"):
        ps.jit(changes_outside)(np.ones(5))


TABLE = np.arange(3.0)


def changes_outside(x):
    TABLE[0] = x[0]


def _function(text: str) -> ast.FunctionDef:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


@pytest.mark.parametrize(
    ("rest", "is_dead"),
    [("    y = 2", True), ("    z = y", False), ("    y = y + 1", False), ("    pass", False)],
)
def test_a_value_is_dead_if_it_is_assigned_first(rest: str, is_dead: bool) -> None:
    text = f"def f(n):\n  for i in range(n):\n    print(y)\n    x = y\n{rest}\n"
    node = _function(text)
    loop = node.body[0]
    assert isinstance(loop, ast.For)
    assert is_dead_after(node, loop.body[1], "y") is is_dead


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("y = np.empty_like(x); y[0] = 1", False),
        ("y = x.T; y[0] = 1", True),
        ("y = x[1:]; y += 1", True),
        ("np.add(y, y, out=x)", True),
        ("helper(x)", True),
        ("y = x.copy(); y += 1", False),
        ("np.copyto(x, y)", True),
        ("np.copyto(y, x)", False),
        ("np.negative(y, x)", True),
        ("z = np.add(x, y)", False),
        ("x.fill(0)", True),
        ("z = module.store(x)", True),
        ("for row in x: row[:] = 1", True),
        ("for number, row in enumerate(x): row += 1", True),
        ("for row, other in zip(y, x): other[0] = 1", True),
        ("for row in y: row[:] = x[0]", False),
    ],
)
def test_elements_are_changed_by_any_name_of_the_array(body: str, changed: bool) -> None:
    outer = {"np": np, "module": SimpleNamespace(store=changes_outside)}
    assert is_changed(_function(f"def f(x, y):\n {body}"), "x", outer) is changed
