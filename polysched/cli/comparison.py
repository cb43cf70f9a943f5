"""Compare a compiled kernel's results with those of the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polysched.bench.race import max_abs_err
from polysched.ir.semantics.memory import AnyArray

TOLERANCES = {2: 2.0**-7, 4: 1e-4, 8: 1e-10}
"""Allowed difference for each size in bytes of a float, relative to the array's largest magnitude.

Compiled code contracts multiplications and additions to FMAs and may reorder ``order="any"``
reductions, so its floating-point results differ from the reference by rounding.
"""


@dataclass(frozen=True)
class Comparison:
    """The largest absolute difference over all results, and whether all lie within tolerance."""

    max_abs_err: float
    is_right: bool


def compare(results: Mapping[str, AnyArray], expected: Mapping[str, AnyArray]) -> Comparison:
    """Compare arrays by name; `results` must have all names of `expected`.

    Integers and booleans must be equal. Floating-point numbers may differ by `TOLERANCES` times the
    largest finite magnitude in the expected array (at least 1).
    """
    differences = [(max_abs_err(results[name], array), array) for name, array in expected.items()]
    return Comparison(
        max((difference for difference, _ in differences), default=0.0),
        all(difference <= _allowed(array) for difference, array in differences),
    )


def _allowed(expected: np.ndarray[Any, Any]) -> float:
    if expected.dtype.kind not in "fV":  # V: bf16, which numpy does not know
        return 0.0
    finite = np.abs(expected[np.isfinite(expected)])
    largest = float(finite.astype(np.float64).max(initial=0.0))
    return TOLERANCES[expected.dtype.itemsize] * max(1.0, largest)
