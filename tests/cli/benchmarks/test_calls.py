import json

import pytest

from polysched.bench.calls import CallTime
from polysched.cli.benchmarks import calls as bench_calls
from tests.cli.conftest import Polysched


def test_calls(polysched: Polysched, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(bursts: int, **_: object) -> tuple[CallTime, ...]:
        return (CallTime("kernel(x)", 3456.0, bursts),)

    monkeypatch.setattr(bench_calls, "measure_calls", measured)
    result = polysched("bench", "calls", "--bursts", "3")
    assert result.exit_code == 0
    assert "3.46 µs" in result.stdout
    line = polysched("bench", "calls", "--bursts", "3", "--json").stdout
    assert json.loads(line) == {"call": "kernel(x)", "nanoseconds": 3456.0, "bursts": 3}
