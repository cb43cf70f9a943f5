"""How large and how various random kernels may become: sizes, element types, layouts."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.fuzz.randomness import Integers, chance, choose
from polysched.ir.dtypes import (
    FLOAT_DTYPES,
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
    """What a random kernel may be.

    Attributes:
        largest: the greatest value of a parameter that has one.
        dtype: the type of most elements.
        others: types that some arrays have instead.
        exact: whether every operation on floats rounds by itself and no sum of them is free in its
            order, so that all results are the same bits; else floats stay positive.
        strided: whether arguments may have strides.
    """

    largest: int = 4
    dtype: DType = i32
    others: tuple[DType, ...] = ()
    exact: bool = False
    strided: bool = False

    def types(self, *, written: bool) -> tuple[DType, ...]:
        """What an array may have, the main type twice.

        Where floats are not exact no integer must depend on them: then what is written is a float.
        """
        every = (self.dtype, self.dtype, *self.others)
        floats = tuple(one for one in every if one.is_float)
        return floats if floats and written and not self.exact else every


_NARROW = tuple(dtype for dtype in INTEGER_DTYPES if dtype.bits <= 16)
_COMMON_ODD = tuple(map(as_dtype, ("i4", "u4", "u5", "i12", "u1", "i2", "u7", "u12", "i3")))


def order_limits(integers: Integers) -> Limits:
    """Of kernels whose order is judged: some have packed arrays, whose bytes threads may share."""
    if not chance(integers, 1, 6):
        return Limits()
    return Limits(dtype=choose(integers, _COMMON_ODD))


def plain_limits(integers: Integers) -> Limits:
    """Of kernels whose loops are interpreted, every operation as it is written."""
    if not chance(integers, 1, 4):
        return Limits()
    return Limits(others=_others(integers), exact=True)


def machine_limits(integers: Integers) -> Limits:
    """Of kernels that become machine code; half of them have one type and no strides."""
    dtype = choose(integers, [i32, i32, i32, i8, i64, f32, f64])
    if chance(integers, 1, 2):
        return Limits(largest=17, dtype=dtype)
    return Limits(
        largest=17,
        dtype=dtype,
        others=_others(integers) if chance(integers, 3, 4) else (),
        exact=chance(integers, 1, 2),
        strided=chance(integers, 1, 2),
    )


def _others(integers: Integers) -> tuple[DType, ...]:
    """One to three types: packed ones, narrow ones, floats."""
    kinds = [_COMMON_ODD, _NARROW, FLOAT_DTYPES, ODD_DTYPES]
    return tuple(choose(integers, choose(integers, kinds)) for _ in range(integers(1, 3)))
