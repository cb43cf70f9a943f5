"""The lessons of the documentation: every block runs, and prints what the lesson shows."""

from __future__ import annotations

import io
import re
import runpy
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from polysched.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
LESSONS = sorted((DOCS / "lessons").glob("*.md"))
SOURCES = {"6-bringing-c": ("c", "fir.c"), "8-exporting": ("python", "scale.py")}
"""The block of a lesson that its reader saves as a file, and the file."""


def blocks(text: str) -> list[tuple[str, str, int]]:
    """The language and the text of each block, and the number of its first line."""
    found = re.finditer(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(one[1], one[2], text.count("\n", 0, one.start(2))) for one in found]


def without_text(text: str) -> str:
    """The blocks of Python at their lines, so that functions find their source in one file."""
    lines = [""] * text.count("\n")
    for language, code, first in blocks(text):
        if language == "python":
            lines[first : first + code.count("\n")] = code.splitlines()
    return "\n".join(lines)


def commands(text: str) -> str:
    """Run the commands of a block, and return what they print."""
    output = ""
    for line in text.splitlines():
        result = CliRunner().invoke(main, shlex.split(line.removeprefix("$ polysched ")))
        assert result.exit_code == 0, f"{line}\n{result.output}"
        output += result.output
    return output


def require_lines(shown: str, printed: str) -> None:
    """Check that each line of a lesson begins a printed line, perhaps indented, in this order."""
    lines = iter(printed.splitlines())
    for line in shown.splitlines():
        assert any(one.strip().startswith(line.strip()) for one in lines), f"{line}\n---\n{printed}"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_a_lesson_prints_what_it_shows(
    lesson: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = lesson.read_text(encoding="utf-8")
    parts = blocks(text)
    language, name = SOURCES.get(lesson.stem, ("", ""))
    if name:
        Path(name).write_text(next(code for kind, code, _ in parts if kind == language))
    path = tmp_path / "lesson.py"
    path.write_text(without_text(text), encoding="utf-8")
    names: dict[str, object] = {"__name__": "lesson"}
    printed = ""
    for kind, code, first in parts:
        if kind == "python":
            output = io.StringIO()
            with redirect_stdout(output):
                exec(compile("\n" * first + code, str(path), "exec"), names)
            printed = output.getvalue()
        elif kind == "console":
            printed = commands(code)
        elif kind == "output":
            assert code.strip()
            require_lines(code, printed)
    kinds = [kind for kind, _, _ in parts]
    assert kinds.count("output") >= 3


def test_all_lessons_are_there() -> None:
    assert [lesson.stem[0] for lesson in LESSONS] == list("12345678")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.stem)
def test_the_notebook_has_the_blocks_that_the_tests_run(lesson: Path) -> None:
    text = lesson.read_text(encoding="utf-8")
    made = runpy.run_path(str(DOCS / "notebooks.py"))["notebook"](text)
    cells = ["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == "code"]
    expected = [code.strip() for kind, code, _ in blocks(text) if kind == "python"]
    assert [cell for cell in cells if cell[0] not in "%!"] == expected
    written = [cell.split()[1] for cell in cells if cell.startswith("%%writefile")]
    assert written == ([SOURCES[lesson.stem][1]] if lesson.stem in SOURCES else [])
    commands_shown = sum(code.count("$ ") for kind, code, _ in blocks(text) if kind == "console")
    assert sum(cell.count("!polysched") for cell in cells) == commands_shown


@pytest.mark.slow
def test_the_documentation_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    page = (tmp_path / "reference/command-line.html").read_text(encoding="utf-8")
    for name in main.list_commands(click.Context(main)):
        assert f"Usage: polysched {name}" in page
    primitives = (tmp_path / "reference/primitives.html").read_text(encoding="utf-8")
    assert "vectorize_reduction" in primitives
