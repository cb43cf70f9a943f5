import json
from typing import Any

import numpy as np
import pytest

from polysched.bench.measure.contestant import Contestant, Runner
from polysched.cli.benchmarks import transpose as bench_transpose
from tests.cli.conftest import Polysched

QUICK = "bench transpose --shape 20x37 --rounds 1 --seconds 0.2".split()
Array = np.ndarray[Any, Any]


@pytest.fixture
def _without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    original = bench_transpose.contestants
    monkeypatch.setattr(bench_transpose, "contestants", lambda *given: original(*given)[:2])


@pytest.mark.usefixtures("_without_torch")
def test_json_lines(polysched: Polysched) -> None:
    result = polysched(*QUICK, "--type", "u8", "--type", "f64", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    records = [json.loads(line) for line in result.stdout.splitlines()]
    moved = [record for record in records if record.get("unit") == "byte"]
    assert [record["contestant"] for record in moved] == ["polysched", "numpy"] * 2
    assert {record["kernel"] for record in moved} == {"transpose 20x37 u8", "transpose 20x37 f64"}
    assert all(record["max_abs_err"] == 0 for record in moved)
    assert [record["over"] for record in records if "ratio" in record] == ["numpy", "numpy"]


@pytest.mark.usefixtures("_without_torch")
def test_table(polysched: Polysched) -> None:
    result = polysched(*QUICK)
    assert result.exit_code == 0
    assert result.stdout.startswith("| kernel ")
    assert "| transpose 20x37 f32 | polysched " in result.stdout
    assert "times numpy" in result.stdout


def test_a_wrong_result_of_our_own_fails(
    polysched: Polysched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(data: Array, threads: int, machine: object) -> tuple[Contestant, ...]:
        assert (threads, machine) == (1, None)
        return (Contestant("polysched", lambda: Runner(lambda: None, lambda: data.T + 1)),)

    monkeypatch.setattr(bench_transpose, "contestants", wrong)
    result = polysched(*QUICK)
    assert result.exit_code == 1
    assert "not raced: polysched (transpose 20x37 f32): wrong output" in result.stderr
    assert "wrong output of polysched; this is a defect of polysched" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--shape", "20"), "'20' is not two numbers ROWSxCOLUMNS, such as 512x512"),
        (("--shape", "0x4"), "transpose size: 0x4; expected at least one row and column"),
        (("--type", "f16"), "'f16' is not one of"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], message: str, polysched: Polysched) -> None:
    result = polysched("bench", "transpose", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
