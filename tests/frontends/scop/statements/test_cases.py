from __future__ import annotations

import pytest

from polysched.legality.check import check
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.kernels import kernel

PARAMETERS = "int n, double x[restrict n], const double y[n]"


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("i > 0 ? y[i - 1] : 0", 2),
        ("i > 0 ? (i > 1 ? y[i - 2] : y[0]) : 0", 3),
        ("(i > 0 ? y[i - 1] : 0) + (i + 1 < n ? y[i + 1] : 0)", 4),
        ("i > 0 && y[i - 1] > 0", 2),
        ("i < 1 || y[i - 1] > 0 ? 1 : 2", 2),
        ("y[i] > 0 ? y[i] : 0", 1),
        ("i > 0 ? 1 : 0", 1),
    ],
)
def test_reads_stay_inside_their_arrays(text: str, statements: int) -> None:
    found = kernel(f"for (int i = 0; i < n; i++) x[i] = {text};", PARAMETERS)
    assert len(found.statements) == statements
    assert check(Schedule(found)).is_legal


def test_a_read_that_data_guards_is_judged_as_if_it_happened() -> None:
    found = kernel("for (int i = 0; i < n; i++) x[i] = y[i] > 0 ? y[i + 1] : 0;", PARAMETERS)
    assert not check(Schedule(found)).is_legal


def test_a_case_has_the_type_of_both_branches() -> None:
    """C converts what it takes to the type that the two have in common, here double."""
    found = kernel(
        "for (int i = 0; i < n; i++) x[i] = (i > 0 ? k[i - 1] : 0.5) / 2;",
        "int n, double x[restrict n], const int k[n]",
    )
    assert [str(one.value) for one in found.statements.values()] == [
        "(f64(k[(i - 1)]) / 2.0)",
        "(0.5 / 2.0)",
    ]
