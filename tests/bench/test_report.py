"""The report runs every benchmark and collects its records, also if some fail."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence

import pytest

from polysched.bench.measure.speedup import Speedup
from polysched.bench.report import SECTIONS, Measured, Record, Section, measured
from polysched.bench.report_page import report_page
from polysched.machine.presets import PRESETS

MATMUL = Section("Products", ("matmul",))
CALLS = Section("Calls", ("calls",), is_race=False)
SPEEDUP = {"work": "8x8x8 f32", "over": "<numpy>", "ratio": 0.5, "own": "polysched"}


def test_a_command_has_its_time_limit() -> None:
    assert MATMUL.command(0.5) == ("bench", "matmul", "--seconds", "0.5", "--json")
    assert MATMUL.command(None) == ("bench", "matmul", "--json")
    assert CALLS.command(0.5) == ("bench", "calls", "--json")


def test_a_benchmark_that_fails_does_not_stop_the_others() -> None:
    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        if "matmul" in arguments:
            return subprocess.CompletedProcess(arguments, 2, "", "error: no such thing\n")
        return subprocess.CompletedProcess(arguments, 0, '{"call": "x"}\nnot a record\n', "ignored")

    told: list[str] = []
    first, second = measured([MATMUL, CALLS], 1.0, told.append, run)
    assert told == [first.command, second.command]
    assert first.command == "polysched bench matmul --seconds 1 --json"
    assert (first.records, first.error) == ((), "error: no such thing\n")
    assert (second.records, second.error) == (({"call": "x"},), "")


@pytest.mark.parametrize(
    ("record", "speedups"),
    [
        (SPEEDUP, [Speedup("8x8x8 f32", "<numpy>", 0.5)]),
        (
            {"program": "lcs", "sizes": "n=8", "ratios": {"gcc": 2.0, "clang": 3.0}},
            [Speedup("lcs n=8", "gcc", 2.0), Speedup("lcs n=8", "clang", 3.0)],
        ),
        (
            {"function": "fir", "fastmath": False, "ratio": 1.5},
            [Speedup("fir", "numba, strict", 1.5)],
        ),
        ({"over": "gcc", "geometric_mean": 2.0}, []),
        ({"function": "fir", "fastmath": True, "reason": "refused"}, []),
        ({"call": "kernel", "nanoseconds": 400.0}, []),
    ],
)
def test_speedups_of_records(record: Record, speedups: list[Speedup]) -> None:
    assert list(Measured(MATMUL, "", (record,)).speedups) == speedups


def test_the_spread_of_a_work_is_that_of_its_most_variable_contestant() -> None:
    records = tuple(
        {"kernel": "a", "contestant": name, "spread": spread}
        for name, spread in (("polysched", 0.1), ("numpy", 0.3))
    )
    assert Measured(MATMUL, "", records).spreads == {"a": 0.3}


def test_the_page_shows_ratios_peers_and_failures() -> None:
    peer = {"name": "numpy", "library": "OpenBLAS", "version": "0.3", "architecture": "SkylakeX"}
    records = (SPEEDUP, {**SPEEDUP, "ratio": 2.0, "work": "b", "is_bound": True}, peer)
    outcomes = [
        Measured(MATMUL, "polysched bench matmul", records),
        Measured(CALLS, "polysched bench calls", ({"call": "kernel", "nanoseconds": 400.0},)),
        Measured(CALLS, "polysched bench calls", (), "error: a < b\n"),
    ]
    page = report_page(outcomes, PRESETS["skylake-avx512"])
    assert '<span class="slower">0.50</span>' in page
    assert "<td>&le; 2.00</td>" in page
    assert "<td>&le; 1.00</td>" in page  # the geometric mean of 0.5 and at most 2
    assert "&lt;numpy&gt;" in page
    assert "<numpy>" not in page
    assert "Peer numpy, OpenBLAS, 0.3, SkylakeX" in page
    assert "<td>400</td>" in page
    assert "error: a &lt; b" in page
    assert "skylake-avx512, vectors of 512 bits" in page
    assert "http" not in page
    for record in records:
        assert json.dumps(record).replace('"', "&quot;").split("<")[0] in page


def test_every_benchmark_with_records_has_a_section() -> None:
    names = {section.name for section in SECTIONS}
    assert names == {
        "gallery",
        "programs",
        "python",
        "matmul",
        "attention",
        "conv",
        "layers",
        "transpose",
        "pack-bits",
        "calls",
        "compile",
    }
