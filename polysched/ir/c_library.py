"""Functions of the C library's math.h on single values: what a call of one means."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np


def library_function(name: str, operands: int) -> Callable[..., Any]:
    """The function of the C library, which machine code calls too unless it computes it itself.

    It takes and gives float32 values (by the function whose name ends in ``f``) or float64 values.
    """
    double = _found(name, ctypes.c_double, operands)
    single = _found(f"{name}f", ctypes.c_float, operands)

    def call(*values: Any) -> Any:
        if isinstance(values[0], np.float32):
            return np.float32(single(*map(float, values)))
        return np.float64(double(*map(float, values)))

    return call


def _found(name: str, type_: Any, operands: int) -> Callable[..., float]:
    prototype = ctypes.CFUNCTYPE(type_, *([type_] * operands))
    found: Callable[..., float] = prototype((name, _library()))
    return found


def _library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libm.so.6")
    except OSError:  # another C library than GNU's, which holds the functions itself
        return ctypes.CDLL(None)
