from pathlib import Path

import pytest

from polysched.bench.calibration import Calibration
from polysched.machine.costs import CALIBRATED
from polysched.machine.files import from_toml
from polysched.machine.load import load_machine
from polysched.machine.presets import PRESETS
from tests.cli.conftest import Polysched


def test_table_of_this_machine(polysched: Polysched) -> None:
    result = polysched("machine", COLUMNS="200")
    assert result.exit_code == 0
    host = load_machine()
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert f"vector bits       {host.vector_bits}" in lines
    assert f"cores usable      {host.cores_usable}" in lines
    assert host.name in lines[0]


def test_table_of_a_preset_has_its_caches_and_features(polysched: Polysched) -> None:
    text = polysched("machine", "--machine", "znver4").stdout
    assert "L1 cache          32 KiB, 8 ways, lines of 64 bytes, shared by 2" in text
    assert " avx512bf16 " in text
    assert "matrix unit       none" in text


def test_toml_reads_back(polysched: Polysched, tmp_path: Path) -> None:
    result = polysched("machine", "--machine", "znver5", "--toml")
    assert from_toml(result.stdout, "output") == load_machine("znver5")
    file = tmp_path / "mine.toml"
    file.write_text(result.stdout)
    again = polysched("machine", "--machine", str(file), "--toml")
    assert again.stdout == result.stdout


def test_calibration_compares_costs_and_writes_a_machine_file(
    polysched: Polysched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = Calibration(dict.fromkeys(CALIBRATED, 3.0))
    monkeypatch.setattr("polysched.cli.machine.calibrate", lambda machine, tell: measured)
    file = tmp_path / "mine.toml"
    used = load_machine().costs.line_into_l1
    result = polysched("machine", "--calibrate", "-o", str(file), COLUMNS="120")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split("  ")[0] == "cost"
    assert lines[1].split()[-3:] == [f"{used:.2f}", "3.00", f"{3.0 / used:.2f}"]
    assert load_machine(str(file)).costs.line_into_l1 == 3.0


def test_a_machine_file_that_cannot_be_written(polysched: Polysched, tmp_path: Path) -> None:
    result = polysched("machine", "-o", str(tmp_path / "none" / "mine.toml"))
    assert result.exit_code == 2
    assert "cannot be written: No such file or directory" in result.stderr


def test_help_lists_the_presets(polysched: Polysched) -> None:
    text = polysched("machine", "--help").stdout
    assert all(name in text for name in PRESETS)


def test_unknown_machine(polysched: Polysched) -> None:
    result = polysched("machine", "--machine", "zen6")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error: unknown machine 'zen6'; did you mean" in result.stderr


def test_missing_file(polysched: Polysched) -> None:
    result = polysched("machine", "--machine", "none.toml")
    assert result.exit_code == 2
    assert "machine file 'none.toml' cannot be read" in result.stderr


def test_a_machine_is_named_with_and_without_the_option(polysched: Polysched) -> None:
    named = polysched("machine", "haswell-avx2")
    assert named.exit_code == 0
    assert named.stdout == polysched("machine", "--machine", "haswell-avx2").stdout
    twice = polysched("machine", "haswell-avx2", "--machine", "znver4")
    assert twice.exit_code == 2
    assert "the machine is given twice" in twice.stderr
    assert "did you mean 'haswell-avx2'" in polysched("machine", "haswel").stderr
