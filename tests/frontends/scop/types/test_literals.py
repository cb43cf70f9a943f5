from __future__ import annotations

import math
import sys

import pytest
from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.source.parse import parse
from polysched.frontends.scop.source.text import source_text
from polysched.frontends.scop.types.literals import literal, narrowed_literal
from polysched.ir.expr.dtypes import DType, f32, f64, i32, i64, u32, u64
from polysched.ir.expr.expressions import Constant


def read(text: str) -> Constant:
    parsed = parse(source_text(f"int x = {text};", "a.c"))
    node = parsed.tree.ext[-1].init
    assert isinstance(node, c_ast.Constant)
    return literal(node, parsed.source_map)


@pytest.mark.parametrize(
    ("text", "value", "dtype"),
    [
        ("0", 0, i32),
        ("42", 42, i32),
        ("2147483648", 2**31, i64),
        ("0x80000000", 2**31, u32),
        ("0xffffffffffffffff", 2**64 - 1, u64),
        ("017", 15, i32),
        ("5u", 5, u32),
        ("5ul", 5, u64),
        ("5LL", 5, i64),
        ("'a'", 97, i32),
        (r"'\n'", 10, i32),
        ("1.5", 1.5, f64),
        ("1e3", 1000.0, f64),
        ("0.1f", 0.10000000149011612, f32),
        ("0x1.8p1", 3.0, f64),
        (".5", 0.5, f64),
        # Just above the middle of two floats, where a double says it is the middle.
        ("1.00000005960464477539062500000000001f", 1.0 + 2**-23, f32),
        ("1.000000059604644775390625f", 1.0, f32),
        ("1e-46f", 0.0, f32),
        ("3.40282346638528859811704183484516925e+38F", 2.0**128 - 2.0**104, f32),
        ("1e39f", math.inf, f32),
    ],
)
def test_a_literal_has_the_type_of_c(text: str, value: float, dtype: DType) -> None:
    assert read(text) == Constant(value, dtype)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1.0L", "a long double; expected a float or a double"),
        ('"text"', "is not a number"),
        ("18446744073709551616u", "does not fit 64 bits"),
        (r"'\x41'", "is not supported; expected one such as 'a'"),
    ],
)
def test_what_is_no_number(text: str, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        read(text)


@pytest.mark.parametrize(
    ("text", "value", "dtype"),
    [
        ("1.79769313486231570814527423731704357e+308L", sys.float_info.max, f64),
        ("2.22507385850720138309023271733240406e-308L", sys.float_info.min, f64),
        ("0.1L", 0.1, f64),
        ("0.1L", 0.10000000149011612, f32),
        ("0x1p3L", None, f64),
        ("1.5", None, f64),
    ],
)
def test_a_long_double_that_is_cast_at_once(text: str, value: float | None, dtype: DType) -> None:
    parsed = parse(source_text(f"double x = {text};", "a.c"))
    found = narrowed_literal(parsed.tree.ext[-1].init, dtype, parsed.source_map)
    assert found == (None if value is None else Constant(value, dtype))


def test_a_long_double_whose_precision_matters_is_refused() -> None:
    """Beyond the middle of two doubles by less than a significand of 64 bits shows."""
    digits = "1.00000000000000011102230246251565404236316680908203125000000000000001"
    parsed = parse(source_text(f"double x = {digits}L;", "a.c"))
    with pytest.raises(FrontendError, match="depends on the precision of long double"):
        narrowed_literal(parsed.tree.ext[-1].init, f64, parsed.source_map)
