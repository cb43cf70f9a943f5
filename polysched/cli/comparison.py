"""A compiled kernel's results beside those of the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polysched.bench.race import max_abs_err
from polysched.ir.memory import AnyArray

# Of the largest value in the array. Sums are contracted and, where the kernel lets them,
# reordered, so floating-point results are not bit for bit those of the reference.
TOLERANCES = {4: 1e-4, 8: 1e-10}


@dataclass(frozen=True)
class Comparison:
    """The largest absolute difference over all results, and whether it is mere rounding."""

    max_abs_err: float
    is_right: bool


def compare(results: Mapping[str, AnyArray], expected: Mapping[str, AnyArray]) -> Comparison:
    """Compare arrays by name; both mappings have the names of `expected`.

    Integers and booleans have to be equal; of floating-point numbers a difference is allowed of
    `TOLERANCES` times the largest finite magnitude expected in the array (at least 1).
    """
    found = [(max_abs_err(results[name], array), array) for name, array in expected.items()]
    return Comparison(
        max((difference for difference, _ in found), default=0.0),
        all(difference <= _allowed(array) for difference, array in found),
    )


def _allowed(expected: np.ndarray[Any, Any]) -> float:
    if expected.dtype.kind != "f":
        return 0.0
    finite = np.abs(expected[np.isfinite(expected)])
    return TOLERANCES[expected.dtype.itemsize] * max(1.0, float(finite.max(initial=0.0)))
