import json
from pathlib import Path
from typing import Any

import pytest

from polysched.bench.c_programs import race as races
from polysched.llvm.export.c_function import CFunction
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule
from tests.cli.conftest import Polysched
from tests.frontends.scop.calling import needs_gcc

GALLERY = str(Path(__file__).parents[3] / "examples" / "gallery")
QUICK = f"bench gallery --folder {GALLERY} --sizes small --rounds 1 --seconds 0.1".split()


@needs_gcc
def test_json_lines(polysched: Polysched) -> None:
    result = polysched(*QUICK, "jacobi_1d", "trisolv", "--json", "--cc", "other=gcc")
    assert result.exit_code == 0
    records = [json.loads(line) for line in result.stdout.splitlines()]
    raced = [one for one in records if "fraction_of_peak" in one]
    assert {one["kernel"] for one in raced} == {"jacobi_1d steps=5 n=20000", "trisolv n=200"}
    assert {"polysched", "unscheduled", "gcc", "other"} <= {one["contestant"] for one in raced}
    assert all(one["max_abs_err"] <= 1e-9 for one in raced)
    ratios = [one for one in records if "ratio" in one]
    assert {(one["work"], one["over"]) for one in ratios} >= {
        ("jacobi_1d", "gcc"),
        ("trisolv", "gcc"),
    }
    means = {one["over"]: one["geometric_mean"] for one in records if "geometric_mean" in one}
    assert means["gcc"] > 0


@needs_gcc
def test_a_line_a_program(polysched: Polysched) -> None:
    result = polysched(*QUICK, "trisolv")
    assert result.exit_code == 0
    first, *means = result.stdout.splitlines()
    assert first.startswith("trisolv n=200: 0.")
    assert "times unscheduled" in first
    assert "times gcc" in first
    assert any(line.startswith("geometric mean: ") for line in means)


@needs_gcc
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), set()),
        (("--threads", "2"), {races.AUTO, races.THREADED}),
    ],
)
def test_the_schedule_for_threads_races_with_the_one_for_one(
    options: tuple[str, ...], expected: set[str], polysched: Polysched
) -> None:
    result = polysched(*QUICK, "jacobi_1d", "--json", *options)
    assert result.exit_code == 0
    records = [json.loads(line) for line in result.stdout.splitlines()]
    raced = {one["contestant"] for one in records if "fraction_of_peak" in one}
    assert raced & {races.AUTO, races.THREADED} == expected
    over = {one["over"] for one in records if "ratio" in one}
    assert (races.ONE_THREAD in over) == (races.THREADED in expected)


def test_a_wrong_result_of_our_own_fails(
    polysched: Polysched, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = races.compiled_by_polysched

    def idle(
        schedule: Schedule, function: CFunction, folder: Path, label: str, *machine: Machine
    ) -> Any:
        if label == races.OWN:
            return {function.name: lambda *_: None}
        return original(schedule, function, folder, label, *machine)

    monkeypatch.setattr(races, "compiled_by_polysched", idle)
    result = polysched(*QUICK, "trisolv")
    assert result.exit_code == 1
    assert "wrong output of polysched; this is a defect of polysched" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gem",), "no program 'gem' in"),
        (("--folder", "/no/such"), "there is no gallery in '/no/such'; its C files are in the"),
        (("--cc", "clang"), "'clang' is not NAME=COMMAND, such as clang=/opt/llvm/bin/clang"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], message: str, polysched: Polysched) -> None:
    result = polysched(*QUICK, *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
