"""Scheduling the regions of a C file."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from polysched.cli import replaced_regions
from polysched.cli.targets.schedule_file import Reading
from polysched.errors import ScheduleError
from polysched.frontends.scop import NO_PROMISES
from polysched.frontends.scop.regions import replacements_of
from polysched.ir.isl.budget import time_left
from polysched.machine.presets import PRESETS

LOOPS = """
void log_it(void);
void f(int n, float *x) {
  for (int i = 0; i < n; i++) x[i] = 1;
  log_it();
  for (int i = 0; i < n; i++) x[i] *= 2;
}
void g(int n, float *x) { for (int i = 0; i < n; i++) x[i] = 3; log_it(); }
"""


def test_the_regions_of_a_function_share_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[tuple[str, float]] = []

    def search(region: replaced_regions.Replacement, *_: object) -> None:
        limits.append((region.program.region.name, time_left()))
        time.sleep(0.2)
        raise ScheduleError("nothing found")

    monkeypatch.setattr(replaced_regions, "_scheduled", search)
    path = tmp_path / "f.c"
    path.write_text(LOOPS)
    found, refused = replacements_of(path, None, NO_PROMISES)
    replaced_regions.proved_regions(
        found, refused, Reading(seconds=60.0, auto=True), PRESETS["znver4"]
    )
    (_, first), (_, second), (name, other) = limits
    assert second <= first - 0.2
    assert name == "g"
    assert other > second + 0.1
