"""Reference semantics of the math functions: the C library's, called on scalars."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np


def library_function(name: str, operands: int) -> Callable[..., Any]:
    """Wrap a function of math.h; generated code calls the same function or computes it inline.

    The wrapper accepts float32 values (it calls the variant whose name ends in ``f``) or float64
    values, and returns the same type.

    Args:
        name: the name of the float64 variant.
        operands: the number of operands.
    """
    double = _load(name, ctypes.c_double, operands)
    single = _load(f"{name}f", ctypes.c_float, operands)

    def call(*values: Any) -> Any:
        if isinstance(values[0], np.float32):
            return np.float32(single(*map(float, values)))
        return np.float64(double(*map(float, values)))

    return call


def _load(name: str, type_: Any, operands: int) -> Callable[..., float]:
    prototype = ctypes.CFUNCTYPE(type_, *([type_] * operands))
    function: Callable[..., float] = prototype((name, _library()))
    return function


def _library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libm.so.6")
    except OSError:  # not glibc: other C libraries contain the math functions themselves
        return ctypes.CDLL(None)
