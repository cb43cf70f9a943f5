from __future__ import annotations

import ctypes
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from polysched.frontends.scop import parse_c
from polysched.frontends.scop.types.functions import FUNCTIONS
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.scalar import scalar_function
from tests.frontends.scop.calling import assert_as_gcc, needs_gcc

VALUES = (0.0, -0.0, 0.75, -2.5, 3.0, math.inf, -math.inf, math.nan)
NAMES = sorted(
    name
    for name, function in FUNCTIONS.items()
    if function.dtype.is_float
    and function.result is None
    and function.operator is not Operator.EXPONENTIAL
)


@pytest.mark.parametrize("name", NAMES)
def test_a_function_is_that_of_the_c_library(name: str) -> None:
    function = FUNCTIONS[name]
    type_ = ctypes.c_float if function.dtype.bits == 32 else ctypes.c_double
    library = ctypes.CDLL("libm.so.6")[name]
    library.restype, library.argtypes = type_, [type_] * function.operands
    mine = scalar_function(function.operator, function.dtype)
    for operands in itertools.product(VALUES, repeat=function.operands):
        with np.errstate(all="ignore"):
            found = float(mine(*map(function.dtype.numpy().type, operands)))
        expected = library(*operands)
        assert found == expected or (math.isnan(found) and math.isnan(expected)), operands
        assert math.isnan(found) or math.copysign(1, found) == math.copysign(1, expected), operands


@needs_gcc
@pytest.mark.parametrize("type_", ["float", "double"])
def test_classifications_are_those_of_gcc(type_: str, tmp_path: Path) -> None:
    text = f"""#include <math.h>
    void f(const {type_} *x, int *y) {{
        for (int i = 0; i < 8; i++)
            y[i] = isnan(x[i]) + 2 * isinf(x[i]) + 5 * isfinite(x[i]) + 11 * __builtin_isinf(x[i]);
        for (int i = 0; i < 8; i++)
            if (x[i] < INFINITY && !isnan(x[i])) y[i] += 100;
    }}"""
    x = np.array(VALUES, np.float32 if type_ == "float" else np.float64)
    assert_as_gcc(text, "f", tmp_path, (x, np.zeros(8, np.int32)))


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("powf(x[i], 2)", "(x[i] * x[i])"),
        ("pow(x[i], 2.0)", "f32((f64(x[i]) * f64(x[i])))"),
        ("powf(x[i], 1)", "x[i]"),
        ("powf(x[i], -1)", "(1.0 / x[i])"),
        ("powf(x[i], 3)", "pow(x[i], 3.0)"),
    ],
)
def test_small_powers_are_products_and_quotients(call: str, expected: str) -> None:
    text = f"void f(float *x, int n) {{ for (int i = 0; i < n; i++) x[i] = {call}; }}"
    (statement,) = parse_c(text).kernel.statements.values()
    assert str(statement.value) == expected
