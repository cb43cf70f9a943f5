from dataclasses import replace

from polysched.plot.labels import subtitle, tile_label, title
from polysched.plot.picture import picture
from polysched.plot.view import Color, View
from polysched.schedule.schedule import Schedule
from tests.plot.pictures import illegal_seidel, legal_grid, tiled_grid, two_statements
from tests.support.kernels import matmul


def test_title() -> None:
    assert title(legal_grid()) == "grid: legal"
    assert title(illegal_seidel()) == "seidel: illegal"


def test_statements_and_sizes() -> None:
    assert subtitle(legal_grid()) == ("statement S",)
    assert subtitle(two_statements()) == ("statements P, C",)


def test_an_illegal_schedule_is_explained() -> None:
    first, second = subtitle(illegal_seidel())
    assert first == "statement S at t = 3, n = 5"
    assert second.startswith("reorder(order=('i', 's')) breaks a flow dependence on a")


def test_tiles() -> None:
    shown = tiled_grid(3)
    assert subtitle(shown) == ("statement S", "colored by tile (io, jo); 3 in the picture")
    assert tile_label(shown, (0, 2)) == "tile io = 0, jo = 2"


def test_hidden_dimensions() -> None:
    view = View(statements=("update",), dimensions=("l",), at={"i": 1})
    shown = picture(Schedule(matmul(2, 3, 4)), view)
    assert subtitle(shown)[1:] == (
        "only the instances at i = 1",
        "projected along j: a dot is up to 3 instances, colored by the first to run",
    )
    plain = replace(shown, color=Color.NONE, notes=("a note",))
    assert subtitle(plain)[2:] == ("projected along j: a dot is up to 3 instances", "a note")
