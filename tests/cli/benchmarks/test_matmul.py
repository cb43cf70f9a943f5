import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from polysched.bench.matmul import MatmulData
from polysched.bench.measure.contestant import Contestant, Runner
from polysched.bench.measure.peers import PeerKernels
from polysched.cli.benchmarks import matmul as bench_matmul
from polysched.machine.description import Machine
from tests.cli.conftest import Polysched

QUICK = ("bench", "matmul", "--shape", "5x9x7", "--rounds", "1", "--seconds", "0.2")


original = bench_matmul.contestants


def numpy_with(held_back: str | None) -> Callable[..., tuple[Contestant, ...]]:
    """polysched and numpy, whatever the environment has made of numpy's kernels."""

    def kernels(name: str, _: Callable[[], None]) -> PeerKernels:
        return PeerKernels(name, "OpenBLAS", "0.3", "some kernels", held_back)

    def contestants(
        data: MatmulData, threads: int, machine: Machine | None
    ) -> tuple[Contestant, ...]:
        own, numpy = original(data, threads, machine)[:2]
        return own, replace(numpy, kernels=kernels)

    return contestants


def wrong(data: MatmulData, *_: object) -> tuple[Contestant, ...]:
    output = np.full((data.size.m, data.size.n), 9, np.float32)
    return (Contestant("polysched", lambda: Runner(lambda: None, lambda: output)),)


def test_json_lines(polysched: Polysched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_matmul, "contestants", numpy_with(None))
    result = polysched(*QUICK, "--type", "f64", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    *records, ratio, about, peer = [json.loads(line) for line in result.stdout.splitlines()]
    assert [record["contestant"] for record in records] == ["polysched", "numpy"]
    assert all(record["kernel"] == "5x9x7 f64" for record in records)
    assert all(record["max_abs_err"] < 1e-13 for record in records)
    assert list(ratio) == ["work", "over", "ratio", "own", "is_bound"]
    assert ratio["over"] == "numpy"
    assert list(about) == ["processor", "vector_bits", "cleared"]
    assert list(peer) == ["name", "library", "version", "architecture", "held_back"]
    assert peer["name"] == "numpy"


def test_table_and_mean(polysched: Polysched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_matmul, "contestants", numpy_with(None))
    result = polysched(*QUICK, "--shape", "3x4x2")
    assert result.exit_code == 0
    assert result.stdout.startswith("| kernel ")
    assert "5x9x7 f32: " in result.stdout
    assert "geometric mean: " in result.stdout
    assert "\nprocessor: " in result.stdout
    assert result.stdout.count("\npeer numpy: OpenBLAS 0.3, some kernels\n") == 1


def test_a_peer_that_is_held_back_has_no_ratio(
    polysched: Polysched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_matmul, "contestants", numpy_with("they are narrow"))
    lines = polysched(*QUICK).stdout.splitlines()
    assert any("| numpy (held back) |" in line for line in lines)
    assert "no ratio: no peer was raced that is not held back" in lines
    assert "peer numpy: OpenBLAS 0.3, some kernels; held back: they are narrow" in lines
    records = [json.loads(line) for line in polysched(*QUICK, "--json").stdout.splitlines()]
    assert not any("ratio" in one for one in records)
    assert {one["held_back"] for one in records if "library" in one} == {"they are narrow"}


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


def test_random_shapes(polysched: Polysched) -> None:
    result = polysched("bench", "matmul", "--random", "2", "--seed", "3", "--json")
    assert result.exit_code == 0
    *shapes, summary = [json.loads(line) for line in result.stdout.splitlines()]
    assert len({shape["kernel"] for shape in shapes}) == summary["shapes"] == 2
    assert all(min(shape["first"], shape["generic"], shape["specialized"]) > 0 for shape in shapes)
    assert summary["lowest"] <= summary["mean"]
    assert summary["total"] == pytest.approx(sum(shape["first"] for shape in shapes))
    text = polysched("bench", "matmul", "--random", "1", "--seed", "3").stdout
    assert "of specialized code in the geometric mean of 1 shapes" in text


@pytest.mark.parametrize("option", [("--shape", "2x2x2"), ("--type", "i8")])
def test_random_shapes_exclude_other_options(polysched: Polysched, option: tuple[str, ...]) -> None:
    result = polysched("bench", "matmul", "--random", "2", *option)
    assert result.exit_code == 2
    assert "--random takes f32 or f64" in result.stderr
