"""The nearest value of a narrow type, on scalars."""

import math

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import DType, as_dtype, boolean, f32, f64, i8, i32, u8
from polysched.ir.expr.expressions import Load
from polysched.ir.expr.functions import cast
from polysched.ir.expr.saturation import saturate
from polysched.ir.semantics.scalar import evaluate


def saturated(value: object, source: DType, target: str) -> int:
    read = source.numpy().type(value)
    return evaluate(saturate(Load("x", (), source), target), lambda *_: read, {})


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (300, i32, "i4", 7),
        (-300, i32, "i4", -8),
        (5, i32, "i4", 5),
        (-3, i8, "u4", 0),
        (200, u8, "i4", 7),
        (200, u8, "u12", 200),
        (7.9, f32, "i4", 7),
        (1e30, f32, "i4", 7),
        (-1e30, f64, "u5", 0),
        (math.inf, f64, "i31", 2**30 - 1),
        (math.inf, f32, "i31", 2**30 - 64),
        (math.nan, f32, "i4", -8),
    ],
)
def test_the_nearest_value(value: object, source: DType, target: str, expected: int) -> None:
    assert saturated(value, source, target) == expected


def test_what_cannot_be_saturated() -> None:
    with pytest.raises(KernelError, match="f32\\): expected an integer type to convert to"):
        saturate(Load("x", (), i32), f32)
    with pytest.raises(KernelError, match="saturate\\(3, i4\\): the value is a literal"):
        saturate(3, "i4")
    with pytest.raises(KernelError, match="the value is bool; expected a typed number"):
        saturate(Load("x", (), boolean), "i4")


def test_types_go_by_their_names() -> None:
    assert cast(Load("x", (), i32), "i4").dtype == as_dtype("i4")
    assert np.iinfo(as_dtype("i4").numpy()).bits == 8
