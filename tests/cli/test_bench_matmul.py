import json

import numpy as np
import pytest

from polysched.bench.contestant import Contestant, Runner
from polysched.bench.matmul import MatmulData
from polysched.cli import bench_matmul
from polysched.machine.description import Machine
from tests.cli.conftest import Polysched

QUICK = ("bench", "matmul", "--shape", "5x9x7", "--rounds", "1", "--seconds", "0.2")


def own_and_numpy(
    data: MatmulData, threads: int, machine: Machine | None
) -> tuple[Contestant, ...]:
    return original(data, threads, machine)[:2]


original = bench_matmul.contestants


def wrong(data: MatmulData, *_: object) -> tuple[Contestant, ...]:
    output = np.full((data.size.m, data.size.n), 9, np.float32)
    return (Contestant("polysched", lambda: Runner(lambda: None, lambda: output)),)


def test_json_lines(polysched: Polysched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_matmul, "contestants", own_and_numpy)
    result = polysched(*QUICK, "--type", "f64", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    *records, ratio = [json.loads(line) for line in result.stdout.splitlines()]
    assert [record["contestant"] for record in records] == ["polysched", "numpy"]
    assert all(record["kernel"] == "5x9x7 f64" for record in records)
    assert all(record["max_abs_err"] < 1e-13 for record in records)
    assert list(ratio) == ["kernel", "peer", "ratio"]
    assert ratio["peer"] == "numpy"


def test_table_and_mean(polysched: Polysched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_matmul, "contestants", own_and_numpy)
    result = polysched(*QUICK, "--shape", "3x4x2")
    assert result.exit_code == 0
    assert result.stdout.startswith("| kernel ")
    assert "5x9x7 f32: " in result.stdout
    assert "geometric mean: " in result.stdout


def test_wrong_result_of_our_own_fails(
    polysched: Polysched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_matmul, "contestants", wrong)
    result = polysched(*QUICK)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "not raced: polysched (5x9x7 f32): wrong output" in result.stderr
    assert "wrong output of polysched; this is a defect of polysched" in result.stderr


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("5x9", "'5x9' is not three numbers MxNxK, such as 64x64x256"),
        ("axbxc", "'axbxc' is not three numbers MxNxK"),
        ("5x0x7", "matmul size: n must be at least 1, got 0"),
    ],
)
def test_bad_shape(polysched: Polysched, shape: str, message: str) -> None:
    result = polysched("bench", "matmul", "--shape", shape)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
