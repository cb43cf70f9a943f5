import numpy as np
import pytest

from polysched.ir.expr.dtypes import DType, f32, f64, i8, i64, u8, u64
from polysched.ir.expr.neutral import neutral_element
from polysched.ir.expr.operators import BITWISE, Operator
from polysched.ir.semantics.scalar import as_scalar, scalar_function

OPERATORS = (Operator.ADD, Operator.MULTIPLY, Operator.MINIMUM, Operator.MAXIMUM)
FLOATS = (0.0, -0.0, 1.5, -3.0, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("operator", [*OPERATORS, *sorted(BITWISE, key=str)])
@pytest.mark.parametrize("dtype", [i8, u8, i64, u64], ids=str)
def test_integers(operator: Operator, dtype: DType) -> None:
    limits = np.iinfo(np.dtype(dtype.numpy()))
    neutral = neutral_element(operator, dtype)
    assert neutral.dtype == dtype
    for number in (int(limits.min), int(limits.max), 0, 1, 100):
        function = scalar_function(operator, dtype)
        assert function(as_scalar(neutral.value, dtype), number) == number


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_floats_bit_for_bit(operator: Operator, dtype: DType) -> None:
    neutral = as_scalar(neutral_element(operator, dtype).value, dtype)
    for value in FLOATS:
        number = as_scalar(value, dtype)
        result = scalar_function(operator, dtype)(neutral, number)
        np.testing.assert_equal(result, number)
        assert np.isnan(number) or np.signbit(result) == np.signbit(number)


def test_no_operator_of_reductions() -> None:
    with pytest.raises(ValueError, match="'/' is not a reduction operator"):
        neutral_element(Operator.DIVIDE, f32)
