"""``//`` and ``%`` of floats: numpy's and Python's bits, signs of zeros included."""

import itertools

import numpy as np
import pytest

from polysched.frontends.python.values.floor_division import floor_quotient, floor_remainder
from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.semantics.scalar import evaluate

NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.1, -0.3, 2.5, -7.0, 1e30, 3e-40, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_all_signs_and_sizes(dtype: DType) -> None:
    kind = dtype.numpy().type
    with np.errstate(all="ignore"):
        for left, right in itertools.product(NUMBERS, NUMBERS):
            sides = [kind(one) for one in (left, right)]
            expressions = [Constant(float(one), dtype) for one in sides]
            same(floor_quotient(*expressions), sides[0] // sides[1])
            same(floor_remainder(*expressions), sides[0] % sides[1])


def same(expression: Expression, expected: np.generic) -> None:
    found = evaluate(expression, lambda *_: None, {})
    np.testing.assert_equal(found, expected)
    if not np.isnan(expected):
        assert np.signbit(found) == np.signbit(expected)
