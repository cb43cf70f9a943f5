"""Translate C literals to typed constants."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
from pycparser import c_ast

from polysched.frontends.scop.source.source_map import SourceMap
from polysched.frontends.scop.types.c_types import type_range
from polysched.ir.expr.dtypes import DType, f32, f64, i32, i64, u32, u64
from polysched.ir.expr.expressions import Constant

_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8}
_INTEGER = re.compile(r"(0[xX][\da-fA-F]+|0[bB][01]+|\d+)([uUlL]*)$")


def literal(node: c_ast.Constant, source_map: SourceMap) -> Constant:
    """Translate a literal to a constant of its C type."""
    text: str = node.value
    if node.type == "char" and text.startswith("'"):
        return Constant(_character(node, text[1:-1], source_map), i32)
    if node.type in ("float", "double", "long double"):
        return _real(node, text, source_map)
    match = _INTEGER.match(text)
    if match is None:
        raise source_map.error(
            node, f"{text} is not a number; expected an integer or a real number"
        )
    return _integer(node, match[1], match[2].lower(), source_map)


def _real(node: c_ast.Constant, text: str, source_map: SourceMap) -> Constant:
    suffix = text[-1].lower()
    is_hexadecimal = text[:2].lower() == "0x"
    if suffix == "l":
        raise source_map.error(node, "a long double; expected a float or a double")
    is_single = suffix == "f" and (not is_hexadecimal or "p" in text.lower())
    digits = text[:-1] if is_single else text
    try:
        value = float.fromhex(digits) if is_hexadecimal else float(digits)
    except (ValueError, OverflowError):
        raise source_map.error(node, f"{text} does not fit a double") from None
    if not is_single:
        return Constant(value, f64)
    exact = Fraction(value) if is_hexadecimal else Fraction(digits)
    return Constant(_rounded_once(value, exact), f32)


def narrowed_literal(node: c_ast.Constant, dtype: DType, source_map: SourceMap) -> Constant | None:
    """Translate ``(double)1.8e+308L``, as headers write DBL_MAX; None for other literals.

    Raises:
        FrontendError: the value depends on the precision of long double, or does not fit.
    """
    text: str = node.value
    if node.type != "long double" or text[:2].lower() == "0x" or dtype not in (f32, f64):
        return None
    exact = Fraction(text[:-1])
    found = set()
    for bits in (53, 64, 106, 113):  # the long doubles of today's targets
        through = _with_bits(exact, bits)
        try:
            value = float(through)
        except OverflowError:
            raise source_map.error(node, f"{text} does not fit a double") from None
        found.add(value if dtype == f64 else _rounded_once(value, through))
    if len(found) > 1:
        reason = "the value depends on the precision of long double; expected a double"
        raise source_map.error(node, reason)
    return Constant(found.pop(), dtype)


def _with_bits(exact: Fraction, bits: int) -> Fraction:
    """Round a positive number to a significand of some bits, ties to even."""
    if not exact:
        return exact
    shift = exact.numerator.bit_length() - exact.denominator.bit_length() - bits
    shift += exact >= Fraction(2) ** (shift + bits)
    return round(exact / Fraction(2) ** shift) * Fraction(2) ** shift


def _rounded_once(value: float, exact: Fraction) -> float:
    """Round an exact number to f32 directly; rounding through a double would round twice."""
    with np.errstate(over="ignore"):  # numbers beyond FLT_MAX, and its neighbor, become infinity
        near = np.float32(value)
        if not np.isfinite(near):
            return float(near)
        candidates = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.inf)]
    finite = [candidate for candidate in candidates if np.isfinite(candidate)]

    def distance(candidate: np.float32) -> tuple[Fraction, int]:
        # Ties go to the even significand.
        return abs(Fraction(float(candidate)) - exact), int(candidate.view(np.uint32) & 1)

    return float(min(finite, key=distance))


def _integer(node: c_ast.Constant, digits: str, suffix: str, source_map: SourceMap) -> Constant:
    """Type an integer literal: the first type of C99's list that holds the value (6.4.4.1)."""
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
    raise source_map.error(node, f"{node.value} does not fit 64 bits")


def _character(node: c_ast.Constant, body: str, source_map: SourceMap) -> int:
    if len(body) == 1 and body.isascii():
        return ord(body)
    if len(body) == 2 and body[0] == "\\" and body[1] in _ESCAPES:
        return _ESCAPES[body[1]]
    raise source_map.error(
        node, f"character {node.value} is not supported; expected one such as 'a'"
    )
