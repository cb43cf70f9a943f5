"""Functions of numpy in terms of others; a call of one is inlined like a function of the user."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: D103

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np


def average(a):
    return np.mean(a)


def count_nonzero(a):
    return int(np.sum(a != 0))


def norm(x):
    return np.sqrt(np.sum(np.square(x)))


def ptp(a):
    return np.max(a) - np.min(a)


def trace(a):
    return np.sum(np.diag(a))


_IN_PYTHON: Mapping[Any, Any] = MappingProxyType(
    {
        np.average: average,
        np.count_nonzero: count_nonzero,
        np.linalg.norm: norm,
        np.ptp: ptp,
        np.trace: trace,
    }
)


def written_in_python(function: Any) -> Any:
    """The function that a function of numpy stands for; None if it has no such form."""
    return next((form for known, form in _IN_PYTHON.items() if known is function), None)
