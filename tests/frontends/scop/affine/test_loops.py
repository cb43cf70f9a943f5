from __future__ import annotations

import itertools
import re

import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import Promises, parse_c
from polysched.ir.semantics.points import points
from tests.frontends.scop.kernels import kernel

N, M = 7, 3


def iterations(header: str) -> list[int]:
    """The values of i in the order of the program, at n = 7 and m = 3."""
    found = kernel(f"for ({header}) x[0] += i;")
    (statement,) = found.statements.values()
    rows = points(statement.domain, {"n": N, "m": M})
    loop = next(iter(vars(found.body)["values"].values()))
    step = 1 if "i" in str(loop) and "-i" not in str(loop) else -1
    return sorted((int(row[0]) for row in rows), key=lambda i: step * i)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("int i = 0; i < n; i++", range(N)),
        ("int i = 1; i <= n; ++i", range(1, N + 1)),
        ("int i = 0; n > i; i += 2", range(0, N, 2)),
        ("int i = m; n - 1 >= i; i = i + 1", range(M, N)),
        ("int i = 0; i < n && i < m; i = 1 + i", range(M)),
        ("int i = n - 1; i >= 0; i--", range(N - 1, -1, -1)),
        ("int i = n; i > m; i -= 3", range(N, M, -3)),
        ("int i = n; i > 0; i += -2", range(N, 0, -2)),
        ("int i = n; i >= 1; i = i - 1", range(N, 0, -1)),
        ("int i = 0; 2 * i < n; i++", range(4)),
        ("int i = 0; 3 * i <= n; i++", range(3)),
        ("int i = 0; i + 2 < n; i++", range(N - 2)),
        ("int i = 0; n - i > m; i++", range(N - M)),
        ("int i = 0; i != 5; i++", range(5)),
        ("int i = 0; i < n && m < n; i++", range(N)),
        ("int i = 0; i < n && m > n; i++", range(0)),
        ("int i = m - 3; i < n && i >= 0; i++", range(N)),
        ("int i = m - 4; i < n && i >= 0; i++", range(0)),
        ("int i = n; 2 * i >= n; i--", range(N, 3, -1)),
        ("int i = 10; 3 * i > n; i--", range(10, 2, -1)),
        ("int i = n; i-- > 0;", range(N - 1, -1, -1)),
        ("int i = n; m <= i--;", range(N - 1, M - 2, -1)),
        ("int i = n; i-- != -1;", range(N - 1, -2, -1)),
        ("int i = n; --i > m;", range(N - 1, M, -1)),
        ("int i = m; i++ < n;", range(M + 1, N + 1)),
        ("int i = m; ++i <= n;", range(M + 1, N + 1)),
        ("unsigned char i = 5; i--;", range(4, -1, -1)),
        ("unsigned char i = 0; i < n; i++", range(N)),  # would not end for n > 255
        ("short i = 0; i < n; i++", range(N)),
    ],
)
def test_iterations(header: str, expected: range) -> None:
    assert iterations(header) == list(expected)


@pytest.mark.parametrize(
    ("relation", "step"), list(itertools.product(("<", "<=", ">", ">="), (1, -1, 2, -2)))
)
def test_every_relation_with_every_step(relation: str, step: int) -> None:
    """As C runs it, or a refusal where C would not end."""
    first, bound = (0, 5) if step > 0 else (9, 2)
    ends = (relation in ("<", "<=")) == (step > 0)
    header = f"int i = {first}; i {relation} {bound}; i += {step}"
    if not ends:
        with pytest.raises(FrontendError, match="does not bound 'i'"):
            iterations(header)
        return
    beyond = bound + (1 if step > 0 else -1) * (relation in ("<=", ">="))
    assert iterations(header) == list(range(first, beyond, step))


@pytest.mark.parametrize(
    ("type_", "condition", "step"),
    [
        ("unsigned char", "i < 256", "++"),
        ("signed char", "i <= 127", "++"),
        ("size_t", "i >= 0", "--"),
        ("unsigned", "i-- >= 0", None),
    ],
)
def test_a_variable_that_wraps_is_refused(type_: str, condition: str, step: str) -> None:
    with pytest.raises(FrontendError, match="before the loop ends; use a signed type"):
        kernel(f"for ({type_} i = 5; {condition}; {f'i{step}' if step else ''}) x[0] += 1;")


UNSIGNED = "size_t n, unsigned m, double x[restrict 9]"


@pytest.mark.parametrize(
    ("header", "side"),
    [
        ("int i = -1; i < n; i++", "i"),
        ("int i = 0; i - 5 < n; i++", "i - 5"),
        ("int i = 7; i >= n % 5; i -= 3", "i"),  # after 1 comes -2, which is huge
        ("signed char i = 7; 2 * i >= n; i--", "2 * i"),
        ("int i = 50; i > n; i -= 2", "i"),
        ("int i = 50; m <= i; i--", "i"),
        ("int i = 0; 10 - i >= n; i++", "10 - i"),
        ("long i = 9; i >= n; i--", "i"),
        ("int i = 0; 9 - (3 + 2 * i) > n; i++", "9 - (3 + 2 * i)"),
        ("int i = -1; i-- > n;", "i"),
        ("int i = 7; --i >= n;", "i"),  # where n is 0, -1 comes after 0
    ],
)
def test_a_variable_that_gets_negative_is_not_compared_with_what_is_unsigned(
    header: str, side: str
) -> None:
    shown = re.escape(side)
    refused = f"'{shown}' may be negative and is compared as an unsigned number"
    excluded = f"'{shown}' is negative and compared as an unsigned number unless "
    text = f"#include <stddef.h>\nvoid f({UNSIGNED}) {{ for ({header}) x[0] += 1; }}"
    with pytest.raises(FrontendError, match=f"{refused}|{excluded}"):
        parse_c(text, promises=Promises(strict_bounds=True))


@pytest.mark.parametrize(
    "header",
    [
        "int i = 5; i - 5 < n; i++",
        "int i = 50; i > n; i--",
        "int i = 50; i >= n + 1; i--",
        "int i = 50; i > n + 1; i -= 2",
        "int i = 0; 10 - i > m; i++",
        "int i = 0; i != m; i++",
        "int i = 9; i >= (unsigned char) 3; i -= 7",
        "long i = 9; i >= m; i--",  # long holds every unsigned int
    ],
)
def test_a_variable_that_does_not_is(header: str) -> None:
    kernel(f"for ({header}) x[0] += 1;", UNSIGNED)


def test_a_narrow_variable_that_fits() -> None:
    kernel("for (unsigned char i = 5; i < 255; i++) x[0] += 1;")


def test_loops_of_one_name_beside_each_other() -> None:
    found = kernel("int i; for (i = 0; i < n; i++) x[i] = 0; for (i = 0; i < m; i++) x[0] += 1;")
    assert [statement.indices for statement in found.statements.values()] == [("i",), ("i",)]


def test_a_variable_with_the_name_of_a_size_gets_another() -> None:
    found = kernel("for (int n = 0; n < m; n++) x[0] += n;")
    assert found.statements["x"].indices == ("n_2",)
