"""Functions with expressions exchanged: a kernel, or an error of polysched's own; nothing else."""

import ast
import inspect
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.errors import PolyschedError
from polysched.frontends.python.decorator import PythonKernel, read_kernel
from tests.frontends.python import classic_algorithms, functions_over_arrays
from tests.frontends.python.test_random_functions import made
from tests.support.effort import cases

FUNCTIONS = [*functions_over_arrays.ALL, *classic_algorithms.ALL]
EXPRESSIONS = (
    "x y a i j n 0 1 -1 2.5 True None 'text' [] () (1,2) x[i] a[i,j] x.shape a[:] a.T max min abs "
    "math.sqrt np.zeros(3) np.zeros range(3) len(x) i*j n/2 1/0 x[i]**2 2**n not-x x[i]>0 i<3<n "
    "lambda:0 [e,f] {1:2} 1j 10**30 n**n ... x[x[i]] x[-1] x[n+1] max() min(x) abs(i,j)"
    "(y:=1) print(x) np.random.rand() ps.f32 x[i][j] x[i,j,i] x[*y] range(*y) len() x.shape[5]"
).split()
STATEMENTS = (
    "x = 1|i = 2|x[0] = 1|n = n + 1|return x|pass|break|del x|global n|import math|x += 1|"
    "while n: n = 0|for i in range(3): x[i] = 0|if i: x[0] = 1|if n > 3: n = 1|x: int = 3|"
    "with open('x'): pass|assert n > 0|assert x[0] > 1|a = b = 1|s = x[0]|np.zeros(3)|"
    "t = np.zeros(n)|raise ValueError|try: n = 1\nfinally: n = 2|def f(): n = 1|"
    "match n:\n case 1: n=2"
).split("|")


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A function with one to three expressions or statements exchanged."""
    chosen = draw(st.sampled_from(FUNCTIONS))
    tree = ast.parse(textwrap.dedent(inspect.getsource(chosen.function)))
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef)
    function.name, function.decorator_list = "made", []
    for _ in range(draw(st.integers(1, 3))):
        places = [
            (node, name, position)
            for one in function.body
            for node in ast.walk(one)
            for name, value in ast.iter_fields(node)
            for position, child in enumerate(value if isinstance(value, list) else [value])
            if isinstance(child, ast.expr | ast.stmt)
        ]
        node, name, position = draw(st.sampled_from(places))
        value = getattr(node, name)
        old = value[position] if isinstance(value, list) else value
        options = STATEMENTS if isinstance(old, ast.stmt) else EXPRESSIONS
        (new,) = ast.parse(draw(st.sampled_from(options))).body
        changed = new.value if isinstance(new, ast.Expr) and isinstance(old, ast.expr) else new
        if isinstance(value, list):
            value[position] = changed
        else:
            setattr(node, name, changed)
    return f"{ast.unparse(tree)}\n"


PRELUDE = """import itertools, math; import numpy as np; import polysched as ps
HALF, WIDTH = 0.5, 3
"""


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@settings(max_examples=cases(60))
@given(texts())
def test_nothing_but_our_own_errors(text: str) -> None:
    try:
        function = made(PRELUDE + text)
    except SyntaxError:  # no Python any more
        return
    assert callable(function)
    try:
        assert isinstance(read_kernel(function), PythonKernel)
    except PolyschedError:
        return
