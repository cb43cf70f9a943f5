"""Element types of arrays and expressions.

Integers have 1 to 32 bits, or 64. Integer types that numpy lacks (``i4``, ``u5``, ``i12``) are
*odd*. In temporaries, registers and numpy arrays of values, an odd integer is stored sign- or
zero-extended in the next larger numpy type, its *container*. Arguments of kernels are packed
instead: see :mod:`polysched.ir.core.packing`.

``f16`` (IEEE binary16) and ``bf16`` (the upper half of an f32) are *half* types: an array stores
them, and all arithmetic is done in f32. An operator converts its half operands to f32, exactly; a
store rounds the f32 value of the whole expression once, to nearest even. A stored copy keeps its
bits.
"""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import MappingProxyType
from typing import NoReturn

import numpy as np

from polysched.errors import KernelError, suggestion


class NumberKind(Enum):
    """The interpretation of an element's bits."""

    __hash__ = object.__hash__  # faster than Enum's hash, as in `Operator`

    FLOAT = "f"
    BRAIN_FLOAT = "bf"
    SIGNED = "i"
    UNSIGNED = "u"
    BOOLEAN = "b"


@dataclass(frozen=True)
class DType:
    """An element type: a kind of number and its width in bits."""

    kind: NumberKind
    bits: int

    @property
    def name(self) -> str:
        """The short name: ``f32``, ``i64``, ``u8``, ``bool``."""
        return "bool" if self.kind is NumberKind.BOOLEAN else f"{self.kind.value}{self.bits}"

    @property
    def type(self) -> NoReturn:
        """Refuse functions such as np.mean, which inspect this attribute of a numpy dtype."""
        raise KernelError(
            f"numpy treats expressions of {self.name} as numpy values here; write the arithmetic "
            "instead, such as (x + y) * 0.5 for a mean"
        )

    @property
    def is_float(self) -> bool:
        """Whether values are binary floating-point numbers."""
        return self.kind in (NumberKind.FLOAT, NumberKind.BRAIN_FLOAT)

    @property
    def is_half(self) -> bool:
        """Whether values are only stored in this type, and computed with in f32."""
        return self.is_float and self.bits == 16

    @property
    def arithmetic(self) -> DType:
        """The type in which operators compute with values of this type."""
        return f32 if self.is_half else self

    @property
    def is_integer(self) -> bool:
        """Whether values are signed or unsigned integers (booleans are neither)."""
        return self.kind in (NumberKind.SIGNED, NumberKind.UNSIGNED)

    @property
    def is_signed(self) -> bool:
        """Whether values are two's-complement integers."""
        return self.kind is NumberKind.SIGNED

    @property
    def is_odd_width(self) -> bool:
        """Whether values are integers of a width that numpy lacks."""
        return self.is_integer and self.bits not in (8, 16, 32, 64)

    @property
    def container(self) -> DType:
        """The narrowest numpy type that holds a value; the type itself unless it is odd."""
        if not self.is_odd_width:
            return self
        return DType(self.kind, max(8, 1 << (self.bits - 1).bit_length()))

    @property
    def lowest(self) -> int:
        """The smallest integer of the type."""
        return -(1 << (self.bits - 1)) if self.is_signed else 0

    @property
    def highest(self) -> int:
        """The largest integer of the type."""
        return self.lowest + (1 << self.bits) - 1

    @property
    def bytes(self) -> int:
        """Bytes of an unpacked element; a boolean takes one byte."""
        return max(1, self.container.bits // 8)

    def holds(self, number: float) -> bool:
        """Whether the type can represent a number; a float may be rounded, but not to infinity.

        Floating-point types represent infinity and NaN.
        """
        if self.is_float:
            is_finite = isinstance(number, int) or math.isfinite(number)
            return not is_finite or abs(number) < _ROUNDED_TO_INFINITY[self]
        return not self.is_integer or self.lowest <= number <= self.highest

    def numpy(self) -> np.dtype[np.generic]:
        """The numpy type of the same layout; for an odd type, that of its container.

        Raises:
            KernelError: the type is bf16, and the package ml_dtypes is not installed.
        """
        if self.kind is NumberKind.BOOLEAN:
            return np.dtype(np.bool_)
        if self.kind is NumberKind.BRAIN_FLOAT:
            return _numpy_bfloat16()
        letter = "f" if self.is_float else self.kind.value
        return np.dtype(f"{letter}{self.bytes}")

    def __str__(self) -> str:
        return self.name


@cache
def _numpy_bfloat16() -> np.dtype[np.generic]:
    try:
        import ml_dtypes  # noqa: PLC0415  # optional: only arrays of bf16 need it
    except ImportError:
        raise KernelError(
            "numpy has no type for bf16 without the package ml_dtypes: pip install ml_dtypes"
        ) from None
    dtype: np.dtype[np.generic] = np.dtype(ml_dtypes.bfloat16)
    return dtype


bf16 = DType(NumberKind.BRAIN_FLOAT, 16)
f16 = DType(NumberKind.FLOAT, 16)
f32 = DType(NumberKind.FLOAT, 32)
f64 = DType(NumberKind.FLOAT, 64)
i8 = DType(NumberKind.SIGNED, 8)
i16 = DType(NumberKind.SIGNED, 16)
i32 = DType(NumberKind.SIGNED, 32)
i64 = DType(NumberKind.SIGNED, 64)
u8 = DType(NumberKind.UNSIGNED, 8)
u16 = DType(NumberKind.UNSIGNED, 16)
u32 = DType(NumberKind.UNSIGNED, 32)
u64 = DType(NumberKind.UNSIGNED, 64)
boolean = DType(NumberKind.BOOLEAN, 1)

_ROUNDED_TO_INFINITY = MappingProxyType(
    {f16: 2**16 - 2**4, bf16: 2**128 - 2**119, f32: 2**128 - 2**103 - 2**74, f64: 2**1024 - 2**970}
)
"""The least number that rounds to infinity, by the floating-point type.

For f32 the number is rounded to f64 first.
"""

FLOAT_DTYPES = (f32, f64)

HALF_DTYPES = (bf16, f16)
"""The floating-point types that are stored only; computations with them are done in f32."""

INTEGER_DTYPES = (i8, i16, i32, i64, u8, u16, u32, u64)
"""The integer types that numpy has too."""

ALL_DTYPES = (*FLOAT_DTYPES, *INTEGER_DTYPES, boolean)
"""The types that numpy has too."""

ODD_DTYPES = tuple(
    DType(kind, bits)
    for kind in (NumberKind.SIGNED, NumberKind.UNSIGNED)
    for bits in range(1, 32)
    if bits not in (8, 16)
)
"""The integer types that numpy lacks: ``i1`` to ``i31`` and ``u1`` to ``u31`` without 8 and 16."""

_BY_NAME = {dtype.name: dtype for dtype in (*ALL_DTYPES, *HALF_DTYPES, *ODD_DTYPES)}
_INTEGER = re.compile(r"[iu][0-9]+")
_BY_NUMPY = {dtype.numpy(): dtype for dtype in (*ALL_DTYPES, f16)}
_BFLOAT16 = "bfloat16"


def as_dtype(given: DType | str | type | np.dtype[np.generic]) -> DType:
    """Convert a type or a name to an element type.

    Accepts a :class:`DType`, its short name (``"f32"``), a numpy type or its name (``"float32"``).
    Short names count bits: ``"i4"`` has four bits, while numpy's ``"i4"`` has four bytes. The numpy
    type of bf16 is that of the package ml_dtypes.

    Raises:
        KernelError: the name is unknown, or integers do not support that width.
    """
    if isinstance(given, DType):
        return given
    if isinstance(given, np.dtype) and given in _BY_NUMPY:
        return _BY_NUMPY[given]
    if isinstance(given, str) and given in _BY_NAME:
        return _BY_NAME[given]
    if isinstance(given, str) and _INTEGER.fullmatch(given):  # numpy accepts "i04" as 4 bytes
        raise KernelError(
            f"element type '{given}' has {given[1:]} bits; integers have 1 to 32 bits, or 64"
        )
    try:
        with warnings.catch_warnings():  # numpy accepts "a" with a deprecation warning
            warnings.simplefilter("ignore", DeprecationWarning)
            # numpy converts None to float64, which is hardly the user's intention.
            dtype = None if given is None else _of_numpy(given)
    except (TypeError, ValueError):  # ValueError: a tuple that numpy reads as a shape
        dtype = None
    if dtype is None:
        known = [dtype.name for dtype in (*ALL_DTYPES, *HALF_DTYPES)]
        hint = suggestion(str(given), known)
        if isinstance(given, np.dtype) and given.kind in "iuf":  # another byte order, or longdouble
            native = given.newbyteorder("=")
            hint = f"; convert with .astype('{native if native in _BY_NUMPY else np.dtype(float)}')"
        raise KernelError(f"unknown element type {given!r}{hint}")
    return dtype


def _of_numpy(given: str | type | np.dtype[np.generic]) -> DType | None:
    # A name alone does not need ml_dtypes; numpy knows the name only once the package is loaded.
    if isinstance(given, str) and given == _BFLOAT16:
        return bf16
    dtype = np.dtype(given)
    return bf16 if dtype.name == _BFLOAT16 else _BY_NUMPY.get(dtype)
