"""C99 code of the conversions between f32 and half types, which are integers of 16 bits there.

The arithmetic is that of :mod:`polysched.llvm.values.half`.
"""

from __future__ import annotations

from polysched.ir.expr.dtypes import DType, bf16, f32, f64

_WORD = "union { float value; uint32_t bits; }"

_TO_ODD = f"""\
{_WORD} near = {{ (float)wide }};
if ((double)near.value != wide && wide == wide && (near.bits & 1) == 0) {{
    near.bits += fabs((double)near.value) > fabs(wide) ? UINT32_MAX : 1;
}}
float a = near.value;
"""
"""Round a double to the float beside it whose last bit is set, unless it is a float."""

_TO_BF16 = f"""\
{_WORD} word = {{ a }};
if (a != a) {{
    return (uint16_t)(word.bits >> 16 | 0x40);
}}
return (uint16_t)((word.bits + 0x7FFF + (word.bits >> 16 & 1)) >> 16);
"""

_TO_F16 = f"""\
{_WORD} word = {{ a }};
uint32_t sign = word.bits >> 16 & 0x8000;
word.bits &= 0x7FFFFFFF;
if (word.bits > 0x7F800000) {{
    return (uint16_t)(sign | 0x7E00 | (word.bits >> 13 & 0x3FF));
}}
if (word.bits >= 0x47800000) {{
    return (uint16_t)(sign | 0x7C00);
}}
if (word.bits < 0x38800000) {{
    word.value += 0.5f;
    return (uint16_t)(sign | (word.bits - 0x3F000000));
}}
return (uint16_t)(sign | (word.bits - 0x38000000 + 0xFFF + (word.bits >> 13 & 1)) >> 13);
"""

_FROM_BF16 = f"""\
{_WORD} word;
word.bits = (uint32_t)a << 16;
return word.value;
"""

_FROM_F16 = f"""\
{_WORD} word;
word.bits = (uint32_t)(a & 0x7FFF) << 13;
word.value *= 0x1p112f;
word.bits |= ((a & 0x7C00) == 0x7C00 ? 0x7F800000 : 0) | (uint32_t)(a & 0x8000) << 16;
return word.value;
"""


def half_conversion(source: DType, target: DType) -> list[str]:
    """The body of a conversion from or to a half type.

    The argument is named ``wide`` if it is a double, else ``a``.
    """
    if source.is_half:
        assert target == f32
        return (_FROM_BF16 if source == bf16 else _FROM_F16).splitlines()
    assert source in (f32, f64)
    narrowing = _TO_BF16 if target == bf16 else _TO_F16
    return f"{_TO_ODD if source == f64 else ''}{narrowing}".splitlines()
