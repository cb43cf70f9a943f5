import os
import shutil
import sys
from pathlib import Path

import pytest

from polysched.cli.plot import DISPLAYS
from tests.cli.conftest import Polysched, WriteFile


def test_a_picture_of_a_legal_and_of_an_illegal_schedule(
    polysched: Polysched, kernels: str, tmp_path: Path
) -> None:
    for name in ("legal", "illegal"):
        path = tmp_path / f"{name}.svg"
        result = polysched("plot", f"{kernels}:{name}", "-o", str(path))
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout == f"{path}: wavefront, {name}\n"
        assert f"wavefront: {name}" in path.read_text()


def test_png(polysched: Polysched, kernels: str, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    assert polysched("plot", f"{kernels}:legal", "-o", str(path)).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_without_a_file_it_is_shown_if_there_is_a_display(
    polysched: Polysched, kernels: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("click.launch", shown.append)
    for name in DISPLAYS:
        monkeypatch.delenv(name, raising=False)
    result = polysched("plot", f"{kernels}:legal")
    assert result.exit_code == 2
    assert "there is no display to show the picture on; expected -o FILE" in result.stderr
    monkeypatch.setenv("DISPLAY", ":0")
    result = polysched("plot", f"{kernels}:legal")
    assert result.exit_code == 0
    (path,) = shown
    assert result.stdout == f"{path}: wavefront, legal\n"
    assert "wavefront: legal" in Path(path).read_text()
    shutil.rmtree(Path(path).parent)


def drawn(polysched: Polysched, target: str, tmp_path: Path, *options: str) -> str:
    path = tmp_path / "drawn.svg"
    result = polysched("plot", target, "-o", str(path), *options)
    assert (result.exit_code, result.stderr) == (0, "")
    return path.read_text()


def test_view(polysched: Polysched, kernels: str, tmp_path: Path) -> None:
    target = f"{kernels}:legal"
    options = ("--statement", "S", "--dimensions", "j, i", "--color", "tile", "--arrows", "none")
    text = drawn(polysched, target, tmp_path, *options)
    assert "colored by tile (jo); 2 in the picture" in text
    assert "tile jo = 1" in text
    assert "flow dependence" not in text
    text = drawn(polysched, target, tmp_path, "--at", "j=2", "--arrows", "flow,anti", "--path")
    assert "only the instances at j = 2" in text
    assert "order of execution" in text
    text = drawn(polysched, target, tmp_path, "--color", "tile", "--tile", "i")
    assert "colored by tile (i); 8 in the picture" in text


def test_sizes(polysched: Polysched, scale: str, tmp_path: Path) -> None:
    assert " at n = 24" in drawn(polysched, f"{scale}:scale", tmp_path, "--size", "n=24")


def test_schedule_file(
    polysched: Polysched, scale: str, tmp_path: Path, write_file: WriteFile
) -> None:
    steps = write_file("steps.sched", "split(loop='i', factor=4)\n")
    options = ("--schedule", steps, "--color", "tile")
    assert "colored by tile (io)" in drawn(polysched, f"{scale}:scale", tmp_path, *options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--statement", "T"), "error: no statement 'T'"),
        (("--dimensions", "i,k"), "error: no dimension 'k' of statement 'S'"),
        (("--at", "k=0"), "error: no fixed dimension 'k' of statement 'S'"),
        (("--at", "i"), "Invalid value for '--at': 'i' is not NAME=NUMBER"),
        (("--at", "i=0:8:2"), "'i=0:8:2' is not NAME=NUMBER or NAME=NUMBER:NUMBER"),
        (("--at", "i=0:8", "--at", "i=1"), "Invalid value for '--at': 'i' is given twice"),
        (("--size", "n=8"), "error: kernel 'wavefront' has no parameter 'n'"),
        (("--color", "loops"), "'loops' is not one of 'order', 'tile', 'none'"),
        (
            ("--tile", "i"),
            "--tile chooses the tiles of --color tile; it has no effect with --color order",
        ),
        (("--arrows", "flow,ant"), "no kind of dependence 'ant'; did you mean 'anti'"),
        (("--arrows", "flow,none"), "no kind of dependence 'none'"),
    ],
)
def test_bad_choices(
    polysched: Polysched, kernels: str, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    path = tmp_path / "a.svg"
    result = polysched("plot", f"{kernels}:legal", "-o", str(path), *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not path.exists()


def test_bad_files(polysched: Polysched, kernels: str, tmp_path: Path) -> None:
    target = f"{kernels}:legal"
    result = polysched("plot", target, "-o", "a.bmp")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: cannot write a picture to 'a.bmp'; expected a name ending in .png, .svg, .pdf\n"
    )
    path = tmp_path / "missing" / "a.png"
    result = polysched("plot", target, "-o", str(path))
    assert (result.exit_code, result.stderr) == (
        2,
        f"error: cannot write '{path}': {os.strerror(2)}\n",
    )


def test_a_part_of_a_large_domain(polysched: Polysched, scale: str, tmp_path: Path) -> None:
    large = ("--size", "n=1000000000")
    text = drawn(polysched, f"{scale}:scale", tmp_path, *large)
    assert "as a whole: a box of 1,000,000,000 points" in text
    assert "only the instances at i in 512..600" in drawn(
        polysched, f"{scale}:scale", tmp_path, *large, "--at", "i=512:600"
    )


def test_without_matplotlib(
    polysched: Polysched, kernels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = polysched("plot", f"{kernels}:legal", "-o", str(tmp_path / "a.png"))
    assert (result.exit_code, result.stderr) == (
        2,
        "error: plotting needs matplotlib: pip install matplotlib\n",
    )
