from __future__ import annotations

import numpy as np

from polysched.ir.semantics.c_library import library_function


def test_a_function_takes_and_gives_one_type() -> None:
    sine, power = library_function("sin", 1), library_function("pow", 2)
    assert isinstance(sine(np.float32(1)), np.float32)
    assert isinstance(sine(np.float64(1)), np.float64)
    assert power(np.float64(3), np.float64(2)) == 9.0
    assert power(np.float32(2), np.float32(0.5)) == np.float32(2) ** np.float32(0.5)
