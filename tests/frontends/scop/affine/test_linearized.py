from __future__ import annotations

import pytest

from polysched.errors import FrontendError
from tests.frontends.scop.kernels import kernel

PARAMETERS = "int n, int m, int p, double *A, unsigned u, unsigned char b"


def subscripts(shape: str, text: str) -> list[str]:
    pragma = f"\n#pragma polysched shape A{shape}\n"
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) for (int k = 0; k < p; k++)"
    found = kernel(f"{pragma} {loops} A[{text}] = 0;", PARAMETERS)
    (statement,) = found.statements.values()
    return [str(one) for one in statement.target.subscripts]


@pytest.mark.parametrize(
    ("shape", "text", "expected"),
    [
        ("[n][m]", "i * m + j", ["i", "j"]),
        ("[n][m]", "j + m * i", ["i", "j"]),
        ("[n][m]", "(i + 1) * m - 1", ["i", "(m - 1)"]),
        ("[n][m]", "n * m - 1", ["(n - 1)", "(m - 1)"]),
        ("[n][m][p]", "n * m * p - 1", ["(n - 1)", "(m - 1)", "(p - 1)"]),
        ("[n][m]", "n * m - m - 1", ["(n - 2)", "(m - 1)"]),
        ("[n][m]", "i * m - j", ["i", "(-j)"]),
        ("[n][64]", "64 * i + j", ["i", "j"]),
        ("[n][64]", "i * 64 + 65 + j", ["(i + 1)", "(j + 1)"]),
        ("[n][64]", "i * 64 + j - 1", ["i", "(j - 1)"]),
        ("[n][m][p]", "(i * m + j) * p + k", ["i", "j", "k"]),
        ("[n][m][p]", "i * m * p + j * p + k", ["i", "j", "k"]),
        ("[n][m][8]", "i * m * 8 + 8 * j + k % 8", ["i", "j", "(k % 8)"]),
        ("[n][m]", "(size_t)i * m + j / 2", ["i", "(j // 2)"]),
        ("[n]", "i", ["i"]),
        ("[n][b]", "i * b + j", ["i", "j"]),
    ],
)
def test_a_linearized_subscript_is_taken_apart(shape: str, text: str, expected: list[str]) -> None:
    assert subscripts(shape, text) == expected


@pytest.mark.parametrize(
    ("shape", "text", "message"),
    [
        ("[n][m]", "i * n + j", "is not a linearized subscript of A.*: the product i.n remains"),
        ("[n][m + 1]", "i * m + j", "the rows of 'A' are \\(m \\+ 1\\) elements apart"),
        (
            "[n][m]",
            "i * m + u * j",
            "'i . m . u . j' is unsigned int and may wrap around",
        ),
    ],
)
def test_what_cannot_be_taken_apart(shape: str, text: str, message: str) -> None:
    with pytest.raises(FrontendError, match=message):
        subscripts(shape, text)
