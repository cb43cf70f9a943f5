from pathlib import Path

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
