"""``--machine`` at every command."""

import json
from pathlib import Path

import pytest

from polysched.cli import options
from polysched.machine.presets import PRESETS
from tests.cli.conftest import SCALE, Polysched, WriteFile

FOR_MACHINES = f"""{SCALE}

def made(kernel, machine):
    return ps.Schedule(kernel).vectorize("i", machine.lanes(32))
"""

QUICK = ("--rounds", "1", "--seconds", "0.05")
RACES = (
    ("conv", "--sizes", "1,3,7,5,20", "--only", "(b)", *QUICK),
    ("compile", "--runs", "1"),
    ("legality", "--pairs", "1"),
    ("matmul", "--shape", "5x9x7", *QUICK),
    ("transpose", "--shape", "200x137", *QUICK),
    ("pack-bits", "--type", "u4", "--count", "512", *QUICK),
    ("gallery", "gemm", *QUICK),
)
COMMANDS = (
    ("check", "TARGET"),
    ("show", "TARGET", "--stage", "asm"),
    ("plot", "TARGET", "-o", "a.svg"),
    ("run", "TARGET", "--size", "n=5"),
    ("compile", "TARGET", "-o", "a.o"),
    ("machine",),
    *(("bench", *race) for race in RACES),
)


@pytest.fixture
def target(write_file: WriteFile) -> str:
    """Return what names a function that makes schedules for machines."""
    return f"{write_file('made.py', FOR_MACHINES)}:made"


def named(words: tuple[str, ...], target: str) -> tuple[str, ...]:
    return tuple(target if word == "TARGET" else word for word in words)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_machine(polysched: Polysched, target: str, words: tuple[str, ...]) -> None:
    result = polysched(*named(words, target), "--machine", "hasswell")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error: unknown machine 'hasswell'; did you mean 'haswell-avx2'?" in result.stderr


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_machine_file(
    polysched: Polysched, target: str, write_file: WriteFile, words: tuple[str, ...]
) -> None:
    path = write_file("mine.toml", 'name = "mine"\nvector_bits = = 256\n')
    result = polysched(*named(words, target), "--machine", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"error: machine file '{path}' is not TOML: " in result.stderr
    assert "(at line 2, column 15)" in result.stderr


@pytest.mark.parametrize("race", RACES, ids=" ".join)
def test_no_race_for_what_cannot_run_here(
    polysched: Polysched, monkeypatch: pytest.MonkeyPatch, race: tuple[str, ...]
) -> None:
    monkeypatch.setattr(options, "detect_host", lambda: PRESETS["generic"])
    result = polysched("bench", *race, "--machine", "haswell-avx2")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error: code for machine 'haswell-avx2' cannot run on this host" in result.stderr


def test_a_race_for_another_machine(polysched: Polysched) -> None:
    for race in (RACES[0], *RACES[3:6]):
        result = polysched("bench", *race, "--machine", "generic", "--json")
        assert result.exit_code == 0, result.stderr
        records = [json.loads(line) for line in result.stdout.splitlines()]
        own = [one for one in records if "polysched" in one.get("contestant", "")]
        assert own
        assert all(one["max_abs_err"] < 1e-3 for one in own)


def test_the_schedule_is_made_for_the_machine(
    polysched: Polysched, target: str, tmp_path: Path
) -> None:
    for machine, lanes in (("haswell-avx2", 8), ("skylake-avx512", 16)):
        chosen = ("--machine", machine)
        steps = polysched("show", target, "--stage", "schedule", *chosen).stdout
        assert steps.startswith(f"vectorize(loop='i', lanes={lanes})")
        fits = f"{machine}: it fits; 0 of {PRESETS[machine].vector_registers} vector registers"
        assert fits in polysched("check", target, *chosen).stdout
        picture = tmp_path / f"{lanes}.svg"
        size = ("--size", "n=40", "--color", "tile")
        assert polysched("plot", target, "-o", str(picture), *size, *chosen).exit_code == 0
        assert f"{-(-40 // lanes)} in the picture" in picture.read_text()
    record = json.loads(
        polysched("run", target, "--size", "n=40", "--machine", "generic", "--json").stdout
    )
    assert (record["machine"], record["max_abs_err"]) == ("generic", 0.0)


def test_a_picture_of_what_is_not_made_for_machines(
    polysched: Polysched, kernels: str, tmp_path: Path
) -> None:
    picture = tmp_path / "a.svg"
    result = polysched("plot", f"{kernels}:legal", "-o", str(picture), "--machine", "zen5")
    assert result.exit_code == 2
    assert f"--machine znver5 has no effect on a picture of '{kernels}:legal'" in result.stderr
    assert not picture.exists()
