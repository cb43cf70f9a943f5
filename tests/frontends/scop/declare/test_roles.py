from __future__ import annotations

import pytest

from tests.frontends.scop.kernels import kernel


@pytest.mark.parametrize(
    ("body", "role"),
    [
        ("for (int i = 0; i < n; i++) x[i] = 0;", "output"),
        ("for (int i = 0; i < n; i++) x[i] += 1;", "inout"),
        ("for (int i = 1; i < n; i++) x[i] = 0;", "inout"),
        ("for (int i = 0; i < n; i++) { x[i] = 0; x[i] += i; }", "output"),
        ("for (int i = 0; i < n; i++) x[i] = 0; for (int i = 0; i < n; i++) x[i] *= 2;", "output"),
        ("for (int i = 0; i < n; i++) if (i < m) x[i] = 0; else x[i] = 1;", "output"),
        ("for (int i = 0; i < n; i++) { if (i) x[i] = x[i - 1]; else x[i] = 1; }", "output"),
        ("for (int i = n - 1; i >= 0; i--) { if (i) x[i] = x[i - 1]; else x[i] = 1; }", "inout"),
    ],
)
def test_what_is_written_before_it_is_read_is_an_output(body: str, role: str) -> None:
    assert kernel(body).arrays["x"].role.value == role
