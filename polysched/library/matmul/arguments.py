"""The arguments of a call of ``matmul`` but for the operands' memory: checked, made ready."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from polysched.errors import CallError, KernelError, suggestion
from polysched.ir.dtypes import DType, as_dtype
from polysched.library.matmul.activations import ACTIVATIONS, OF_INTEGERS
from polysched.library.matmul.finish import Factor, Finish
from polysched.library.matmul.shapes import NumpyArray

_FINISHES = 64


def element_type(a: np.dtype[Any], b: np.dtype[Any]) -> DType:
    """The type of both operands.

    Raises:
        CallError: they have two types, or one that is no number to multiply.
    """
    if a != b:
        raise CallError(
            f"matmul: 'a' has elements of type {a} and 'b' of type {b}; expected one "
            "type: convert one of them with .astype(...)"
        )
    try:
        dtype = as_dtype(a)
    except KernelError:
        dtype = None
    if dtype is None or not (dtype.is_float or (dtype.is_integer and dtype.is_signed)):
        raise CallError(
            f"matmul: the operands have elements of type {a}; expected float32, float64 or a "
            "signed integer"
        )
    return dtype


@lru_cache(maxsize=_FINISHES)
def finish_of(alpha: float, beta: float, activation: str | None) -> Finish:
    """What is to be done for factors and an activation, the bias apart."""
    kinds: Mapping[float, Factor] = {0: Factor.ZERO, 1: Factor.ONE}
    return Finish(kinds.get(alpha, Factor.ANY), kinds.get(beta, Factor.ANY), activation=activation)


def require_activation(activation: object) -> None:
    """Check the name of an activation.

    Raises:
        CallError: there is none of that name.
    """
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        known = suggestion(str(activation), ACTIVATIONS)
        raise CallError(f"matmul: there is no activation {activation!r}{known}")


def require_activation_of(activation: str | None, total: np.dtype[Any]) -> None:
    """Check that sums of a type have an activation.

    Raises:
        CallError: they are integers, which do not have it.
    """
    if total.kind != "f" and not (activation is None or activation in OF_INTEGERS):
        raise CallError(
            f"matmul: activation {activation!r} of sums of type {total}; integers have "
            f"{', '.join(map(repr, OF_INTEGERS))} only: convert the operands to float32"
        )


def number(name: str, value: Any) -> int | float:
    """A factor as Python's number: of one, or of an array without dimensions.

    Raises:
        CallError: it is no real number.
    """
    if type(value) is float or type(value) is int:
        return value
    found = value.item() if isinstance(value, np.generic | np.ndarray) and not value.ndim else value
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise CallError(
            f"matmul: {name} is {value!r} of type {type(value).__name__}; expected a real number"
        )
    return found


def scalar(name: str, value: float, dtype: np.dtype[Any]) -> NumpyArray:
    """A factor as an array without dimensions, in the type of the result.

    Raises:
        CallError: the type does not hold it. Floating-point numbers are rounded.
    """
    if dtype.kind == "f":
        is_finite = isinstance(value, int) or math.isfinite(value)
        fits = not is_finite or abs(value) <= float(np.finfo(dtype).max)
    elif isinstance(value, int):
        fits = np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    else:
        raise CallError(
            f"matmul: {name} is {value}; expected an integer, since the result has elements of "
            f"type {dtype}"
        )
    if not fits:
        raise CallError(f"matmul: {name} is {value}; expected what {dtype} holds")
    return np.array(value, dtype)


def require_bias(bias: NumpyArray, dtype: np.dtype[Any]) -> None:
    """Check the type of a bias.

    Raises:
        CallError: it is not that of the result.
    """
    if bias.dtype != dtype:
        raise CallError(
            f"matmul: bias has elements of type {bias.dtype}; expected {dtype}, the type of the "
            "result"
        )


def spread(bias: NumpyArray, length: int, times: int) -> NumpyArray:
    """A bias that stands several times along a dimension, or is one number for all of it."""
    matrix = np.broadcast_to(bias.reshape(-1), (times, length // times))
    return np.array(matrix, order="C").reshape(length)
