import math

import numpy as np
import pytest

from polysched.cli.run import compare

FLOATS = np.array([1.0, -200.0, 3.0], np.float32)
INTEGERS = np.array([1, 2, 3], np.int32)


@pytest.mark.parametrize(
    ("expected", "offset", "is_right"),
    [
        (FLOATS, 0, True),
        (FLOATS, 0.015, True),
        (FLOATS, 0.03, False),
        (FLOATS.astype(np.float64), 1e-9, True),
        (FLOATS.astype(np.float64), 0.015, False),
        (FLOATS / 1000, 0.9e-4, True),
        (INTEGERS, 0, True),
        (INTEGERS, 1, False),
    ],
)
def test_allowed_difference(expected, offset, is_right: bool) -> None:
    found = compare({"a": expected + expected.dtype.type(offset)}, {"a": expected})
    assert found.is_right is is_right
    assert found.max_abs_err == pytest.approx(offset, rel=0.01)


def test_nan_only_beside_nan() -> None:
    expected = np.array([math.nan, 1.0])
    assert compare({"a": expected.copy()}, {"a": expected}).is_right
    assert not compare({"a": np.array([0.0, 1.0])}, {"a": expected}).is_right
    assert not compare({"a": np.array([math.nan, math.nan])}, {"a": expected}).is_right


def test_every_array_counts() -> None:
    results = {"a": INTEGERS, "b": INTEGERS + 2}
    found = compare(results, {"a": INTEGERS, "b": INTEGERS})
    assert (found.is_right, found.max_abs_err) == (False, 2)


def test_nothing_to_compare() -> None:
    assert compare({}, {}).is_right
