import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from polysched.errors import PlotError
from polysched.plot.draw import draw
from polysched.plot.figure import picture_format, plot, save, svg_text
from polysched.plot.view import View
from polysched.schedule.schedule import Schedule
from tests.plot.pictures import illegal_seidel
from tests.support.kernels import grid

SIGNATURES = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF-"}


@pytest.mark.parametrize("extension", SIGNATURES)
def test_files(tmp_path: Path, extension: str) -> None:
    paths = [tmp_path / f"{name}.{extension}" for name in ("first", "second")]
    for path in paths:
        save(draw(illegal_seidel()), path)
    content = paths[0].read_bytes()
    assert content.startswith(SIGNATURES[extension])
    assert paths[1].read_bytes() == content


def test_the_labels_of_an_svg_are_text() -> None:
    text = svg_text(draw(illegal_seidel()))
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    labels = {element.text for element in root.iter() if element.tag.endswith("}text")}
    expected = {"seidel: illegal", "S[0,2]", "S[1,1]", "s", "i", "flow dependence", "witness"}
    assert expected <= labels


def test_names_are_shown_as_they_are() -> None:
    # A dollar sign would begin a formula: file names may have two of them.
    shown = illegal_seidel()
    figure = draw(shown)
    figure.texts[1].set_text("a$b_c$d")
    assert "a$b_c$d" in svg_text(figure)


def test_plot_takes_a_view() -> None:
    figure = plot(Schedule(grid(4, 6)), View(dimensions=("j",)))
    assert figure.axes[0].get_xlabel() == "j"


@pytest.mark.parametrize("name", ["picture.jpeg", "picture", ".png", "png"])
def test_bad_extension(name: str) -> None:
    with pytest.raises(PlotError, match=f"to '{name}'; expected a name ending in .png, .svg, .pdf"):
        picture_format(Path(name))
    assert picture_format(Path("A.PNG")) == "png"


def test_unwritable_path(tmp_path: Path) -> None:
    figure = draw(illegal_seidel())
    with pytest.raises(PlotError, match="cannot write '.*a.png': No such file or directory"):
        save(figure, tmp_path / "missing" / "a.png")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(PlotError, match="cannot write '.*folder.svg': Is a directory"):
        save(figure, tmp_path / "folder.svg")


def test_matplotlib_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = r"plotting needs matplotlib: pip install matplotlib"
    with pytest.raises(PlotError, match=message):
        plot(Schedule(grid(4, 6)))


LOADED = "print([name in sys.modules for name in ('matplotlib', 'matplotlib.pyplot')])"


def test_matplotlib_is_loaded_only_to_draw_and_pyplot_never() -> None:
    program = f"""
import sys
import polysched.cli.plot, polysched.plot.notebook
{LOADED}
from tests.plot.pictures import legal_grid
from polysched.plot.figure import drawn, svg_text
svg_text(drawn(legal_grid()))
{LOADED}
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[False, False]\n[True, False]\n"
