import json
from pathlib import Path

import pytest

from polysched.cli import run
from tests.cli.conftest import Polysched, WriteFile

LARGE = """
import polysched as ps

build = ps.KernelBuilder("total")
n = build.parameter("n", minimum=1)
x = build.input("x", ps.i64, (n,))
y = build.output("y", ps.i64, (1,))
with build.statement("start"):
    y[0] = 0
with build.loops(i=n) as i, build.statement("add"):
    y[0] += x[i]
total = build.kernel()
"""

STRIDED = """
import polysched as ps

build = ps.KernelBuilder("doubled")
n, lda = build.parameter("n"), build.parameter("lda")
build.assume(lda >= n)
x = build.input("x", ps.i32, (n, n), strides=(1, lda))
y = build.inout("y", ps.i32, (n, n), strides=(lda, 1))
with build.loops(i=n, j=n) as (i, j), build.statement("S"):
    y[i, j] += 2 * x[i, j]
doubled = ps.Schedule(build.kernel()).vectorize("j", 16)
"""


def test_report(polysched: Polysched, scale: str) -> None:
    result = polysched("run", scale, "--size", "n=1000")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "kernel    scale, n = 1000"
    assert "median of 5" in lines[2]
    assert "GFLOP/s" in lines[2]
    assert lines[3].startswith("result    largest difference from the reference ")
    assert lines[4].startswith("checksum  y ")


def test_json(polysched: Polysched, scale: str) -> None:
    record = json.loads(
        polysched("run", scale, "--size", "n=1000", "--repeat", "3", "--json").stdout
    )
    assert record["kernel"] == "scale"
    assert record["parameters"] == {"n": 1000}
    assert record["runs"] == 3
    assert 0 < record["seconds_best"] <= record["seconds_median"]
    assert record["flops"] == 2000
    assert record["gflops"] == pytest.approx(2000 / record["seconds_median"] / 1e9)
    assert record["compared"] is True
    assert record["max_abs_err"] < 1e-6
    assert set(record["checksums"]) == {"y"}


def test_code_for_another_machine(polysched: Polysched, scale: str, write_file: WriteFile) -> None:
    options = ("run", f"{scale}:fast", "--size", "n=77", "--machine")
    result = polysched(*options, "generic")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "machine   generic\n" in result.stdout
    lacking = polysched("machine", "--toml").stdout.replace('features = "', 'features = "+sse99,')
    result = polysched(*options, write_file("lacking.toml", lacking))
    assert result.exit_code == 2
    assert "cannot run on this host, which lacks sse99" in result.stderr
    result = polysched(*options, "generc")
    assert "unknown machine 'generc'; did you mean 'generic'?" in result.stderr


def test_arrays_with_strides(polysched: Polysched, write_file: WriteFile) -> None:
    path = write_file("a.py", STRIDED)
    result = polysched("run", path, "--size", "n=50", "--size", "lda=70")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "result    largest difference from the reference 0\n" in result.stdout
    result = polysched("run", path, "--size", "n=50", "--size", "lda=49")
    assert result.exit_code == 2
    assert "requires lda >= n; got n = 50, lda = 49" in result.stderr


def test_an_extent_that_depends_on_data(polysched: Polysched, write_file: WriteFile) -> None:
    text = "void f(int n, const int *i, int *y) { for (int k = 0; k < n; k++) y[i[k]] = k; }"
    result = polysched("run", str(write_file("f.c", text)), "--size", "n=9")
    assert result.exit_code == 2
    assert "the extent of 'y' depends on data" in result.output
    assert "declare it, as in 'y[n]'" in result.output


def test_same_seed_same_checksum(polysched: Polysched, scale: str) -> None:
    def checksum(target: str, seed: str) -> float:
        result = polysched("run", target, "--size", "n=50", "--seed", seed, "--json")
        return float(json.loads(result.stdout)["checksums"]["y"])

    assert checksum(f"{scale}:fast", "3") == checksum(f"{scale}:scale", "3")
    assert checksum(scale, "3") != checksum(scale, "4")


def test_inout_starts_from_the_same_values_at_each_call(polysched: Polysched, kernels: str) -> None:
    checksums = {
        polysched("run", f"{kernels}:legal", "--repeat", repeat, "--json").stdout.split(
            '"checksums"'
        )[1]
        for repeat in ("1", "4")
    }
    assert len(checksums) == 1
    assert '"compared": true' in checksums.pop()


def test_large_work_is_not_compared(polysched: Polysched, write_file: WriteFile) -> None:
    path = write_file("a.py", LARGE)
    result = polysched("run", path, "--size", "n=300000", "--repeat", "1")
    assert result.exit_code == 0
    assert "result    not compared (more than 200,000 statement instances: " in result.stdout
    assert "GFLOP/s" not in result.stdout
    record = json.loads(polysched("run", path, "--size", "n=300000", "--json").stdout)
    assert (record["compared"], record["max_abs_err"]) == (False, None)
    assert (record["flops"], record["gflops"]) == (0, None)


def test_illegal_is_explained_and_not_run(polysched: Polysched, kernels: str) -> None:
    result = polysched("run", f"{kernels}:illegal")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("illegal: reorder(order=('j', 'i')) breaks a flow dependence")


def test_wrong_result(polysched: Polysched, scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = run.run_reference

    def off_by_one(*arguments):
        return {name: array + 1 for name, array in original(*arguments).items()}

    monkeypatch.setattr(run, "run_reference", off_by_one)
    result = polysched("run", scale, "--size", "n=5")
    assert result.exit_code == 1
    assert "compiled code and the reference disagree by 1; this is a defect" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "error: kernel 'scale' needs values of 'n'; pass --size n=..."),
        (["--size", "N=5"], "error: kernel 'scale' has no parameter 'N'; known are 'n'"),
        (["--size", "n=0"], "error: kernel 'scale' requires n >= 1; got n = 0"),
        (["--size", "n"], "'n' is not NAME=NUMBER, such as N=64"),
        (["--size", "n=many"], "'n=many' is not NAME=NUMBER, such as N=64"),
        (["--size", "n=5", "--size", "n=6"], "'n' is given twice"),
        (["--size", "n=5", "--repeat", "0"], "0 is not in the range x>=1"),
        (["--size", "n=5", "--seed", "-1"], "-1 is not in the range x>=0"),
        (["--size", f"n={2**50}"], f"array 'x' of shape ({2**50},) does not fit into memory"),
        (["--size", f"n={2**63 - 1}"], f"array 'x' of shape ({2**63 - 1},) does not fit into"),
        (["--size", f"n={2**63}"], f"parameter 'n' is {2**63}; expected a 64-bit integer"),
    ],
)
def test_bad_input(polysched: Polysched, scale: str, options: list[str], message: str) -> None:
    result = polysched("run", scale, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_progress_on_a_terminal(polysched: Polysched, scale: str) -> None:
    result = polysched("run", scale, "--size", "n=5", FORCE_COLOR="1", TERM="xterm")
    assert "proving and compiling" in result.stderr
    assert "running 6 times" in result.stderr


def test_debug_stages_are_printed_to_the_error_output(polysched: Polysched, scale: str) -> None:
    result = polysched("run", scale, "--size", "n=5", POLYSCHED_DEBUG="loops")
    assert "-- loops" in result.stderr
    assert "-- loops" not in result.stdout


def test_target_is_reported_before_anything_runs(polysched: Polysched, scale: str) -> None:
    result = polysched("run", f"{Path(scale).name}:none", "--size", "n=5")
    assert (result.exit_code, result.stdout) == (2, "")


def test_durations_have_units() -> None:
    assert [run._duration(seconds) for seconds in (2.5, 0.0125, 3e-6)] == [
        "2.5 s",
        "12.5 ms",
        "3 us",
    ]


PARALLEL = """
import polysched as ps

copied = ps.KernelBuilder("copied")
m = copied.parameter("m", minimum=1)
a = copied.input("a", ps.f32, (m,))
b = copied.output("b", ps.f32, (m,))
with copied.loops(i=m) as i:
    b[i] = a[i]
serial = ps.Schedule(copied.kernel())
parallel = serial.split("i", 64).parallel("io")
"""


def test_threads(polysched: Polysched, write_file: WriteFile) -> None:
    file, size = write_file("threads.py", PARALLEL), ("--size", "m=1000")
    for name in ("parallel", "serial --auto"):
        result = polysched("run", *f"{file}:{name} --threads 2 --size m=1000".split())
        assert (result.exit_code, result.stderr) == (0, "")
        assert "largest difference from the reference 0" in result.stdout
    assert "threads   2\n" in polysched("run", f"{file}:parallel", "--threads", "2", *size).stdout
    assert "threads " not in polysched("run", f"{file}:serial", *size).stdout
    result = polysched("run", *f"{file}:serial --threads 2 --size m=1000".split())
    assert result.exit_code == 2
    assert "threads=2 has no effect" in result.stderr
