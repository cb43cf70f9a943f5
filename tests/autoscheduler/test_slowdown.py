"""Schedules that are legal and predicted to be far slower than the program as written."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings

import polysched as ps
from polysched.autoscheduler import slowdown as module
from polysched.autoscheduler.slowdown import FAR_SLOWER, slowdown
from polysched.cli.main import main
from polysched.machine.load import load_machine
from tests.support import kernels
from tests.support.effort import cases
from tests.support.strategies import random_kernels, random_schedules

HISTOGRAM = """
import polysched as ps


@ps.kernel
def histogram(pixels: "u8[n]", counts: "i64[256]"):
    for i in range(len(pixels)):
        with ps.statement("add"):
            counts[pixels[i]] += 1


copies = ps.Schedule(histogram).split("i", 4).rfactor("add", "ii")
"""


def histogram() -> ps.Schedule:
    build = ps.KernelBuilder("histogram")
    n = build.parameter("n", minimum=1)
    pixels, counts = build.input("pixels", ps.u8, (n,)), build.inout("counts", ps.i64, (256,))
    with build.loops(i=n) as i, build.statement("add"):
        counts[pixels[i]] += 1
    return ps.Schedule(build.kernel())


def test_a_copy_of_a_histogram_for_every_four_pixels() -> None:
    slow = histogram().split("i", 4).rfactor("add", "ii")
    found = slowdown(slow, load_machine("skylake-avx512"), {"n": 2000})
    assert found is not None
    assert found.ratio > 50
    assert found.sizes == {"n": 2000}
    with pytest.warns(ps.SlowScheduleWarning, match="times as long as the program as written") as w:
        slow.compile()
    assert w[0].filename == __file__
    with pytest.warns(ps.SlowScheduleWarning):
        ps.compile(slow)


def test_without_a_warning_to_show_nothing_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = histogram().split("i", 4).rfactor("add", "ii")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message="other", category=ps.SlowScheduleWarning)
        slow.compile()
    assert [shown.category for shown in caught] == [ps.SlowScheduleWarning]
    monkeypatch.setattr(module, "slowdown", None)
    warnings.simplefilter("ignore", ps.SlowScheduleWarning)
    slow.compile()


@settings(max_examples=cases(15), deadline=None)
@given(random_schedules(random_kernels()))
def test_every_schedule_has_an_answer(schedule: ps.Schedule) -> None:
    slow = slowdown(schedule, load_machine("skylake-avx512"))
    assert slow is None or slow.ratio >= FAR_SLOWER


def test_what_is_not_slower_gets_no_warning() -> None:
    machine = load_machine("skylake-avx512")
    product = ps.Schedule(kernels.matmul())
    for schedule in (
        product,
        product.reorder("update.i", "l", "update.j").vectorize("update.j", 16),
        histogram().split("i", 4),
    ):
        assert slowdown(schedule, machine) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = histogram().split("i", 4).compile()
    pixels, counts = (np.arange(300) % 256).astype(np.uint8), np.zeros(256, np.int64)
    run(pixels, counts)
    assert np.array_equal(counts, np.bincount(pixels, minlength=256))


def test_check_prints_the_warning(tmp_path: Path) -> None:
    path = tmp_path / "histogram.py"
    path.write_text(HISTOGRAM, encoding="utf-8")
    result = CliRunner().invoke(main, ["check", str(path)])
    assert result.exit_code == 0, result.output
    assert "\nwarning: the schedule is predicted to take " in result.output
