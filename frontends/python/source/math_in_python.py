"""Functions of ``math`` and numpy without an operator of their own, in terms of others.

A call of one is inlined like a function of the user. Results may differ from the library's in the
last places.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: D103

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np


def quotient_and_remainder(x, y):
    return x // y, x % y


def is_nan(x):
    return float(x) != float(x)


def is_infinite(x):
    return abs(float(x)) == math.inf


def is_finite(x):
    return abs(float(x)) < math.inf


def isinf(x):
    return np.abs(x) == np.inf


def isfinite(x):
    return np.abs(x) < np.inf


def isclose(a, b, rtol=1e-5, atol=1e-8):
    return ((np.abs(a - b) <= atol + rtol * np.abs(b)) & (np.abs(b) < np.inf)) | (a == b)


def allclose(a, b, rtol=1e-5, atol=1e-8):
    return bool(np.all(np.isclose(a, b, rtol, atol)))


def log1p(x):
    u = 1.0 + x
    return np.where(u == 1.0, x, np.where(u == np.inf, u, np.log(u) * (x / (u - 1.0))))


def expm1(x):
    u = np.exp(x)
    less = u - 1.0
    return np.where(
        u == 1.0, x, np.where((less == -1.0) | (u == np.inf), less, less * (x / np.log(u)))
    )


def math_log1p(x):
    return float(np.log1p(float(x)))


def math_expm1(x):
    return float(np.expm1(float(x)))


def logaddexp(x1, x2):
    return np.where(
        x1 == x2, x1 + 0.6931471805599453, np.maximum(x1, x2) + np.log1p(np.exp(-np.abs(x1 - x2)))
    )


def erf(x):
    """The error function in four ranges, as the C library of FreeBSD approximates it."""
    a = abs(float(x))
    s = min(a, 0.84375) * min(a, 0.84375)
    p = -0.02848174957559851 + s * (-0.005770270296489442 + s * -2.3763016656650163e-05)
    p = 0.12837916709551256 + s * (-0.3250421072470015 + s * p)
    q = 0.005081306281875766 + s * (0.00013249473800432164 + s * -3.960228278775368e-06)
    q = 1.0 + s * (0.39791722395915535 + s * (0.0650222499887673 + s * q))
    small = x + x * (p / q)
    s = min(max(a, 0.84375), 1.25) - 1.0
    p = -0.11089469428239668 + s * (0.035478304325618236 + s * -0.002166375594868791)
    p = 0.41485611868374833 + s * (-0.3722078760357013 + s * (0.31834661990116175 + s * p))
    q = 0.12617121980876164 + s * (0.01363708391202905 + s * 0.011984499846799107)
    q = 0.10642088040084423 + s * (0.540397917702171 + s * (0.07182865441419627 + s * q))
    middle = 0.8450629115104675 + (-0.0023621185607526594 + s * p) / (1.0 + s * q)
    t = min(max(a, 1.25), 6.0)
    s = 1.0 / (t * t)
    p = -184.60509290671104 + s * (-81.28743550630659 + s * -9.814329344169145)
    p = -62.375332450326006 + s * (-162.39666946257347 + s * p)
    p = -0.00986494403484715 + s * (-0.6938585727071818 + s * (-10.558626225323291 + s * p))
    q = 429.00814002756783 + s * (
        108.63500554177944 + s * (6.570249770319282 + s * -0.0604244152148581)
    )
    q = 137.65775414351904 + s * (434.56587747522923 + s * (645.3872717332679 + s * q))
    near = p / (1.0 + s * (19.651271667439257 + s * q))
    p = -637.5664433683896 + s * (-1025.0951316110772 + s * -483.5191916086514)
    p = -17.757954917754752 + s * (-160.63638485582192 + s * p)
    p = -0.0098649429247001 + s * (-0.799283237680523 + s * p)
    q = 2553.0504064331644 + s * (474.52854120695537 + s * -22.44095244658582)
    q = 325.7925129965739 + s * (1536.729586084437 + s * (3199.8582195085955 + s * q))
    far = p / (1.0 + s * (30.33806074348246 + s * q))
    head = float(np.float32(t))  # of so few bits that its square is exact
    tail = np.exp(-head * head - 0.5625) * np.exp(
        (head - t) * (head + t) + np.where(t < 1.0 / 0.35, near, far)
    )
    large = np.where(a < 1.25, middle, 1.0 - tail / t)
    return float(np.where(a >= 0.84375, np.where(x < 0.0, -large, large), small))


_IN_PYTHON: Mapping[Any, Any] = MappingProxyType(
    {
        divmod: quotient_and_remainder,
        math.erf: erf,
        math.expm1: math_expm1,
        math.isfinite: is_finite,
        math.isinf: is_infinite,
        math.isnan: is_nan,
        math.log1p: math_log1p,
        np.allclose: allclose,
        np.divmod: quotient_and_remainder,
        np.expm1: expm1,
        np.isclose: isclose,
        np.isfinite: isfinite,
        np.isinf: isinf,
        np.log1p: log1p,
        np.logaddexp: logaddexp,
    }
)


def math_in_python(function: Any) -> Any:
    """The function that a function of ``math`` or numpy stands for; None if it has no such form."""
    return next((form for known, form in _IN_PYTHON.items() if known is function), None)
