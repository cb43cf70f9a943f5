"""Facts that are derived from a program: trip counts that make the number of instances."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.frontends.scop import parse_c
from polysched.schedule.schedule import Schedule

LINE = """
void line(int T, int n, double A[restrict n])
{
    for (int t = 0; t < T; t++)
        for (int i = 1; i < n - 1; i++) A[i] = A[i-1] + A[i+1];
}
"""
SIZES = {"T": 200, "n": 1000}


@pytest.mark.parametrize("is_tiled", [False, True])
def test_trip_counts_of_a_skewed_band_make_its_instances(is_tiled: bool) -> None:
    schedule = Schedule(parse_c(LINE).kernel).skew("i", "t", 4)
    if is_tiled:
        schedule = schedule.tile(("t", "i"), (200, 32))
    facts = statement_facts(schedule.program, "A", SIZES)
    assert facts.instances == pytest.approx(200 * 998, rel=0.02)
