"""Views of arguments as numpy arrays, without a copy."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from polysched.errors import CallError
from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.dtypes import DType, boolean


class DLPackDevice(IntEnum):
    """The devices of the DLPack standard whose memory this process can read (``DLDeviceType``)."""

    CPU = 1
    CUDA_HOST = 3


@runtime_checkable
class DLPackTensor(Protocol):
    """An object that exports its memory by the DLPack protocol of the array API standard."""

    def __dlpack__(self, **options: Any) -> Any:
        """A capsule that holds a ``DLManagedTensor``."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """The type and number of the device."""


def as_array(value: object, subject: str) -> np.ndarray[Any, Any]:
    """View an array, a DLPack tensor in the CPU's memory or a buffer as a numpy array.

    Raises:
        CallError: ``value`` is none of these; the message starts with ``subject``.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise CallError(f"{subject} is a masked array, whose mask would be ignored; pass its .data")
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    if isinstance(value, DLPackTensor):
        return _from_dlpack(value, subject)
    try:
        return np.asarray(memoryview(value))  # type: ignore[arg-type]
    except TypeError:
        raise CallError(
            f"{subject} is of type {type(value).__name__}; expected a numpy array, an "
            "object with the buffer protocol or a DLPack tensor"
        ) from None
    except (ValueError, RuntimeError, BufferError) as error:
        raise CallError(f"{subject}: its buffer cannot be viewed as an array: {error}") from error


def as_argument(value: object, array: Array, kernel: str) -> np.ndarray[Any, Any]:
    """View an argument as a numpy array; a Python number may stand for an input without dimensions.

    Raises:
        CallError: ``value`` is neither; the message starts with ``kernel``.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, np.generic)
    if is_number and array.role is Role.INPUT and not array.shape:
        return as_number(cast(float, value), array.dtype, f"{kernel}: '{array.name}'")
    return as_array(value, f"{kernel}: array '{array.name}'")


def as_number(value: float, dtype: DType, subject: str) -> np.ndarray[Any, Any]:
    """Make a Python number an array without dimensions, if the type holds its value.

    Floats are rounded to the type.

    Raises:
        CallError: the type does not hold such a number; the message starts with ``subject``.
    """
    if isinstance(value, bool):
        fits = dtype == boolean
    elif dtype.is_integer and not dtype.is_odd_width:
        fits = isinstance(value, int) and dtype.lowest <= value <= dtype.highest
    else:
        fits = dtype.is_float
    if not fits:
        raise CallError(f"{subject} is {value!r}, which is no number of type {dtype}")
    try:
        with np.errstate(over="ignore"):  # a float too large is infinity, as in numpy's conversion
            return np.array(value, dtype.numpy())
    except OverflowError:
        raise CallError(f"{subject} is an integer too large for type {dtype}") from None


def _from_dlpack(value: DLPackTensor, subject: str) -> np.ndarray[Any, Any]:
    try:
        device, _ = value.__dlpack_device__()
    except (TypeError, ValueError) as error:
        raise CallError(
            f"{subject}: its __dlpack_device__() gives no pair of device type and number: {error}"
        ) from error
    if device not in tuple(DLPackDevice):
        raise CallError(
            f"{subject} is a DLPack tensor on a device of type {device}; expected "
            "one in the memory of the CPU (type 1): copy it there first"
        )
    try:
        return np.from_dlpack(value)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise CallError(
            f"{subject}: its DLPack export cannot be viewed as an array: {error}"
        ) from error
