import sys

import pytest

from polysched.bench.compile_time import measure_delays
from polysched.errors import BenchError

NAME = "polysched (b) tutorial"


def test_fresh_processes_are_timed() -> None:
    told: list[str] = []
    imported, compiled = measure_delays(1, names=(NAME,), progress=told.append)
    assert imported.what == "import polysched"
    assert compiled.what == f"compile {NAME}"
    assert imported.runs == compiled.runs == 1
    assert min(imported.seconds, compiled.seconds) > 0
    assert told == [f"{NAME}: process 1 of 1"]


def test_no_runs() -> None:
    with pytest.raises(BenchError, match="at least 1 run, got runs=0"):
        measure_delays(0)


def test_process_that_fails_is_named() -> None:
    with pytest.raises(BenchError, match="the process that compiles 'none' failed: KeyError"):
        measure_delays(1, names=("none",))


def test_process_without_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(BenchError, match="failed: it wrote no message"):
        measure_delays(1, names=(NAME,))
