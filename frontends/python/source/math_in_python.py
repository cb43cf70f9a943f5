"""Functions of ``math`` and numpy without an operator of their own, in terms of others.

A call of one is inlined like a function of the user. Results may differ from the library's in the
last places.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: D103

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np


def quotient_and_remainder(x, y):
    return x // y, x % y


def is_nan(x):
    return float(x) != float(x)


def is_infinite(x):
    return abs(float(x)) == math.inf


def is_finite(x):
    return abs(float(x)) < math.inf


def isinf(x):
    return np.abs(x) == np.inf


def isfinite(x):
    return np.abs(x) < np.inf


def isclose(a, b, rtol=1e-5, atol=1e-8):
    b = b * 1.0  # as numpy does, so that differences and magnitudes of integers do not wrap around
    return ((np.abs(a - b) <= atol + rtol * np.abs(b)) & (np.abs(b) < np.inf)) | (a == b)


def allclose(a, b, rtol=1e-5, atol=1e-8):
    return bool(np.all(np.isclose(a, b, rtol, atol)))


def logaddexp(x1, x2):
    x1, x2 = x1 * 1.0, x2 * 1.0
    return np.where(
        x1 == x2, x1 + 0.6931471805599453, np.maximum(x1, x2) + np.log1p(np.exp(-np.abs(x1 - x2)))
    )


_IN_PYTHON: Mapping[Any, Any] = MappingProxyType(
    {
        divmod: quotient_and_remainder,
        math.isfinite: is_finite,
        math.isinf: is_infinite,
        math.isnan: is_nan,
        np.allclose: allclose,
        np.divmod: quotient_and_remainder,
        np.isclose: isclose,
        np.isfinite: isfinite,
        np.isinf: isinf,
        np.logaddexp: logaddexp,
    }
)


def math_in_python(function: Any) -> Any:
    """The function that a function of ``math`` or numpy stands for; None if it has no such form."""
    return next((form for known, form in _IN_PYTHON.items() if known is function), None)
