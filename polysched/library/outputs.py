"""Checks of ``out``, the caller's array for a result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.runtime.array_layout import IN_PLACE, WRITEABLE, fault_of_output
from polysched.runtime.memory import share_memory

NumpyArray = np.ndarray[Any, Any]


def require_output(
    who: str,
    out: NumpyArray,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    inputs: Mapping[str, NumpyArray],
    *,
    in_place: bool = True,
) -> None:
    """Check an array for a result.

    Raises:
        CallError: it has another shape or type, is read-only, overlaps an input, or, if it is
            written in place, has gaps.
    """
    if out.shape != shape or out.dtype != dtype:
        raise CallError(
            f"{who}: out has shape {out.shape} and elements of type {out.dtype}; expected {shape} "
            f"and {dtype}"
        )
    needed = IN_PLACE if in_place else WRITEABLE
    if out.flags.num & needed != needed:
        layout = out.flags.num, out.shape, out.strides, out.itemsize
        fault = fault_of_output(*layout, contiguous=in_place)
        raise CallError(f"{who}: out {fault}; compute a new array and copy it")
    require_separate(who, out, inputs)


def require_separate(who: str, out: NumpyArray, inputs: Mapping[str, NumpyArray]) -> None:
    """Check that an array for a result overlaps no input."""
    for name, array in inputs.items():
        if share_memory(array, out):
            raise CallError(
                f"{who}: arrays '{name}' and 'out' overlap in memory, and 'out' is written; "
                "expected separate memory: pass a copy of one of them"
            )
