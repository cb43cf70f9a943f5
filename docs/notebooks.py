"""The lessons as notebooks: ``python docs/notebooks.py FOLDER`` writes one for each lesson."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

LESSONS = Path(__file__).parent / "lessons"

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"Save this as `([\w.]+)`")


def notebook(lesson: str) -> dict[str, Any]:
    """Return a lesson as a notebook in the format of Jupyter, without outputs.

    Blocks of Python are cells of code, commands are cells with ``!``, and a block that its reader
    saves as a file is a cell that writes it. What a block prints is left to the notebook.
    """
    cells: list[dict[str, Any]] = []
    position = 0
    for block in _BLOCK.finditer(lesson):
        text = lesson[position : block.start()]
        position = block.end()
        _add(cells, "markdown", text)
        language, code = block.groups()
        saved = _SAVED.search(text)
        if saved:
            _add(cells, "code", f"%%writefile {saved[1]}\n{code}")
        if language == "python":
            _add(cells, "code", code)
        elif language == "console":
            _add(cells, "code", re.sub(r"^\$ ", "!", code, flags=re.MULTILINE))
    _add(cells, "markdown", lesson[position:])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _add(cells: list[dict[str, Any]], kind: str, text: str) -> None:
    if text.strip():
        cell = {"id": f"cell-{len(cells)}", "cell_type": kind, "metadata": {}}
        source = {"source": text.strip().splitlines(keepends=True)}
        cells.append(
            cell | source | ({"outputs": [], "execution_count": None} if kind == "code" else {})
        )


def main(folder: Path) -> None:
    """Write the notebooks of all lessons into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for lesson in sorted(LESSONS.glob("*.md")):
        made = notebook(lesson.read_text(encoding="utf-8"))
        path = folder / f"{lesson.stem}.ipynb"
        path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
