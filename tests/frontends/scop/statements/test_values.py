from __future__ import annotations

import pytest

from polysched.errors import FrontendError
from tests.frontends.scop.kernels import value

TYPED = (
    "int n, double x[restrict n], const float f[n], const int k[n], const short s[n], "
    "const unsigned u[n], const long l[n], const _Bool b[n]"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f[i] * f[i]", "f64((f[i] * f[i]))"),
        ("f[i] * 2", "f64((f[i] * 2.0))"),
        ("f[i] * 2.0", "(f64(f[i]) * 2.0)"),
        ("s[i] + s[i]", "f64((i32(s[i]) + i32(s[i])))"),
        ("k[i] + u[i]", "f64((u32(k[i]) + u[i]))"),
        ("u[i] + l[i]", "f64((i64(u[i]) + l[i]))"),
        ("k[i] / 2", "f64(quotient(k[i], 2))"),
        ("k[i] % 2u", "f64(remainder(u32(k[i]), 2))"),
        ("i", "f64(i32(i))"),
        ("n * 1.5", "(f64(i32(n)) * 1.5)"),
        ("(float)1 / 3", "f64((1.0 / 3.0))"),
        ("-k[i]", "f64((-k[i]))"),
        ("!k[i]", "f64(not((k[i] != 0)))"),
        ("k[i] > 0 && b[i]", "f64(((0 < k[i]) and b[i]))"),
        ("b[i] + b[i]", "f64((i32(b[i]) + i32(b[i])))"),
        ("k[i] > n ? k[i] : n", "f64(max(k[i], i32(n)))"),
        ("s[i] < s[0] ? s[i] : s[0]", "f64(min(i32(s[i]), i32(s[0])))"),
        ("f[i] > 0 ? f[i] : 0", "f64(select((0.0 < f[i]), f[i], 0.0))"),
        ("k[i] << 3", "f64((k[i] * 8))"),
        ("k[i] >> 3", "f64((k[i] // 8))"),
        ("sqrtf(f[i])", "f64(sqrt(f[i]))"),
        ("sqrt(f[i])", "sqrt(f64(f[i]))"),
        ("pow(x[i], 3)", "pow(x[i], 3.0)"),
        ("abs(k[i])", "f64(abs(k[i]))"),
        ("~k[i]", "f64(~(k[i]))"),
        ("k[i] & 3u", "f64((u32(k[i]) & 3))"),
        ("k[i] >> k[i]", "f64((k[i] >> k[i]))"),
        ("(x[i] > 0) & (x[i] < 1)", "f64(((0.0 < x[i]) and (x[i] < 1.0)))"),
        ("sizeof(double)", "8.0"),
        ("(unsigned char)300", "44.0"),
    ],
)
def test_every_conversion_is_written_out(text: str, expected: str) -> None:
    assert value(text, TYPED) == expected


@pytest.mark.parametrize(
    "text", ["g(1)", "x", "k[i]++", "1 + (x[0] = 1)", "&x[0]", "x[i] % 2.0", "~x[i]", "k[i] << 1.0"]
)
def test_what_no_kernel_computes_is_refused(text: str) -> None:
    with pytest.raises(FrontendError):
        value(text, TYPED)
