"""Values outside of their declared range."""

import numpy as np
import pytest

from polysched.errors import CallError
from polysched.ir.semantics.value_range import require_values


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_values_inside(dtype: type[np.integer[np.typing.NBitBase]]) -> None:
    require_values("a", np.array([[2, 5], [3, 4]], dtype), 2, 6, "(2, 6)")
    require_values("a", np.array([], dtype), 0, 0, "(0, m)")
    require_values("a", np.array(7, dtype), 0, 8, "(0, 8)")


@pytest.mark.parametrize(
    ("values", "lower", "upper", "message"),
    [
        (
            np.array([[0, 1], [6, 7]], np.int32),
            0,
            6,
            r"a holds 6 at \[1, 0\]; expected values from 0 to 5: values=\(0, m\)",
        ),
        (np.array([3, -1, -2], np.int8), 0, 1000, r"a holds -1 at \[1\]"),
        (np.array([3, 2**64 - 1], np.uint64), 0, 10, r"a holds 18446744073709551615 at \[1\]"),
        (np.array([3], np.uint8), -(2**40), -1, r"a holds 3 at \[0\]"),
        (np.array([3], np.uint8), 300, 400, r"a holds 3 at \[0\]"),
        (np.array(9), 0, 9, "a holds 9; expected"),
        (np.array([4]), 0, 0, r"a holds 4 at \[0\]; its declared range of values, .* is empty"),
    ],
)
def test_values_outside(
    values: np.typing.NDArray[np.generic], lower: int, upper: int, message: str
) -> None:
    with pytest.raises(CallError, match=message):
        require_values("a", values, lower, upper, "(0, m)")
