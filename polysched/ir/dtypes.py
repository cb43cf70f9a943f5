"""Element types of arrays and expressions.

Integers have any width from 1 to 32 bits, or 64. Those that are no whole power of two of bytes
(``i4``, ``u5``, ``i12``) are *odd*: where they have a place of their own - a temporary, a register,
a numpy array of values - they lie in the next larger one, their *container*, with the sign
extended. As arguments of kernels they are packed, see :mod:`polysched.ir.packing`.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn

import numpy as np

from polysched.errors import KernelError, suggestion


class NumberKind(Enum):
    """What the bits of an element mean."""

    __hash__ = object.__hash__  # as that of operators

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
    def type(self) -> NoReturn:
        """What np.mean asks of the type of a sum."""
        raise KernelError(
            f"numpy takes values of {self.name} for its own; write what it computes, (x + y) * 0.5 "
            "for a mean"
        )

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
    def is_odd(self) -> bool:
        """Whether values are integers of a width that no numpy type has."""
        return self.is_integer and self.bits not in (8, 16, 32, 64)

    @property
    def container(self) -> DType:
        """The type in which a value lies alone: the narrowest that numpy has; mostly itself."""
        if not self.is_odd:
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
        """Bytes that one element takes where it has a place of its own; a boolean takes one."""
        return max(1, self.container.bits // 8)

    def numpy(self) -> np.dtype[np.generic]:
        """The numpy type with the same layout; of an odd width that of its container."""
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

FLOAT_DTYPES = (f32, f64)

INTEGER_DTYPES = (i8, i16, i32, i64, u8, u16, u32, u64)
"""The integers that numpy has too."""

ALL_DTYPES = (*FLOAT_DTYPES, *INTEGER_DTYPES, boolean)
"""The types that numpy has too."""

ODD_DTYPES = tuple(
    DType(kind, bits)
    for kind in (NumberKind.SIGNED, NumberKind.UNSIGNED)
    for bits in range(1, 32)
    if bits not in (8, 16)
)
"""The integers of odd widths: ``i1`` to ``i31``, ``u1`` to ``u31``."""

_BY_NAME = {dtype.name: dtype for dtype in (*ALL_DTYPES, *ODD_DTYPES)}
_INTEGER = re.compile(r"[iu][0-9]+")
_BY_NUMPY = {dtype.numpy(): dtype for dtype in ALL_DTYPES}


def as_dtype(what: DType | str | type | np.dtype[np.generic]) -> DType:
    """Return the element type that ``what`` names.

    Accepts a :class:`DType`, its short name (``"f32"``), a numpy type or its name (``"float32"``).
    Short names count bits, here as in ``"i8"``: ``"i4"`` has four, unlike numpy's name.

    Raises:
        KernelError: no element type has that name, or no integers are that wide.
    """
    if isinstance(what, DType):
        return what
    if isinstance(what, str) and what in _BY_NAME:
        return _BY_NAME[what]
    if isinstance(what, str) and _INTEGER.fullmatch(what):  # numpy takes "i04", for bytes
        raise KernelError(
            f"element type '{what}' has {what[1:]} bits; integers have 1 to 32 bits, or 64"
        )
    try:
        with warnings.catch_warnings():  # numpy takes "a" too, with a warning
            warnings.simplefilter("ignore", DeprecationWarning)
            # It takes None for float64, which is hardly meant.
            found = None if what is None else _BY_NUMPY.get(np.dtype(what))
    except (TypeError, ValueError):  # ValueError: a tuple that numpy reads as a shape
        found = None
    if found is None:
        known = [dtype.name for dtype in ALL_DTYPES]
        raise KernelError(f"unknown element type {what!r}{suggestion(str(what), known)}")
    return found
