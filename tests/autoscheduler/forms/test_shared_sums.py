"""Neighboring nests of sums: fused if both add to the same elements."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.forms.shared_sums import with_shared_sums
from polysched.frontends.scop import parse_c
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.schedule import Schedule

PROGRAM = """
void sums(int n, double C[restrict n][n], const double A[n][n], const double B[n][n])
{{
    for (int k = 0; k < n; k++) {{
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 50; j++)
                C[i][j] += A[i][k] * B[k][j];
        {second}
    }}
}}
"""
SAME = "for (int i = 0; i < n; i++) for (int j = 0; j < 50; j++)"
MOVED = "for (int j = 0; j < 50; j++) for (int i = 0; i < n; i++)"
LONGER = "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)"


@pytest.mark.parametrize(
    ("second", "kinds"),
    [
        (f"{SAME} C[i][j] += B[i][k] * A[k][j];", [Fuse, Fuse]),
        (f"{MOVED} C[i][j] += B[i][k] * A[k][j];", [Reorder, Fuse, Fuse]),
        (f"{LONGER} C[i][j] += B[i][k] * A[k][j];", []),
        (f"{SAME} C[j][i] += B[i][k] * A[k][j];", []),
        (f"{SAME} C[i][j] = B[i][k] * A[k][j];", []),
    ],
)
def test_only_sums_of_the_same_elements_are_fused(second: str, kinds: list[type]) -> None:
    kernel = parse_c(PROGRAM.format(second=second)).with_fast_math().kernel
    _, decisions = with_shared_sums(Schedule(kernel), {"n": 100})
    assert [type(step) for decision in decisions for step in decision.steps] == kinds
