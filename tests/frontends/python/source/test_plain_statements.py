"""Assignment expressions, ``del``, and ``while`` loops that end at a count or a condition."""

import ast

import numpy as np
import pytest

import polysched as ps
from polysched.errors import FrontendError
from polysched.frontends.python.source.plain_statements import plain
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")


def _rewritten(body: str) -> str:
    text = "def f(x, n):\n" + "".join(f"    {line}\n" for line in body.split("\n"))
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    result = plain(node, lambda _, reason: FrontendError(reason, reason, None), is_inlined=True)
    return "\n".join(ast.unparse(one) for one in result.body)


def test_assignment_expressions_become_statements() -> None:
    assert _rewritten("y = (m := x[0]) * m") == "m = x[0]\ny = m * m"
    chained = "if n:\n    pass\nelif (d := x[n]) > (e := d * 2):\n    x[0] = e"
    assert "else:\n    d = x[n]\n    e = d * 2\n    if d > e:" in _rewritten(chained)


def test_conditions_of_loops_assign_before_each_test() -> None:
    body = "while (n := n - 1) > 0:\n    x[n] = 1"
    assert _rewritten(body) == "n = n - 1\nwhile n > 0:\n    x[n] = 1\n    n = n - 1"


@pytest.mark.parametrize(
    "body",
    [
        "y = n and (m := x[0])",
        "y = x[0] if n else (m := x[1])",
        "y = [m := 1 for _ in x]",
        "y = 0 < n < (m := x[0])",
        "y = n + (n := 2)",
        "y = (x[0] and n) + (n := 2)",
        "n += (n := 1)",
        "y = (m := n) + (m := x[0])",
        "while (n := n - 1) > 0:\n    if x[n]:\n        continue\n    x[0] = n",
        "del n\nreturn n",
        "del x[0]",
    ],
)
def test_what_has_no_such_form_is_refused(body: str) -> None:
    with pytest.raises(FrontendError):
        _rewritten(body)


def test_a_counter_that_changes_in_between_keeps_the_loop() -> None:
    for body in (
        "k = 0\nwhile x[k] > 0 and k < n:\n    k += 2\n    k += 1",
        "k = 0\nwhile x[k] > 0 and k < n:\n    n -= 1\n    k += 1",
        "k = 0\nwhile x[k] > 0 and k < x[0]:\n    k += 1",
        "k = 0\nwhile x[k] > 0 and k < n:\n    if x[k]:\n        continue\n    k += 1",
        "k = 0\nwhile x[k] > 0 or k < n:\n    k += 1",
    ):
        assert "while" in _rewritten(body)


@ps.jit
def escapes(x, most):
    y = np.zeros(len(x), dtype=np.int64)
    for i in range(len(x)):
        z = t = x[i]
        k = 0
        while k <= most and (z := z * z + t) < 4:
            z += 1
            k += 1
        y[i] = k
    y[0] = y[-1] = y.sum()
    del z, t
    return y


def test_the_result_is_that_of_python() -> None:
    x = np.array([0.1, -0.5, 0.3, 2.0])
    for most in (0, 4):
        require_same_results(escapes, escapes.python, x, most)
