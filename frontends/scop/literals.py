"""C's literals."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
from pycparser import c_ast

from polysched.frontends.scop.places import Places
from polysched.frontends.scop.types import type_range
from polysched.ir.dtypes import DType, f32, f64, i32, i64, u32, u64
from polysched.ir.expressions import Constant

_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8}
_INTEGER = re.compile(r"(0[xX][\da-fA-F]+|0[bB][01]+|\d+)([uUlL]*)$")


def literal(node: c_ast.Constant, places: Places) -> Constant:
    """A literal with the type that C gives it.

    Raises:
        FrontendError: a text, a long double, or a number that fits no type.
    """
    text: str = node.value
    if node.type == "char" and text.startswith("'"):
        return Constant(_character(node, text[1:-1], places), i32)
    if node.type in ("float", "double", "long double"):
        return _real(node, text, places)
    match = _INTEGER.match(text)
    if match is None:
        raise places.error(node, f"{text} is no number; expected an integer or a real number")
    return _integer(node, match[1], match[2].lower(), places)


def _real(node: c_ast.Constant, text: str, places: Places) -> Constant:
    suffix = text[-1].lower()
    is_hexadecimal = text[:2].lower() == "0x"
    if suffix == "l":
        raise places.error(node, "a long double; expected a float or a double")
    is_single = suffix == "f" and (not is_hexadecimal or "p" in text.lower())
    digits = text[:-1] if is_single else text
    try:
        value = float.fromhex(digits) if is_hexadecimal else float(digits)
    except (ValueError, OverflowError):
        raise places.error(node, f"{text} is no number that a double can hold") from None
    if not is_single:
        return Constant(value, f64)
    exact = Fraction(value) if is_hexadecimal else Fraction(digits)
    return Constant(_rounded_once(value, exact), f32)


def _rounded_once(value: float, exact: Fraction) -> float:
    """The float nearest to a number; through a double it would be rounded twice."""
    with np.errstate(over="ignore"):  # beyond FLT_MAX, and beside it, there is infinity
        near = np.float32(value)
        if not np.isfinite(near):
            return float(near)
        candidates = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.inf)]
    finite = [one for one in candidates if np.isfinite(one)]
    # Of two that are equally near, the even one.
    best = min(finite, key=lambda one: (abs(Fraction(float(one)) - exact), one.view(np.uint32) & 1))
    return float(best)


def _integer(node: c_ast.Constant, digits: str, suffix: str, places: Places) -> Constant:
    """C99, 6.4.4.1: the first type of a list that can hold the value."""
    is_decimal = not digits.startswith("0") or digits == "0"
    is_octal = not is_decimal and digits[1:2].isdigit()
    value = int(digits, 8 if is_octal else 0)
    candidates: list[DType] = [u32, u64] if "u" in suffix else [i32, u32, i64, u64]
    if is_decimal and "u" not in suffix:
        candidates = [i32, i64]
    if "l" in suffix:
        candidates = [dtype for dtype in candidates if dtype.bits == 64]
    for dtype in candidates:
        if value <= type_range(dtype)[1]:
            return Constant(value, dtype)
    raise places.error(node, f"{node.value} does not fit 64 bits")


def _character(node: c_ast.Constant, body: str, places: Places) -> int:
    if len(body) == 1 and body.isascii():
        return ord(body)
    if len(body) == 2 and body[0] == "\\" and body[1] in _ESCAPES:
        return _ESCAPES[body[1]]
    raise places.error(node, f"character {node.value} is not supported; expected one such as 'a'")
