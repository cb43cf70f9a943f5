import json

import numpy as np
import pytest

from polysched.bench.conv.work import ConvolutionData
from polysched.bench.measure.contestant import Contestant, Runner
from polysched.bench.measure.peer_libraries import numpy_kernels
from polysched.cli.benchmarks import conv as bench_conv
from tests.cli.conftest import Polysched

QUICK = ("bench", "conv", "--sizes", "1,3,7,5,20", "--rounds", "1", "--seconds", "0.2")
WORK = "conv2d_relu 1x3x7x5x20"
KEYS = (
    "kernel contestant fraction_of_peak rate peak_rate runs max_abs_err held_back spread unit"
).split()


def test_json_lines(polysched: Polysched) -> None:
    result = polysched(*QUICK, "--json", "--only", "POLYSCHED", "--only", "numpy")
    assert (result.exit_code, result.stderr) == (0, "")
    *records, about, peer = [json.loads(line) for line in result.stdout.splitlines()]
    assert about["cleared"] == []
    assert peer["name"] == "numpy"
    assert [record["contestant"] for record in records] == [
        "polysched (a) unscheduled",
        "polysched (b) tutorial",
        "polysched (c) best",
        "numpy",
    ]
    for record in records:
        assert list(record) == KEYS
        assert record["kernel"] == WORK
        assert 0 < record["fraction_of_peak"] < 1
        assert record["max_abs_err"] < 1e-4


def test_a_terminal_shows_the_progress(polysched: Polysched) -> None:
    terminal = polysched(*QUICK, "--only", "(a)", FORCE_COLOR="1", TERM="xterm", COLUMNS="120")
    assert terminal.stdout.startswith("| kernel ")
    assert f"{WORK}: round 1 of 1: polysched (a) unscheduled" in terminal.stderr


def wrong(data: ConvolutionData, *_: object) -> tuple[Contestant, ...]:
    output = np.zeros(data.size.output_shape, np.float32)
    return (Contestant("polysched (b) tutorial", lambda: Runner(lambda: None, lambda: output)),)


def test_wrong_result_of_our_own_fails(
    polysched: Polysched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_conv, "own_contestants", wrong)
    result = polysched(*QUICK, "--only", "polysched")
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"not raced: polysched (b) tutorial ({WORK}): wrong output" in result.stderr
    assert (
        "error: wrong output of polysched (b) tutorial; this is a defect of polysched"
        in result.stderr
    )


def test_peer_that_is_missing_is_told_and_does_not_fail(
    polysched: Polysched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        bench_conv,
        "convolution_peers",
        lambda data: [
            Contestant(f"peer {one.name}", one.prepare, numpy_kernels) for one in wrong(data)
        ],
    )
    result = polysched(*QUICK, "--only", "peer", "--only", "(a)")
    assert result.exit_code == 0
    assert f"not raced: peer polysched (b) tutorial ({WORK}): wrong output" in result.stderr
    assert "polysched (a) unscheduled" in result.stdout


def test_schedules_fit_the_smallest_size(polysched: Polysched) -> None:
    result = polysched(
        "bench", "conv", "--sizes", "1,1,1,1,1", "--seconds", "0.1", "--only", "polysched"
    )
    assert result.exit_code == 0
    assert "not raced" not in result.stderr
    for name in ("(a) unscheduled", "(b) tutorial", "(c) best"):
        assert f"polysched {name}" in result.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes", "1,2"], "'1,2' is not five numbers N,H,W,CI,CO, such as 5,80,100,128,128"),
        (["--sizes", "1,2,3,4,x"], "is not five numbers"),
        (["--sizes", "1,0,3,4,5"], "rows must be at least 1, got 0"),
        (["--rounds", "0"], "0 is not in the range x>=1"),
        (["--seconds", "0"], "0.0 is not in the range x>0"),
        (["--sizes", "1,1,1,1,1", "--only", "numpi"], "contains 'numpi'; did you mean 'numpy'?"),
        (["--machine", "zen6"], "unknown machine 'zen6'"),
    ],
)
def test_bad_input(polysched: Polysched, options: list[str], message: str) -> None:
    result = polysched("bench", "conv", "--rounds", "1", "--seconds", "0.1", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
