"""Texts kept in files, to be read by people and compared by tests."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "golden_files"


def compare_with_golden(
    name: str, text: str, *, update: bool = False, folder: Path = FOLDER
) -> None:
    """Fail unless ``text`` equals the golden file ``name``; with ``update`` rewrite the file."""
    path = folder / name
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    if not path.exists():
        pytest.fail(f"no golden file {path}; run pytest --update-golden and read what it wrote")
    expected = path.read_text(encoding="utf-8")
    assert text == expected, f"differs from {path}; if it is meant, run pytest --update-golden"
