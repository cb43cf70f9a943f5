import json
from collections.abc import Iterator
from dataclasses import replace

import click
import numpy as np
import pytest

from polysched.bench.measure.contestant import Contestant, Runner
from polysched.bench.measure.peers import PeerKernels
from polysched.bench.measure.race import Outcome, Result, Withdrawn, Work
from polysched.bench.measure.speedup import Speedup
from polysched.cli.benchmarks.races import print_outcome, ratio_table, run_races
from polysched.cli.failures import ExitCode
from polysched.cli.options import Racing
from tests.cli.conftest import Polysched

RESULT = Result("copy", "polysched", 0.5, 10.0, 20.0, 3, 0.0, unit="byte")
FASTER = Speedup("copy", "numpy", 2.0)
NUMPY = PeerKernels("numpy", "OpenBLAS", "0.3", "SkylakeX kernels")
TORCH = PeerKernels("torch", "MKL", "2024.0", "default kernels", "they are narrow")
CONTEXT = click.Context(click.Command("matmul"), obj=("OPENBLAS_CORETYPE=Haswell",))


def test_records_are_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(CONTEXT, Outcome((RESULT,), (), (TORCH,)), [[FASTER]], as_records=True)
    first, second, about, peer = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["kernel"], first["fraction_of_peak"], first["unit"]) == ("copy", 0.5, "byte")
    assert second == {
        "work": "copy",
        "over": "numpy",
        "ratio": 2.0,
        "own": "polysched",
        "is_bound": False,
    }
    assert about["cleared"] == ["OPENBLAS_CORETYPE=Haswell"]
    assert peer == {
        "name": "torch",
        "library": "MKL",
        "version": "2024.0",
        "architecture": "default kernels",
        "held_back": "they are narrow",
    }


def test_text_is_a_table_ratios_and_each_peer_once(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Outcome((RESULT,), (), (NUMPY, TORCH, NUMPY))
    print_outcome(CONTEXT, outcome, [[FASTER]], as_records=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("| copy   | polysched  |     0.500 |")
    assert "copy: 2.00 times numpy" in lines
    assert lines[-4].startswith("processor: ")
    assert lines[-3:] == [
        "peer numpy: OpenBLAS 0.3, SkylakeX kernels",
        "peer torch: MKL 2024.0, default kernels; held back: they are narrow",
        "cleared from the environment: OPENBLAS_CORETYPE=Haswell",
    ]


@pytest.mark.parametrize("as_records", [True, False])
def test_of_no_race_nothing_is_printed(
    as_records: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    print_outcome(CONTEXT, Outcome((), ()), as_records=as_records)
    assert capsys.readouterr().out == ""


def test_only_a_wrong_result_of_our_own_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    peer = Withdrawn("work", "numpy", "wrong output")
    print_outcome(CONTEXT, Outcome((), (peer,)), as_records=False)
    assert capsys.readouterr().err == "not raced: numpy (work): wrong output\n"
    own = replace(peer, contestant="polysched", is_defect=True)
    with pytest.raises(click.exceptions.Exit) as ended:
        print_outcome(CONTEXT, Outcome((), (peer, own)), as_records=False)
    assert ended.value.exit_code == ExitCode.WRONG
    assert "error: wrong output of polysched; this is a defect" in capsys.readouterr().err


def test_ratios_that_are_bounds() -> None:
    found = [Speedup("x", "numpy", 2.0), Speedup("y", "torch", 0.5, is_bound=True)]
    assert ratio_table(found).splitlines() == [
        "x: 2.00 times numpy",
        "y: at most 0.50 times torch, which is held back",
        "geometric mean: at most 1.000",
    ]


def test_the_data_of_a_race_is_made_when_it_begins() -> None:
    log: list[str] = []
    array = np.zeros(1)

    def works() -> Iterator[Work]:
        for name in ("one", "two"):
            log.append(f"data of {name}")
            contestant = Contestant("c", lambda: Runner(lambda: log.append("run"), lambda: array))
            yield Work(name, 1, [contestant], array, lambda: 1.0)

    outcome = run_races(works(), Racing(1, 1e-6, None))
    assert [result.kernel for result in outcome.results] == ["one", "two"]
    assert log.index("run") < log.index("data of two")


@pytest.mark.parametrize("command", ["attention", "layers", "quantized"])
def test_kernels_of_this_machine_take_no_other(polysched: Polysched, command: str) -> None:
    result = polysched("bench", command, "--machine", "haswell-avx2")
    assert result.exit_code == ExitCode.BAD_INPUT
    assert "No such option" in result.stderr
