"""Options of a ``matmul`` call (factors, bias, activation, threads): check, convert, cache."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from polysched.errors import CallError, KernelError, suggestion
from polysched.ir.expr.dtypes import DType, as_dtype, bf16, f16, f32, f64, i8
from polysched.library.matmul.dispatch.shapes import NumpyArray
from polysched.library.matmul.kernel.declare import accumulator_of
from polysched.library.matmul.kernel.epilogue import (
    ACTIVATIONS,
    OF_INTEGERS,
    PLAIN,
    Epilogue,
    Factor,
    arithmetic_of,
)
from polysched.runtime.views import as_array

_EPILOGUES = 64


BYTES = frozenset({np.dtype(np.int8), np.dtype(np.uint8)})
"""Types of arrays that are multiplied as they are, in any combination."""


def element_type(a: np.dtype[Any], b: np.dtype[Any]) -> DType:
    """The element type of a product: that of both operands, or int8 for bytes of either sign."""
    if {a, b} <= BYTES:
        return i8
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
            f"matmul: the operands have elements of type {a}; expected float32, float64, float16, "
            "bfloat16, uint8 or a signed integer"
        )
    return dtype


def result_type(operands: DType, requested: DType | None) -> DType:
    """The element type of a product: the type of half operands, else the type of the sums.

    Sums of integers may be rounded to float32 or float64, and those of float32 to a half type.
    """
    total = accumulator_of(operands)
    choices: tuple[DType, ...] = (operands, total) if operands.is_half else (total,)
    choices += (f32, f64) if total.is_integer else (bf16, f16) if choices == (f32,) else ()
    if requested is not None and requested not in choices:
        raise CallError(
            f"matmul: dtype is {requested}, and the operands have elements of type {operands}; "
            f"expected {' or '.join(map(str, choices))}"
        )
    return requested or choices[0]


@lru_cache(maxsize=_EPILOGUES)
def epilogue_of(alpha: float, beta: float, activation: str | None) -> Epilogue:
    """The epilogue of factors and an activation, without the bias."""
    kinds: Mapping[float, Factor] = {0: Factor.ZERO, 1: Factor.ONE}
    return Epilogue(
        kinds.get(alpha, Factor.ANY), kinds.get(beta, Factor.ANY), activation=activation
    )


def require_activation(activation: object) -> None:
    """Check the name of an activation."""
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        known = suggestion(str(activation), ACTIVATIONS)
        raise CallError(f"matmul: there is no activation {activation!r}{known}")


def require_activation_of(activation: str | None, total: np.dtype[Any]) -> None:
    """Check that an activation is defined for sums of a type."""
    if total.kind != "f" and not (activation is None or activation in OF_INTEGERS):
        raise CallError(
            f"matmul: activation {activation!r} of sums of type {total}; integers have "
            f"{', '.join(map(repr, OF_INTEGERS))} only: convert the operands to float32"
        )


def number(name: str, value: Any) -> int | float:
    """Convert a factor, which may be an array without dimensions, to a Python number."""
    if type(value) is float or type(value) is int:
        return value
    is_scalar = isinstance(value, np.generic | np.ndarray) and not value.ndim
    factor = value.item() if is_scalar else value
    if isinstance(factor, bool) or not isinstance(factor, int | float):
        raise CallError(
            f"matmul: {name} is {value!r} of type {type(value).__name__}; expected a real number"
        )
    return factor


def scalar(name: str, value: float, dtype: np.dtype[Any]) -> NumpyArray:
    """Convert a factor to an array without dimensions of the result's type, rounding if needed."""
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
        raise CallError(f"matmul: {name} is {value}; expected a number within the range of {dtype}")
    return np.array(value, dtype)


def require_bias(bias: NumpyArray, dtype: np.dtype[Any]) -> None:
    """Check the type of a bias."""
    if bias.dtype != dtype:
        raise CallError(
            f"matmul: bias has elements of type {bias.dtype}; expected {dtype}, the type of the "
            "result"
        )


def spread(bias: NumpyArray, length: int, times: int) -> NumpyArray:
    """Repeat a bias ``times`` times, or broadcast a single number, to a vector of ``length``."""
    matrix = np.broadcast_to(bias.reshape(-1), (times, length // times))
    return np.array(matrix, order="C").reshape(length)


_OPTIONS = 256


class CallOptions(NamedTuple):
    """The checked options of a call.

    Attributes:
        epilogue: what is applied to the sums, without the scales and the bias.
        factors: the factors other than 0 and 1, as the kernel takes them.
        kind: the key of the call cache; equal for calls that differ in the factors' values only.
        dtype: the requested type of the result; None for the default.
        scales: the scales, as the kernel takes them.
    """

    epilogue: Epilogue
    factors: tuple[NumpyArray, ...]
    kind: object
    dtype: DType | None = None
    scales: tuple[NumpyArray, ...] = ()


def plain_options(threads: int | None) -> CallOptions:
    """The options of a plain product on a number of threads."""
    return CallOptions(PLAIN, (), threads)


def call_options(
    alpha: Any,
    beta: Any,
    activation: str | None,
    threads: int | None,
    types: tuple[np.dtype[Any], np.dtype[Any]],
    dtype: DType | None = None,
    scale: Any = None,
) -> CallOptions:
    """Check the options of a call whose operands have the given ``types``.

    The scaled sums of integers are float32 by default.
    """
    if activation is not None:
        require_activation(activation)
    factors = number("alpha", alpha), number("beta", beta)
    if scale is None:
        return _call_options(*factors, activation, threads, types, dtype, 0)
    element = element_type(*types)
    dtype = f32 if dtype is None and element.is_integer else dtype
    arithmetic = arithmetic_of(accumulator_of(element), result_type(element, dtype))
    scales = scale_arrays(scale, arithmetic)
    options = _call_options(*factors, activation, threads, types, dtype, len(scales))
    return options._replace(scales=scales)


def scale_arrays(scale: Any, dtype: DType) -> tuple[NumpyArray, ...]:
    """Convert one or two scales, arrays or real numbers, to arrays of the epilogue's type."""
    given = scale if isinstance(scale, tuple) else (scale,)
    if not dtype.is_float or not 1 <= len(given) <= 2:
        raise CallError(
            f"matmul: scale= is for floating-point results; dtype is {dtype}"
            if not dtype.is_float
            else f"matmul: scale= has {len(given)} arrays; expected one, or one for the rows and "
            "one for the columns"
        )
    scales, element = [], dtype.numpy()
    for value in given:
        if isinstance(value, int | float | np.generic):
            scales.append(scalar("scale", number("scale", value), element))
            continue
        array = as_array(value, "matmul: scale")
        if not np.can_cast(array.dtype, element, "safe"):
            raise CallError(
                f"matmul: scale has elements of type {array.dtype}; expected {element}, the type "
                "of the scaled sums, or a type that it holds"
            )
        scales.append(array.astype(element, copy=False))
    return tuple(scales)


# Typed, because 1.0 equals 1 but is no valid factor of integers.
@lru_cache(maxsize=_OPTIONS, typed=True)
def _call_options(
    alpha: float,
    beta: float,
    activation: str | None,
    threads: int | None,
    types: tuple[np.dtype[Any], np.dtype[Any]],
    dtype: DType | None,
    scales: int,
) -> CallOptions:
    epilogue = epilogue_of(alpha, beta, activation)
    element = element_type(*types)
    total = arithmetic_of(accumulator_of(element), result_type(element, dtype)).numpy()
    require_activation_of(activation, total)
    arguments = {"alpha": (epilogue.alpha, alpha), "beta": (epilogue.beta, beta)}
    factors = tuple(
        scalar(name, value, total)
        for name, (factor, value) in arguments.items()
        if factor is Factor.ANY
    )
    return CallOptions(epilogue, factors, _kind(epilogue, threads, dtype, scales), dtype)


@lru_cache(maxsize=_OPTIONS)
def _kind(epilogue: Epilogue, threads: int | None, dtype: DType | None, scales: int) -> object:
    # An object is hashed faster than the epilogue.
    return threads if epilogue == PLAIN and dtype is None and not scales else object()
