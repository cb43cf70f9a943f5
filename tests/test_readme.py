"""What the README shows is what happens."""

import re
import runpy
import shlex
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

import polysched as ps
from polysched.cli.main import main
from polysched.schedule.table import PRIMITIVES
from tests.library.matmul.kernel.test_epilogue import expected as activated

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCKS if language == "python"]
SHELL = "\n".join(text for language, text in BLOCKS if language == "console")
COMMANDS = re.findall(r"^\$ polysched (.*?)(?:  +#.*)?$", SHELL, re.MULTILINE)
THERE = [command for command in COMMANDS if "examples/" in command]


@pytest.fixture
def in_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_the_kernels_and_schedules() -> None:
    names: dict[str, object] = {}
    for text in PYTHON[1:4]:
        exec(text, names | {"ps": ps}, names)
    assert np.shape(names["result"]) == (5, 80, 100, 128)
    tiled, mended = names["tiled"], names["mended"]
    assert isinstance(tiled, ps.Schedule)
    assert isinstance(mended, ps.Schedule)
    assert not tiled.check().is_legal
    assert mended.check().is_legal
    assert f"`{tiled.condition()}`" in TEXT
    for repair in tiled.repairs():
        assert f"\ntry: {repair}\n" in TEXT


def test_the_function_that_is_compiled_when_called(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "blurred.py"  # the source of a function is read from its file
    path.write_text(PYTHON[0], encoding="utf-8")
    names = runpy.run_path(str(path))
    image = np.random.default_rng(0).random((9, 12))
    assert np.array_equal(names["blur"](image), names["blur"].python(image))
    assert "vectorize" in capsys.readouterr().out


def test_the_function_is_a_kernel(tmp_path: Path) -> None:
    path = tmp_path / "planes.py"
    path.write_text(f"import numpy as np\nimport polysched as ps\n\n{PYTHON[5]}", encoding="utf-8")
    sizes = [word for one in ("h=3", "w=5") for word in ("--size", one)]
    result = CliRunner().invoke(main, ["run", str(path), "--repeat", "1", *sizes])
    assert result.exit_code == 0, result.output


def test_what_is_ready_to_call() -> None:
    random = np.random.default_rng(0)

    def floats(*shape: int) -> np.ndarray:
        return random.random(shape, dtype=np.float32)

    a, b, c = floats(9, 7), floats(7, 5), floats(5)
    x, y, z = floats(50, 80), floats(130, 64), np.zeros((50, 100), np.float32)
    codes, scales = random.integers(-9, 9, (7, 5), dtype=np.int8), floats(7, 5)
    images, stack, others = floats(2, 40, 30, 16), floats(3, 4, 5), floats(3, 5, 6)
    scores, weight, bias = floats(6, 9), floats(80), floats(80)
    names = {"ps": ps, **locals()}
    results = [eval(call, names) for call in PYTHON[4].splitlines()]
    expected = (
        activated("gelu_tanh", a @ b + c),
        x[:, :64] @ y[64:128].T,
        a @ (codes * scales),
        images.transpose(0, 3, 1, 2),
        stack @ others,
        np.exp(scores) / np.exp(scores).sum(-1, keepdims=True),
        (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * weight + bias,
    )
    for found, right in zip(results, expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-4)
    assert z[:, 32:96].any()


@pytest.mark.usefixtures("in_the_root")
def test_the_explanation_is_printed_as_it_stands() -> None:
    result = CliRunner().invoke(main, ["check", "examples/seidel.py:tiled"])
    assert f"$ polysched check examples/seidel.py:tiled\n{result.output}" in SHELL


def test_what_is_not_affine_is_underlined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (
        "void f(int n, float A[n][n], float x[n]) {",
        "  for (int i = 0; i < n; i++)",
        "    for (int j = 0; j < n; j++)",
        "      for (int k = 0; k < j*j; k++)",
        "        A[i][j] += x[i];",
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
    named = re.findall(r"(?:\]\(|`)((?:examples|notes|polysched|tests)/[\w/.]*)", TEXT)
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
