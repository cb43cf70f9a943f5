"""Limits of random kernels: sizes, element types, layouts."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.fuzz.generate.randomness import Integers, chance, choose
from polysched.ir.expr.dtypes import (
    FLOAT_DTYPES,
    HALF_DTYPES,
    INTEGER_DTYPES,
    ODD_DTYPES,
    DType,
    as_dtype,
    f32,
    f64,
    i8,
    i32,
    i64,
)


@dataclass(frozen=True)
class Limits:
    """Limits of a random kernel.

    Attributes:
        largest: the greatest value of a bounded parameter.
        dtype: the type of most elements.
        others: the types of some arrays.
        exact: whether results are equal bit for bit: no FMA contraction, no reassociated float sum.
            Otherwise floats stay positive, which bounds the relative error.
        strided: whether arguments may have strides.
    """

    largest: int = 4
    dtype: DType = i32
    others: tuple[DType, ...] = ()
    exact: bool = False
    strided: bool = False

    def types(self, *, written: bool) -> tuple[DType, ...]:
        """Return the possible element types of an array, the main type twice.

        If floats are not exact, no integer may depend on them, so a written array has floats.
        """
        every = (self.dtype, self.dtype, *self.others)
        floats = tuple(dtype for dtype in every if dtype.is_float)
        return floats if floats and written and not self.exact else every


_NARROW = tuple(dtype for dtype in INTEGER_DTYPES if dtype.bits <= 16)
_COMMON_ODD = tuple(map(as_dtype, ("i4", "u4", "u5", "i12", "u1", "i2", "u7", "u12", "i3")))


def order_limits(integers: Integers) -> Limits:
    """Choose limits for Mode.ORDER; some kernels have packed arrays, for byte sharing."""
    if not chance(integers, 1, 6):
        return Limits()
    return Limits(dtype=choose(integers, _COMMON_ODD))


def plain_limits(integers: Integers) -> Limits:
    """Choose limits for Mode.RUN; floats are exact, as the interpreter rounds each operation."""
    if not chance(integers, 1, 4):
        return Limits()
    return Limits(others=_others(integers, exact=True), exact=True)


def machine_limits(integers: Integers) -> Limits:
    """Choose limits for Mode.MACHINE; half of the kernels have one type and no strides."""
    dtype = choose(integers, [i32, i32, i32, i8, i64, f32, f64])
    if chance(integers, 1, 2):
        return Limits(largest=17, dtype=dtype)
    exact = chance(integers, 1, 2)
    return Limits(
        largest=17,
        dtype=choose(integers, HALF_DTYPES) if exact and chance(integers, 1, 6) else dtype,
        others=_others(integers, exact=exact) if chance(integers, 3, 4) else (),
        exact=exact,
        strided=chance(integers, 1, 2),
    )


def _others(integers: Integers, *, exact: bool) -> tuple[DType, ...]:
    """Choose one to three types: packed, narrow, or float; half types only if floats are exact."""
    kinds = [_COMMON_ODD, _NARROW, FLOAT_DTYPES, ODD_DTYPES]
    kinds += [HALF_DTYPES] if exact else []
    return tuple(choose(integers, choose(integers, kinds)) for _ in range(integers(1, 3)))
