import json

import pytest

from polysched.bench.compile_time import Delay
from polysched.cli.benchmarks import compile as bench_compile
from polysched.errors import BenchError
from tests.cli.conftest import Polysched


def measured(runs: int, **_: object) -> tuple[Delay, ...]:
    return (Delay("import polysched", 0.25, runs), Delay("compile it", 0.5, runs))


def test_compile(polysched: Polysched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_compile, "measure_delays", measured)
    result = polysched("bench", "compile", "--runs", "3")
    assert result.exit_code == 0
    assert "250 ms" in result.stdout
    lines = polysched("bench", "compile", "--runs", "3", "--json").stdout.splitlines()
    assert json.loads(lines[1]) == {"what": "compile it", "seconds": 0.5, "runs": 3}


def test_compile_that_fails(polysched: Polysched, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(runs: int, **_: object) -> tuple[Delay, ...]:
        raise BenchError("the process failed")

    monkeypatch.setattr(bench_compile, "measure_delays", fail)
    result = polysched("bench", "compile")
    assert (result.exit_code, result.stderr) == (2, "error: the process failed\n")


def test_an_unknown_bench_gets_the_nearest_names(polysched: Polysched) -> None:
    result = polysched("bench", "matmull")
    assert result.exit_code == 2
    assert "no command 'matmull'; did you mean 'matmul'" in result.stderr
