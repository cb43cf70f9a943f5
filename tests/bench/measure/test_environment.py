import json
import os
import subprocess
import sys

import pytest

from polysched.bench.measure import environment
from polysched.bench.measure.environment import CLEARED, TUNING_VARIABLES, clear_environment
from polysched.errors import BenchError
from tests.cli.conftest import Polysched, polysched  # noqa: F401

QUICK = "bench matmul --shape 8x8x8 --rounds 1 --seconds 0.01 --json".split()


def test_tuning_variables() -> None:
    tuning = {
        "OPENBLAS_CORETYPE": "Haswell",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ATEN_CPU_CAPABILITY": "avx2",
        "NPY_DISABLE_CPU_FEATURES": "AVX512F",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F",
    }
    others = {"PATH": "/bin", "HOME": "/", "OPENBLAS": "1", "MY_OMP_NUM_THREADS": "1"}
    assert environment.tuning_variables({**others, **tuning}) == tuning
    assert all(TUNING_VARIABLES.values())


def test_a_bench_clears_the_kernels_that_its_environment_chooses() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "polysched", *QUICK],
        env={**os.environ, "OPENBLAS_CORETYPE": "Haswell", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    (about,) = (one for one in records if "cleared" in one)
    assert {"OPENBLAS_CORETYPE=Haswell", "OMP_NUM_THREADS=1"} <= set(about["cleared"])
    (numpy,) = (one for one in records if one.get("name") == "numpy")
    assert numpy["held_back"] is None, numpy


def test_a_variable_that_comes_back_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {CLEARED: "MKL_CBWR=AVX", "MKL_CBWR": "AVX"})
    with pytest.raises(BenchError, match="by MKL_CBWR, which is set again whenever Python starts"):
        clear_environment()


def test_the_same_command_starts_without_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(os, "environ", {"PATH": "/bin", "MKL_CBWR": "AVX"})
    monkeypatch.setattr(os, "execve", lambda *given: started.extend(given))
    monkeypatch.setattr(sys, "orig_argv", ["python3", "-m", "polysched", "bench", "conv"])
    clear_environment()
    assert started == [
        sys.executable,
        [sys.executable, "-m", "polysched", "bench", "conv"],
        {"PATH": "/bin", CLEARED: "MKL_CBWR=AVX"},
    ]


def test_without_such_variables_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"PATH": "/bin"})
    assert clear_environment() == ()
    monkeypatch.setattr(os, "environ", {CLEARED: "MKL_CBWR=AVX\nOMP_NUM_THREADS=1"})
    assert clear_environment() == ("MKL_CBWR=AVX", "OMP_NUM_THREADS=1")
    assert not os.environ


def test_a_python_without_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "1"})
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(BenchError, match="tunes libraries by OMP_NUM_THREADS, and Python does not"):
        clear_environment()


def test_a_program_that_calls_the_command_is_not_replaced(
    polysched: Polysched,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "execve", None)
    result = polysched("bench", "compile", "--runs", "0", OPENBLAS_CORETYPE="Haswell")
    assert result.exit_code == 2
    assert "0 is not in the range" in result.stderr
