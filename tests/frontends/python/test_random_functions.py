"""Random functions: the kernel computes what Python does, bit for bit."""

import linecache

import numpy as np
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from polysched.errors import FrontendError
from polysched.frontends.python.decorator import read_kernel
from polysched.ir.semantics.reference import run_reference
from tests.frontends.python.random_functions import Text
from tests.support.effort import cases

SIZE = 12


def made(text: str) -> object:
    """The function of a text; its source is where `inspect` looks for it."""
    filename = "<random function>"
    lines = [f"{line}\n" for line in text.splitlines()]
    linecache.cache[filename] = (len(text), None, lines, filename)
    names: dict[str, object] = {}
    exec(compile("".join(lines), filename, "exec"), names)
    return names["made"]


@settings(max_examples=cases(20))
@given(st.data())
def test_the_kernel_computes_what_python_does(data: st.DataObject) -> None:
    function = made(Text(data).function())
    assert callable(function)
    generator = np.random.default_rng(0)
    x, y = generator.integers(-9, 10, (2, SIZE))
    try:
        kernel = read_kernel(function)
    except FrontendError as error:  # Python's own integers have no end, those of kernels 64 bits
        if "this Python integer may need" not in error.reason:
            raise
        reject()
    found = run_reference(kernel, {"x": x, "y": y}, {"n": SIZE})
    changed = {"x": x.copy(), "y": y.copy()}
    try:
        with np.errstate(over="ignore"):
            function(**changed)
    except OverflowError:  # a Python integer that meets an element
        reject()
    for name, array in found.items():
        np.testing.assert_array_equal(array, changed[name])
