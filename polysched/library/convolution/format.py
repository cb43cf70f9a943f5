"""Element types of a convolution: how elements are stored, multiplied and summed.

Half types are multiplied in f32, and bytes in i16 or i32: the images are converted once, before the
taps run. Where an instruction adds two products to each sum, the channels of the input are
multiplied in pairs: ``vdpbf16ps`` takes bf16, ``vpdpwssd`` and ``vpmaddwd`` take i16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from polysched.ir.expr.dtypes import DType, bf16, f16, f32, f64, i8, i16, i32
from polysched.machine.description import Machine


@dataclass(frozen=True)
class Format:
    """The element types of a convolution.

    Attributes:
        stored: the type of the images.
        multiplied: the type in which images and filter are multiplied, which the filter has.
        total: the type of the sums.
        result: the type of the result.
        terms: input channels that one instruction adds to a sum.
    """

    stored: DType
    multiplied: DType
    total: DType
    result: DType
    terms: int = 1


def plain_format(dtype: DType) -> Format:
    """Format of a convolution whose elements and sums have one type."""
    return Format(dtype, dtype, dtype, dtype)


def multiplied_as(
    weight: DType, lanes: int, groups: int, machine: Machine
) -> tuple[DType, DType, int]:
    """The type in which weights are multiplied, the type of the sums, and the terms.

    Args:
        lanes: output channels of a vector.
        groups: the number of groups; channels of groups are not paired.
    """
    single, pair, total = _MULTIPLIED[weight]
    if pair is None or groups > 1:
        return single, total, 1
    # Imports the interpreter, which takes longer than a call that finds its code.
    from polysched.instructions.lookup import sum_of_products  # noqa: PLC0415

    is_known = sum_of_products((pair, pair), 2, lanes, machine.enabled_features)
    return (pair, total, 2) if is_known else (single, total, 1)


def total_of(weight: DType) -> DType:
    """The type of the sums of products with these weights."""
    return _MULTIPLIED[weight][2]


_MULTIPLIED: Mapping[DType, tuple[DType, DType | None, DType]] = MappingProxyType(
    {
        f32: (f32, None, f32),
        f64: (f64, None, f64),
        f16: (f32, None, f32),
        bf16: (f32, bf16, f32),
        i8: (i32, i16, i32),
    }
)
"""For each type of weights: the types of single and of paired terms, and that of the sums."""

WEIGHTS = tuple(_MULTIPLIED)
"""The types that weights may have. Images have the same type, but u8 too with weights of i8."""
