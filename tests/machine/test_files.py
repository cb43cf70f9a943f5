from dataclasses import replace
from pathlib import Path

import pytest

from polysched.errors import MachineError
from polysched.machine import files
from polysched.machine.costs import Costs
from polysched.machine.description import Machine
from polysched.machine.presets import PRESETS

ZEN = PRESETS["znver4"]
TEXT = files.to_toml(ZEN)


@pytest.mark.parametrize("machine", PRESETS.values(), ids=list(PRESETS))
def test_saved_and_loaded_machines_are_equal(machine: Machine, tmp_path: Path) -> None:
    odd = replace(machine, name='odd "name" \\ ü', costs=Costs(l2_load=7))
    for original in (machine, odd):
        files.save(original, tmp_path / "machine.toml")
        assert files.load(tmp_path / "machine.toml") == original


def test_defaults_may_be_left_out() -> None:
    lines = [line for line in TEXT.splitlines() if not line.startswith(("cores_", "page_"))]
    assert files.from_toml("\n".join(lines), "text") == ZEN


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fma_units = 1", "fma_unit = 1", "file: unknown key 'fma_unit'; did you mean 'fma_units'"),
        ("fma_units = 1\n", "", "file: missing key 'fma_units'"),
        ("fma_units = 1", "fma_units = 'two'", "file: key 'fma_units' is 'two'; expected a whole"),
        ("fma_units = 1", "fma_units = true", "file: key 'fma_units' is True; expected a whole"),
        ("fma_units = 1", "fma_units = 1.5", "file: key 'fma_units' is 1.5; expected a whole"),
        ('cpu = "znver4"', "cpu = 4", "file: key 'cpu' is 4; expected text"),
        ("fma_units = 1", "fma_units = 0", "file: machine 'znver4': fma_units is 0"),
        (
            "fma_units = 1",
            "matrix_unit = 1\nfma_units = 1",
            "key 'matrix_unit' is 1; expected text",
        ),
        ("level = 2", "level = 'two'", r"file, caches\[1\]: key 'level' is 'two'"),
        ("level = 2, ", "", r"file, caches\[1\]: missing key 'level'"),
        ("level = 2", "level = 0", r"file, caches\[1\]: cache level is 0"),
        ("fma_units = 1", "fma_units 1", "file is not TOML: .*line"),
        (
            "fma_units = 1",
            "costs = 3\nfma_units = 1",
            r"key 'costs' is 3; expected a table, ",
        ),
        (
            "fma_units = 1",
            "fma_units = 1\ncosts.l2_loads = 7",
            "file, costs: unknown key 'l2_loads'; did you mean 'l2_load'",
        ),
        (
            "fma_units = 1",
            "fma_units = 1\ncosts.l2_load = 0",
            "costs: l2_load is 0; expected a",
        ),
    ],
)
def test_errors_name_the_key(old: str, new: str, message: str) -> None:
    assert old in TEXT
    with pytest.raises(MachineError, match=message):
        files.from_toml(TEXT.replace(old, new, 1), "file")


def test_costs_are_written_where_they_are_not_the_defaults() -> None:
    assert "costs" not in TEXT
    text = files.to_toml(replace(ZEN, costs=Costs(l2_load=7)))
    assert text.count("=") == TEXT.count("=") + 1
    assert "[costs]\nl2_load = 7\n" in text


def test_caches_must_be_tables() -> None:
    with pytest.raises(MachineError, match=r"key 'caches' is 3; expected tables, \[\[caches\]\]"):
        files.from_toml("caches = 3", "file")


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="absent.toml' cannot be read: No such file"):
        files.load(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(MachineError, match="binary.toml' is not UTF-8 text"):
        files.load(tmp_path / "binary.toml")
    with pytest.raises(MachineError, match="m.toml' cannot be written: No such file"):
        files.save(ZEN, tmp_path / "absent" / "m.toml")
