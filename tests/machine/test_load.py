from pathlib import Path

import pytest

from polysched.errors import MachineError
from polysched.machine import files, load_machine
from polysched.machine.detect import detect_host
from polysched.machine.load import as_machine
from polysched.machine.presets import PRESETS


def test_nothing_means_this_host() -> None:
    assert load_machine() is detect_host()
    assert load_machine("host") is detect_host()


def test_presets_and_aliases() -> None:
    assert load_machine("znver4") is PRESETS["znver4"]
    assert load_machine("zen4") is PRESETS["znver4"]


def test_what_a_caller_means() -> None:
    assert as_machine(PRESETS["znver4"]) is PRESETS["znver4"]
    assert as_machine("zen4") is PRESETS["znver4"]
    assert as_machine() is detect_host()


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    files.save(PRESETS["generic"], path)
    assert load_machine(str(path)) == PRESETS["generic"]


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(
        MachineError, match="unknown machine 'saphirerapid'; did you mean 'sapphire"
    ):
        load_machine("saphirerapid")
    with pytest.raises(MachineError, match=r"known are .*'znver5' \(or give the path of a .toml"):
        load_machine("m1")
