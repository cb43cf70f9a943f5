"""Exact arithmetic on typed scalars: the meaning of the operations, written for this campaign.

Integers are Python integers in the range of their type, floating-point values are Python floats.
Floating-point results must be small multiples of 1/64, which every order and every fusion of
operations computes without rounding; anything else raises `Inexact`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

FLOAT_LIMIT = float(1 << 19)


class Inexact(Exception):
    """A floating-point value whose bits may depend on the order of operations."""


def bits_of(dtype: str) -> int:
    return int(dtype[1:])


def wrap(dtype: str) -> Callable[[int], int]:
    size = 1 << bits_of(dtype)
    if dtype[0] == "u":
        return lambda value: value % size
    half = size >> 1
    return lambda value: (value + half) % size - half


def lowest(dtype: str) -> int:
    return 0 if dtype[0] == "u" else -(1 << (bits_of(dtype) - 1))


def highest(dtype: str) -> int:
    return lowest(dtype) + (1 << bits_of(dtype)) - 1


def exact(value: float) -> float:
    if not -FLOAT_LIMIT < value < FLOAT_LIMIT or value * 64 % 1:
        raise Inexact
    return value


def float_min(left: float, right: float) -> float:
    if left == right:
        return left if math.copysign(1, left) < 0 else right
    return left if left < right else right


def float_max(left: float, right: float) -> float:
    if left == right:
        return right if math.copysign(1, left) < 0 else left
    return left if left > right else right


def rounded(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda value: math.copysign(float(function(value)), value)


def shifted_left(left: int, count: int) -> int:
    return left << count if 0 <= count < 64 else 0


def shifted_right(left: int, count: int) -> int:
    if 0 <= count < 64:
        return left >> count
    return -1 if left < 0 else 0


def truncated(dtype: str) -> Callable[[float], int]:
    low, high = lowest(dtype), highest(dtype)

    def convert(value: float) -> int:
        whole = math.trunc(value)
        return whole if low <= whole <= high else low

    return convert


def cast(source: str, target: str) -> Callable[[Any], Any]:
    if target == "bool":
        return bool
    if target[0] == "f":
        return lambda value: exact(float(value))
    if source[0] == "f":
        return truncated(target)
    narrow = wrap(target)
    return lambda value: narrow(int(value))


_INTEGER: dict[str, Callable[..., int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "fdiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": shifted_left,
    "shr": shifted_right,
    "neg": lambda a: -a,
    "abs": abs,
    "inv": lambda a: ~a,
}
_FLOAT: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "min": float_min,
    "max": float_max,
    "fmin": lambda a, b: a if a < b else b,
    "fmax": lambda a, b: a if a > b else b,
    "fma": lambda a, b, c: a * b + c,
    "neg": lambda a: -a,
    "abs": abs,
    "floor": rounded(math.floor),
    "ceil": rounded(math.ceil),
    "trunc": rounded(math.trunc),
    "rint": rounded(round),
}
_ANY: dict[str, Callable[..., Any]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "land": lambda a, b: a and b,
    "lor": lambda a, b: a or b,
    "lnot": lambda a: not a,
    "sel": lambda c, a, b: a if c else b,
}


def function(op: str, dtype: str) -> Callable[..., Any]:
    """What an operation does to operands of a type."""
    if op in _ANY:
        return _ANY[op]
    if dtype[0] == "f":
        plain = _FLOAT[op]
        return lambda *operands: exact(plain(*operands))
    whole, narrow = _INTEGER[op], wrap(dtype)
    return lambda *operands: narrow(whole(*operands))
