"""Checks of ``out``."""

import numpy as np
import pytest

from polysched.errors import CallError
from polysched.library.outputs import require_output

X = np.zeros((4, 6), np.float32)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.zeros((4, 5), "f4"), r"f: out has shape \(4, 5\) .*; expected \(4, 6\) and float32"),
        (np.zeros((4, 6)), "f: out has .* elements of type float64; expected"),
        (np.broadcast_to(np.float32(0), (4, 6)), "f: out is read-only; compute a new array"),
        (X, "f: arrays 'x' and 'out' overlap in memory"),
    ],
)
@pytest.mark.parametrize("in_place", [True, False])
def test_arrays_that_do_not_fit_are_refused(out: np.ndarray, message: str, in_place: bool) -> None:  # type: ignore[type-arg]
    with pytest.raises(CallError, match=message):
        require_output("f", out, (4, 6), np.dtype("f4"), {"x": X}, in_place=in_place)


def test_gaps_are_refused_in_place_only() -> None:
    out = np.zeros((4, 12), np.float32)[:, ::2]
    require_output("f", out, (4, 6), np.dtype("f4"), {"x": X}, in_place=False)
    with pytest.raises(CallError, match="f: out is not contiguous in row-major order; compute"):
        require_output("f", out, (4, 6), np.dtype("f4"), {"x": X})
