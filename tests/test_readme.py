"""What the README shows is what happens."""

import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

from polysched.cli.main import main
from polysched.schedule.table import PRIMITIVES
from tests.library.matmul.kernel.test_epilogue import expected as activated

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
C = [text for language, text in BLOCKS if language == "c"]
SHELL = "\n".join(text for language, text in BLOCKS if language == "console")
COMMANDS = re.findall(r"^\$ polysched (.*?)(?:  +#.*)?$", SHELL, re.MULTILINE)
THERE = [command for command in COMMANDS if "examples/" in command]


@pytest.fixture
def in_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def run(text: str, folder: Path) -> dict[str, Any]:
    """Run a block as a program of its own; the source of a function is read from its file."""
    path = folder / "block.py"
    path.write_text(text, encoding="utf-8")
    return runpy.run_path(str(path))


def block(part: str) -> str:
    """The only block of Python that holds a text."""
    (found,) = (text for text in PYTHON if part in text)
    return found


@pytest.mark.parametrize("text", PYTHON, ids=[str(number) for number in range(len(PYTHON))])
def test_every_block_is_complete_and_prints(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(text, tmp_path)
    assert capsys.readouterr().out.strip()


def test_the_function_that_is_compiled_when_called(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    names = run(block("ps.jit(blur)"), tmp_path)
    image = np.random.default_rng(0).random((9, 12))
    assert np.array_equal(names["fast"](image), names["blur"](image))
    shown = capsys.readouterr().out
    assert shown.startswith("same bits: True\nnumpy: ")
    assert "vectorize(" in shown


def test_the_illegal_schedule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(block('"seidel"'), tmp_path)
    tiled, mended = names["tiled"], names["mended"]
    assert not tiled.check().is_legal
    assert mended.check().is_legal
    assert f"`{tiled.condition()}`" in TEXT
    shown = capsys.readouterr().out
    for repair in tiled.repairs():
        assert f"\ntry: {repair}\n" in TEXT
        assert f"\ntry: {repair}\n" in shown
    assert shown.endswith(f"{mended.check()}\n")


def test_the_convolution(tmp_path: Path) -> None:
    assert np.shape(run(block('"conv2d_relu"'), tmp_path)["result"]) == (5, 80, 100, 128)


def test_the_function_is_a_kernel(tmp_path: Path) -> None:
    names = run(block("def planes"), tmp_path)
    pixels, scale = names["pixels"], np.array([0.5, 1, 2], np.float32)
    expected = (pixels.astype(np.float32) * scale).transpose(2, 0, 1)
    assert np.array_equal(names["out"], expected)


def test_what_is_ready_to_call(tmp_path: Path) -> None:
    names = run(block("ps.computed"), tmp_path)
    a, b = names["a"], names["b"]
    expected = {
        "gelu": activated("gelu_tanh", a @ b + names["c"]),
        "scaled": a @ (names["codes"] * names["scales"]),
    }
    for name, right in expected.items():
        np.testing.assert_allclose(names[name], right, rtol=1e-4, atol=1e-4)
    product = a[:, :64] @ b.T[:32, :64].T
    np.testing.assert_allclose(names["z"][:, 32:64], product, rtol=1e-4, atol=1e-4)
    assert names["images"].shape == (2, 16, 40, 30)
    assert names["stack"].shape == (3, 4, 6)
    gelu = names["gelu"]
    exponentials = np.exp(gelu)
    softmax = exponentials / exponentials.sum(-1, keepdims=True)
    np.testing.assert_allclose(names["scores"], softmax, rtol=1e-4, atol=1e-6)
    centered = gelu - gelu.mean(-1, keepdims=True)
    normed = centered / np.sqrt(gelu.var(-1, keepdims=True) + 1e-5) + names["c"]
    np.testing.assert_allclose(names["normed"], normed, rtol=1e-4, atol=1e-4)


def test_the_c_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (text,) = C
    assert text.startswith("// fir.c\n")
    Path("fir.c").write_text(text, encoding="utf-8")
    commands = [command for command in COMMANDS if "fir.c" in command]
    assert [shlex.split(command)[0] for command in commands] == ["optimize", "check", "compile"]
    for command in commands:
        result = CliRunner().invoke(main, shlex.split(command))
        assert result.exit_code == 0, result.output
    assert Path("fir.o").read_bytes().startswith(b"\x7fELF")


@pytest.mark.usefixtures("in_the_root")
def test_the_explanation_is_printed_as_it_stands() -> None:
    result = CliRunner().invoke(main, ["check", "examples/seidel.py:tiled"])
    assert f"$ polysched check examples/seidel.py:tiled\n{result.output}" in SHELL


def test_what_is_not_affine_is_underlined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (
        "void f(int n, float x[n]) {",
        "  for (int i = 2; i < n; i++)",
        "    for (int j = i; i*j < n; j++)",
        "      x[i] += x[j];",
        "}",
    )
    Path("t.c").write_text("\n".join(lines), encoding="utf-8")
    assert CliRunner().invoke(main, ["check", "t.c"]).output in SHELL


@pytest.mark.usefixtures("in_the_root")
@pytest.mark.parametrize("command", THERE)
def test_commands_run(command: str, tmp_path: Path) -> None:
    words = [str(tmp_path / word) if before == "-o" else word for before, word in _pairs(command)]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == ("seidel.py:tiled" in command and words[0] == "check"), result.output


def _pairs(command: str) -> list[tuple[str, str]]:
    words = shlex.split(command)
    return list(zip(("", *words), words, strict=False))


def test_commands_are_found() -> None:
    assert len(THERE) >= 7
    assert {shlex.split(command)[0] for command in COMMANDS} <= set(
        main.list_commands(click.Context(main))
    )


def test_every_file_it_names_is_there() -> None:
    named = re.findall(r"(?:\]\(|`)((?:docs|examples|notes|polysched|tests)/[\w/.]*)", TEXT)
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(named) > 10


def test_every_word_is_named() -> None:
    words = [function.__name__ for function in PRIMITIVES.values()]
    assert [word for word in words if f"`{word}`" not in TEXT] == []


def test_every_note_that_a_text_names_exists() -> None:
    folders = ("polysched", "frontends", "examples", "notes", "tests")
    texts = [
        ROOT / "README.md",
        *(path for one in folders for path in (ROOT / one).rglob("*.[pm][yd]")),
    ]
    named = {
        (str(path.relative_to(ROOT)), note)
        for path in texts
        for note in re.findall(r"notes/\w+\.md", path.read_text(encoding="utf-8"))
    }
    assert {name for name in named if not (ROOT / name[1]).exists()} == set()
