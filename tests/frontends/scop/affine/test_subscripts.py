from __future__ import annotations

import pytest

from polysched.errors import FrontendError
from polysched.legality.check import check
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.kernels import kernel

PARAMETERS = "int n, double A[restrict n][n], double *restrict s, double (*restrict p)[4]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A[i][n - 1]", "A[i, (n - 1)]"),
        ("*s", "s[0]"),
        ("s[0]", "s[0]"),
        ("(A[i])[2 * i]", "A[i, (2 * i)]"),
    ],
)
def test_elements(text: str, expected: str) -> None:
    found = kernel(f"for (int i = 0; i < n; i++) {text} = 0;", PARAMETERS)
    (statement,) = found.statements.values()
    assert str(statement.target) == expected


@pytest.mark.parametrize("text", ["A", "A[0]", "A[0][0][0]", "n[0]", "*A", "**s"])
def test_what_is_no_element(text: str) -> None:
    with pytest.raises(FrontendError):
        kernel(f"{text} = 0;", PARAMETERS)


def test_a_pointer_to_rows_gets_a_shape() -> None:
    inferred = kernel("if (A[0][0] > 0) p[n][2] = 0;", PARAMETERS).arrays["p"]
    assert inferred.guarded
    assert str(inferred.shape[0]) == "(n + 1)"
    shaped = kernel("\n#pragma polysched shape p[n][4]\n if (n > 0) p[n - 1][2] = 0;", PARAMETERS)
    assert check(Schedule(shaped)).is_legal
