"""What is refused, each with its message: the place, the reason, the line, the carets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import load_c
from tests.golden import compare_with_golden

FOLDER = Path(__file__).parent / "errors"
NAMES = sorted(path.stem for path in FOLDER.glob("*.c"))


@pytest.mark.parametrize("name", NAMES)
def test_message(
    name: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(FOLDER)
    with pytest.raises(FrontendError) as caught:
        load_c(f"{name}.c")
    update = request.config.getoption("--update-golden")
    compare_with_golden(f"{name}.txt", f"{caught.value}\n", update=update, folder=FOLDER)


def test_there_are_many() -> None:
    assert len(NAMES) >= 40


def test_nearly_all_point_at_a_place() -> None:
    placed = [name for name in NAMES if re.search(r"^  *\^+$", _golden(name), re.MULTILINE)]
    # A text without functions has no place to point at, nor have several to choose from.
    assert set(NAMES) - set(placed) == {"empty", "no_function", "several_functions"}


def _golden(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text().replace("\t", " ")
