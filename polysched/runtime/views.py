"""Views of arguments as numpy arrays, without a copy."""

from __future__ import annotations

import ctypes
import math
from enum import IntEnum
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from polysched.errors import CallError
from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.dtypes import DType, bf16, boolean


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
    if type(value) is np.ndarray:  # numpy imports its masked arrays when they are first named
        return value.view()
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
            f"{subject} is of type {type(value).__name__}; expected a numpy array, "
            "such as np.asarray(...) of it, an object with the buffer protocol or a DLPack tensor"
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
    """
    if isinstance(value, bool):
        fits = dtype == boolean
    elif dtype.is_integer and not dtype.is_odd_width:
        fits = isinstance(value, int) and dtype.lowest <= value <= dtype.highest
    else:
        fits = dtype.is_float
    if not fits:
        raise CallError(f"{subject} is {value!r}, which is not a number of type {dtype}")
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
    if getattr(value, "is_neg", bool)():  # torch exports the memory, whose signs are not applied
        raise CallError(
            f"{subject} is a tensor whose elements are negated when they are read, such as the "
            "imaginary part of a conjugate; pass its .resolve_neg()"
        )
    try:
        return _bfloat16(value) if _is_bfloat16(value) else np.from_dlpack(value)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise CallError(
            f"{subject}: its DLPack export cannot be viewed as an array: {error}"
        ) from error


class _Tensor(ctypes.Structure):
    """The ``DLTensor`` of the DLPack standard."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    )


class _VersionedTensor(ctypes.Structure):
    """The ``DLManagedTensorVersioned`` of the DLPack standard from version 1.0 on."""

    _fields_ = (
        ("version", ctypes.c_uint32 * 2),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_READ_ONLY = 1
"""``DLPACK_FLAG_BITMASK_READ_ONLY``."""

_BFLOAT16 = (4, 16, 1)
"""``kDLBfloat``, bits and lanes."""


def _is_bfloat16(value: DLPackTensor) -> bool:
    # numpy refuses to import this type only, and a name is cheaper to read than an export.
    return "bfloat16" in str(getattr(value, "dtype", ""))


def _bfloat16(value: DLPackTensor) -> np.ndarray[Any, Any]:
    """View a tensor of bf16, which ``np.from_dlpack`` does not know, as an array of ml_dtypes."""
    try:
        capsule = value.__dlpack__(max_version=(1, 0))
    except TypeError:  # a producer of the standard before it had versions
        capsule = value.__dlpack__()
    pointer, is_valid = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_IsValid
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    is_valid.restype, is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    if is_valid(capsule, b"dltensor_versioned"):
        exported = _VersionedTensor.from_address(pointer(capsule, b"dltensor_versioned"))
        tensor, is_read_only = exported.tensor, bool(exported.flags & _READ_ONLY)
    else:
        tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
        is_read_only = False
    if (tensor.code, tensor.bits, tensor.lanes) != _BFLOAT16:
        raise BufferError("its element type is not bfloat16")
    shape = tuple(tensor.shape[: tensor.rank])
    strides = tuple(2 * step for step in tensor.strides[: tensor.rank]) if tensor.strides else None
    if 0 in shape:
        return np.empty(shape, bf16.numpy())
    if strides is not None and min(strides, default=0) < 0:
        raise BufferError("it has a negative stride")
    steps = strides or tuple(2 * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    size = 2 + sum((extent - 1) * step for extent, step in zip(shape, steps, strict=True))
    memory = (ctypes.c_char * size).from_address((tensor.data or 0) + tensor.offset)
    memory.capsule = capsule  # keeps the memory alive
    array: np.ndarray[Any, Any] = np.ndarray(shape, bf16.numpy(), memory, 0, steps)
    array.flags.writeable = not is_read_only
    return array
