import json

import pytest
from click.testing import CliRunner

from polysched.bench.python_race import PythonResult, Refused
from polysched.cli.benchmarks import python as bench_python


def stub(monkeypatch: pytest.MonkeyPatch) -> None:
    def race(name: str, *, fastmath: bool, seconds: float, compiler) -> PythonResult | Refused:
        if name == "harris":
            return Refused(name, fastmath, "no")
        return PythonResult(name, fastmath, 2.0, 0.5, 10.0, 20.0, "same", 5)

    monkeypatch.setattr(bench_python, "race_function", race)
    monkeypatch.setattr(bench_python, "numba_compiler", lambda *, fastmath: None)
    monkeypatch.setenv("POLYSCHED_CACHE", "off")


def test_table_and_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch)
    result = CliRunner().invoke(bench_python.python, ["softmax", "fir", "--math", "fast"])
    assert result.exit_code == 0
    assert "geometric mean: 2.00 times numba" in result.output
    assert "fastmath=True" in result.output
    assert "fastmath=False" not in result.output


def test_records_and_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch)
    result = CliRunner().invoke(bench_python.python, ["harris", "fir", "--json"])
    assert result.exit_code == 1
    records = [json.loads(line) for line in result.output.splitlines()]
    assert [one["function"] for one in records] == ["harris", "fir"] * 2
    assert records[0]["reason"] == "no"
    shown = CliRunner().invoke(bench_python.python, ["harris", "--math", "strict"])
    assert "harris: no" in shown.output
