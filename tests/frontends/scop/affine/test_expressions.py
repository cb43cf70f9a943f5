from __future__ import annotations

import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import Promises, parse_c
from tests.frontends.scop.kernels import domain, kernel, subscript


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i", "i"),
        ("+i", "i"),
        ("2 * 3 + i - 1", "((6 + i) - 1)"),
        ("i / 2", "(i // 2)"),
        ("i % 4", "(i % 4)"),
        ("i >> 3", "(i // 8)"),
        ("i << 2", "(i * 4)"),
        ("-(-7 / 2)", "3"),
        ("-7 % 4 + 3", "0"),
        ("i < m ? i : m", "min(i, m)"),
        ("m > i ? m : i", "max(m, i)"),
        ("min(i, m)", "min(i, m)"),
        ("MAX(i, 2)", "max(i, 2)"),
        ("floord(i - 7, 2)", "((i - 7) // 2)"),
        ("ceild(i, 2)", "(-((-i) // 2))"),
        ("abs(i)", "max(i, (-i))"),
        ("(long)i + (size_t)i", "(i + i)"),
        ("i / -2", "(-(i // 2))"),
    ],
)
def test_a_subscript_is_exact(text: str, expected: str) -> None:
    assert subscript(text) == expected


def test_division_of_what_may_be_negative_truncates() -> None:
    assert subscript("(i - 5) / 2").startswith("select((0 <= (i - 5)), ((i - 5) // 2), ")
    assert subscript("(i - n) / 2") == "(-((-(i - n)) // 2))"
    assert subscript("(i - n) % 4") == "(-((-(i - n)) % 4))"


def test_a_branch_knows_its_condition() -> None:
    """A macro for floord; in each branch the sign is known, so the division needs no cases."""
    text = "((i - 5) < 0) ? -((-(i - 5) + 2 - 1) / 2) : (i - 5) / 2"
    assert "select" in subscript(text)
    assert subscript(text).count("select") == 1


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("i == 3", "i = 3"),
        ("i != 0 && i < 4", "0 < i <= 3 and i < n"),
        ("!(i >= 2)", "0 <= i <= 1"),
        ("i % 2", "(1 + i) mod 2 = 0"),
        ("i < 2 || i == n - 1", "x[i = -1 + n]"),
        ("1", "0 <= i < n"),
    ],
)
def test_conditions(condition: str, expected: str) -> None:
    found = kernel(f"for (int i = 0; i < n; i++) if ({condition}) x[i] = 0;")
    assert expected in domain(found, "x")


def test_unsigned_subtraction_needs_a_proof() -> None:
    parameters = "unsigned n, double x[restrict n]"
    text = f"void f({parameters}) {{ for (unsigned i = 0; i < n - 1; i++) x[i] = 0; }}"
    program = parse_c(text)
    assert program.notes() == ["assumed: n >= 1, for otherwise 'n - 1' wraps around, line 1"]
    with pytest.raises(FrontendError, match="'n - 1' is unsigned int and may wrap around"):
        program.c_function()  # an object has no program as written for the other sizes
    with pytest.raises(FrontendError, match="'n - 1' wraps around unless n >= 1"):
        parse_c(text, promises=Promises(strict_bounds=True))
    kernel("if (n > 0) for (unsigned i = 0; i < n - 1; i++) x[i] = 0;", parameters)
    promise = "\n#pragma polysched assume n > 0\n"
    kernel(f"{promise} for (unsigned i = 0; i < n - 1; i++) x[i] = 0;", parameters)


def test_an_array_element_is_not_affine() -> None:
    with pytest.raises(FrontendError, match=r"'x\[0\]' is data; expected loop variables") as caught:
        kernel("for (int i = 0; i < x[0]; i++) x[i] = 0;")
    assert caught.value.reason.startswith("'x[0]' is data")
    assert str(caught.value.location) == "a.c:1:66"
