import numpy as np
import pytest

import polysched as ps
from polysched.ir.expr.numpy_functions import NUMPY_FUNCTIONS


@pytest.mark.parametrize("function", NUMPY_FUNCTIONS, ids=lambda one: one.__name__)
def test_functions_in_a_kernel(function: np.ufunc) -> None:
    build = ps.KernelBuilder("k")
    x, y = build.input("x", ps.f64, (9,)), build.output("y", ps.f64, (9,))
    with build.loops(i=9) as i:
        y[i] = function(*[x[i]] * function.nin)
    given = np.linspace(0.1, 0.9, 9) + (function is np.arccosh)
    expected = function(*[given] * function.nin)
    run = ps.Schedule(build.kernel()).compile()
    np.testing.assert_allclose(run(given), expected, rtol=1e-14)
