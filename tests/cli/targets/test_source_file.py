import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from polysched.cli.targets.source_file import load_source_file
from polysched.errors import TargetError

WriteFile = Callable[[str, str], str]


def failure(path: str) -> list[str]:
    with pytest.raises(TargetError) as caught:
        load_source_file(Path(path))
    return str(caught.value).splitlines()


def test_main_part_does_not_run(write_file: WriteFile) -> None:
    path = write_file("a.py", "x = 1\nif __name__ == '__main__':\n    x = 2\n")
    module = load_source_file(Path(path))
    assert vars(module)["x"] == 1
    assert module.__file__ == path


def test_prints_go_to_the_error_output(
    write_file: WriteFile, capsys: pytest.CaptureFixture[str]
) -> None:
    load_source_file(Path(write_file("a.py", "print('hello')")))
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "hello\n")


def test_neighbors_are_importable_and_the_path_is_restored(write_file: WriteFile) -> None:
    write_file("neighbor_of_a.py", "value = 5")
    before = list(sys.path)
    module = load_source_file(Path(write_file("a.py", "from neighbor_of_a import value")))
    assert vars(module)["value"] == 5
    assert sys.path == before


def test_nothing_is_written_beside_the_file(write_file: WriteFile, tmp_path: Path) -> None:
    load_source_file(Path(write_file("a.py", "x = 1")))
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


def test_dataclasses_find_their_module(write_file: WriteFile) -> None:
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass A:\n    x: int = 3\n"
    )
    assert vars(load_source_file(Path(write_file("a.py", text))))["A"]().x == 3


def test_exception_shows_the_users_lines_innermost_first(write_file: WriteFile) -> None:
    path = write_file("a.py", "import json\n\ndef f():\n    json.loads('{')\n\nf()\n")
    lines = failure(path)
    assert lines[0].startswith(f"{path}: JSONDecodeError: ")
    assert f"  {path}:4 in f" in lines
    assert lines[-1] == f"  {path}:6 in <module>"


def test_error_of_polysched_has_no_class_name_and_no_lines_of_polysched(
    write_file: WriteFile,
) -> None:
    path = write_file("a.py", "import polysched as ps\n\nps.load_machine('nothing')\n")
    first, *lines = failure(path)
    assert first.startswith(f"{path}: unknown machine 'nothing'")
    assert lines == [f"  {path}:3 in <module>"]


def test_syntax_error_has_its_place(write_file: WriteFile) -> None:
    path = write_file("a.py", "x = 1\ny = (\n")
    assert failure(path) == [f"{path}: SyntaxError: '(' was never closed", f"  {path}:2:5"]


def test_null_byte(write_file: WriteFile) -> None:
    path = write_file("a.py", "x = 1\0")
    # a ValueError before Python 3.11.4
    assert failure(path)[0].startswith((f"{path}: SyntaxError: ", f"{path}: ValueError: "))


def test_exception_without_text(write_file: WriteFile) -> None:
    path = write_file("a.py", "raise ValueError\n")
    assert failure(path) == [f"{path}: ValueError", f"  {path}:1 in <module>"]


def test_file_that_ends_the_process(write_file: WriteFile) -> None:
    path = write_file("a.py", "import sys\nsys.exit(4)\n")
    assert "ends the process (exit code 4)" in failure(path)[0]


def test_an_error_of_a_frontend_is_shown_without_its_own_lines(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_text(
        "import polysched as ps\n"
        "@ps.kernel\n"
        'def f(x: "f32[n]"):\n'
        "    for i in range(len(x)):\n"
        "        x[i * i] = 0\n"
    )
    with pytest.raises(TargetError) as raised:
        load_source_file(path)
    first, *_, line, carets, place = str(raised.value).splitlines()
    assert first.startswith(f"{path}:5:11: '(i * i)' is not affine")
    assert (line.strip(), carets.strip()) == ("x[i * i] = 0", "^^^^^")
    assert place == f"  {path}:2 in <module>"
