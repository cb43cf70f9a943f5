"""Constants of the standard C headers, for source text that was not preprocessed.

The values are those of 64-bit Linux. Each value is a C expression of the right value and type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

_LIMITS = {
    "CHAR_BIT": "8",
    "SCHAR_MIN": "(-128)",
    "SCHAR_MAX": "127",
    "UCHAR_MAX": "255",
    "CHAR_MIN": "(-128)",
    "CHAR_MAX": "127",
    "SHRT_MIN": "(-32768)",
    "SHRT_MAX": "32767",
    "USHRT_MAX": "65535",
    "INT_MIN": "(-2147483647 - 1)",
    "INT_MAX": "2147483647",
    "UINT_MAX": "4294967295U",
    "LONG_MIN": "(-9223372036854775807L - 1L)",
    "LONG_MAX": "9223372036854775807L",
    "ULONG_MAX": "18446744073709551615UL",
    "LLONG_MIN": "(-9223372036854775807LL - 1LL)",
    "LLONG_MAX": "9223372036854775807LL",
    "ULLONG_MAX": "18446744073709551615ULL",
}
_STDINT = {
    "INT8_MIN": "(-128)",
    "INT8_MAX": "127",
    "UINT8_MAX": "255",
    "INT16_MIN": "(-32768)",
    "INT16_MAX": "32767",
    "UINT16_MAX": "65535",
    "INT32_MIN": "(-2147483647 - 1)",
    "INT32_MAX": "2147483647",
    "UINT32_MAX": "4294967295U",
    "INT64_MIN": "(-9223372036854775807L - 1L)",
    "INT64_MAX": "9223372036854775807L",
    "UINT64_MAX": "18446744073709551615UL",
    "SIZE_MAX": "18446744073709551615UL",
    "PTRDIFF_MIN": "(-9223372036854775807L - 1L)",
    "PTRDIFF_MAX": "9223372036854775807L",
}
_MATH = {
    "M_E": "2.7182818284590452354",
    "M_LOG2E": "1.4426950408889634074",
    "M_LOG10E": "0.43429448190325182765",
    "M_LN2": "0.69314718055994530942",
    "M_LN10": "2.30258509299404568402",
    "M_PI": "3.14159265358979323846",
    "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.78539816339744830962",
    "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308",
    "M_2_SQRTPI": "1.12837916709551257390",
    "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440",
    "INFINITY": "1e999f",
    "HUGE_VAL": "1e999",
    "HUGE_VALF": "1e999f",
    "NAN": '__builtin_nanf("")',
}
_FLOAT = {
    "FLT_MIN": "1.17549435082228750796873653722224568e-38F",
    "FLT_MAX": "3.40282346638528859811704183484516925e+38F",
    "FLT_EPSILON": "1.19209289550781250000000000000000000e-7F",
    "DBL_MIN": "2.22507385850720138309023271733240406e-308",
    "DBL_MAX": "1.79769313486231570814527423731704357e+308",
    "DBL_EPSILON": "2.22044604925031308084726333618164062e-16",
}
CONSTANTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"limits.h": _LIMITS, "stdint.h": _STDINT, "math.h": _MATH, "float.h": _FLOAT}
)
"""C expressions by header and constant name."""
_INCLUDES = {"inttypes.h": "stdint.h"}
"""Headers that include another header."""


def with_constants(text: str, headers: Iterable[str]) -> str:
    """Expand the constants that the given headers define."""
    values: dict[str, str] = {}
    for header in headers:
        values.update(CONSTANTS.get(_INCLUDES.get(header, header), {}))
    if not values:
        return text
    names = re.compile(rf"\b(?:{'|'.join(values)})\b")
    return names.sub(lambda match: values[match[0]], text)


def header_of(name: str) -> str | None:
    """Return the header that defines a constant; None if it is no standard constant."""
    return next((header for header, names in CONSTANTS.items() if name in names), None)
