"""Comparison of a compiled function with the same function in Python."""

from collections.abc import Callable
from typing import Any

import numpy as np


def require_same_results(
    compiled: Callable[..., Any], function: Callable[..., Any], *given
) -> None:
    """Call both with copies of the arguments: results, their types and arguments must agree."""
    own, other = ([_copied(one) for one in given] for _ in range(2))
    expected = function(*other)
    result = compiled(*own)
    _require_same(result, expected)
    for one, another in zip(own, other, strict=True):
        np.testing.assert_array_equal(one, another)


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _require_same(result: Any, expected: Any) -> None:
    assert type(result) is type(expected), (result, expected)
    if isinstance(expected, tuple):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            _require_same(one, other)
    elif expected is not None:
        assert np.asarray(result).dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(result, expected)
