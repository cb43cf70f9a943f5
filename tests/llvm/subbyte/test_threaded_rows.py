"""A few cases of `threaded_rows.py`, which runs all of them for as long as wanted."""

import pytest

from tests.llvm.subbyte.threaded_rows import Case, run_case


@pytest.mark.parametrize(
    "case",
    [
        Case(1, "8n+4", (4, 4), "vectors of 64"),
        Case(2, "4n", (0, 3), "split"),
        Case(3, "n", (0, 3), "vectors of 16"),
        Case(4, "2n+6", (0, 0), "unrolled vectors"),
        Case(4, "n", (1, 0), "vectors of 16"),
        Case(5, "4n", (1, 0), "vectors of 16"),
        Case(12, "n", (1, 0), "rows in blocks"),
    ],
    ids=str,
)
def test_threads_leave_other_rows_alone(case: Case) -> None:
    assert run_case(case, (37,), repetitions=12) == 12
