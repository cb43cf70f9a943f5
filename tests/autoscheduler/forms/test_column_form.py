"""Column form: a finished element is added to all sums that need it."""

from __future__ import annotations

import pytest

from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms import column_form
from polysched.autoscheduler.forms.column_form import column_formed, column_tiled
from polysched.frontends.scop import parse_c
from polysched.legality.check import check
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.skew import Skew
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

MACHINE = PRESETS["skylake-avx512"]
INTERVALS = """
#define MIN(a, b) ((a) <= (b) ? (a) : (b))
void intervals(int n, const int w[n], int best[restrict n][n])
{
    for (int i = n - 1; i >= 0; i--)
        for (int j = i + 1; j < n; j++) {
            for (int k = i + 1; k < j; k++)
                best[i][j] = MIN(best[i][j], best[i][k] + best[k][j]);
            best[i][j] = best[i][j] + w[j];
        }
}
"""
INDEPENDENT = """
void independent(int n, const double A[n][n], double s[restrict n])
{
    for (int i = 0; i < n; i++) {
        for (int j = n - 1; j > i; j--) s[i] = s[i] - A[i][j] * s[j];
        s[i] = s[i] * 0.5;
    }
}
"""


def test_lanes_hold_the_sums_of_a_row() -> None:
    schedule = Schedule(parse_c(INTERVALS).kernel)
    ((formed, decision),) = column_formed(schedule, MACHINE, model_sizes(schedule.kernel, None))
    assert "take a finished element together" in decision.reason
    vectorized = formed.then(Vectorize("best.j", 16))
    assert check(vectorized).is_legal
    assert_agrees(vectorized, {"n": 1}, {"n": 2}, {"n": 21})


def test_tiles_of_elements_form_a_wavefront(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_form, "TILE", 4)
    schedule = Schedule(parse_c(INTERVALS).kernel)
    ((tiled, _),) = column_tiled(schedule, MACHINE, model_sizes(schedule.kernel, None))
    wavefront = (
        tiled.then(Skew("best.jt", "best.i", 1, "wave"))
        .then(Reorder(("best.wave", "best.i")))
        .then(Parallel("best.i"))
    )
    assert check(tiled).is_legal
    assert check(wavefront).is_legal
    assert_agrees(wavefront, {"n": 1}, {"n": 14})


def test_terms_that_are_overwritten_later_stay_in_their_row() -> None:
    """Each sum reads elements that are not finished yet: the order of rows must stay."""
    schedule = Schedule(parse_c(INDEPENDENT).kernel)
    for formed, _ in column_formed(schedule, MACHINE, model_sizes(schedule.kernel, None)):
        assert check(formed).is_legal
        assert_agrees(formed, {"n": 1}, {"n": 13})
