"""Element types of arrays and expressions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from polysched.errors import KernelError, suggestion


class NumberKind(Enum):
    """What the bits of an element mean."""

    FLOAT = "f"
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
    def is_float(self) -> bool:
        """Whether values are IEEE binary floating-point numbers."""
        return self.kind is NumberKind.FLOAT

    @property
    def is_integer(self) -> bool:
        """Whether values are signed or unsigned integers (booleans are neither)."""
        return self.kind in (NumberKind.SIGNED, NumberKind.UNSIGNED)

    @property
    def is_signed(self) -> bool:
        """Whether values are two's-complement integers."""
        return self.kind is NumberKind.SIGNED

    @property
    def bytes(self) -> int:
        """Bytes that one element takes in an array; a boolean takes one."""
        return max(1, self.bits // 8)

    def numpy(self) -> np.dtype[np.generic]:
        """The numpy type with the same layout."""
        if self.kind is NumberKind.BOOLEAN:
            return np.dtype(np.bool_)
        letter = "f" if self.is_float else self.kind.value
        return np.dtype(f"{letter}{self.bytes}")

    def __str__(self) -> str:
        return self.name


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

ALL_DTYPES = (f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean)
_BY_NAME = {dtype.name: dtype for dtype in ALL_DTYPES}
_BY_NUMPY = {dtype.numpy(): dtype for dtype in ALL_DTYPES}


def as_dtype(what: DType | str | type | np.dtype[np.generic]) -> DType:
    """Return the element type that ``what`` names.

    Accepts a :class:`DType`, its short name (``"f32"``), a numpy type or its name (``"float32"``).

    Raises:
        KernelError: no element type has that name.
    """
    if isinstance(what, DType):
        return what
    if isinstance(what, str) and what in _BY_NAME:
        return _BY_NAME[what]
    try:
        # numpy takes None for float64, which is hardly meant.
        found = None if what is None else _BY_NUMPY.get(np.dtype(what))
    except TypeError:
        found = None
    if found is None:
        raise KernelError(f"unknown element type {what!r}{suggestion(str(what), _BY_NAME)}")
    return found
