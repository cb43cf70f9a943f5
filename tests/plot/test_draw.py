"""What is drawn, looked up among the artists of the figure."""

from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from polysched.plot.draw import draw
from polysched.plot.frame import frame
from polysched.plot.palette import PATH_COLOR, RED
from polysched.plot.picture import Picture, picture
from polysched.plot.view import Color, View
from polysched.schedule.schedule import Schedule
from tests.plot.pictures import (
    illegal_seidel,
    legal_grid,
    one_dimension,
    tiled_grid,
    two_statements,
)
from tests.support.kernels import grid


def axes_of(figure: Figure) -> Axes:
    return figure.axes[0]


def positions(axes: Axes) -> list[tuple[float, float]]:
    scattered = [one for one in axes.collections if isinstance(one, PathCollection)]
    return [tuple(row) for one in scattered for row in one.get_offsets().tolist()]


def arrow_count(axes: Axes) -> int:
    return sum(isinstance(patch, FancyArrowPatch) for patch in axes.patches)


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("make", [legal_grid, tiled_grid, two_statements])
def test_every_dot_and_arrow_is_drawn(make) -> None:
    shown: Picture = make()
    axes, placed = axes_of(draw(shown)), frame(shown)
    expected = sorted(placed.position(dot.statement, dot.place) for dot in shown.dots)
    assert sorted(positions(axes)) == expected
    assert arrow_count(axes) == len(shown.arrows)


def test_the_witness_is_red() -> None:
    shown = illegal_seidel()
    axes = axes_of(draw(shown))
    assert len(positions(axes)) == len(shown.dots) + 2
    assert arrow_count(axes) == len(shown.arrows) + 1
    labels = [text for text in axes.texts if text.get_text() in ("S[0,2]", "S[1,1]")]
    assert [label.get_color() for label in labels] == [RED, RED]


def test_names_of_the_axes() -> None:
    axes = axes_of(draw(illegal_seidel()))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("s", "i")
    axes = axes_of(draw(one_dimension()))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("i", "")
    assert [label.get_text() for label in axes.get_yticklabels()] == ["S"]


def test_dots_are_numbered_in_the_order_of_execution_if_there_is_room() -> None:
    shown = legal_grid()
    assert texts(axes_of(draw(shown))) == [str(rank) for rank in range(24)]
    assert texts(axes_of(draw(replace(shown, color=Color.NONE)))) == []
    assert texts(axes_of(draw(picture(Schedule(grid(40, 40)))))) == []


def test_the_order_has_a_bar_of_its_own() -> None:
    shown = legal_grid()
    assert len(draw(shown).axes) == 2
    assert draw(shown).axes[1].get_ylabel() == "order of execution"
    assert len(draw(replace(shown, color=Color.NONE)).axes) == 1


def test_dots_are_joined_in_the_order_of_execution() -> None:
    shown = two_statements()
    placed = frame(shown)
    (line,) = [line for line in axes_of(draw(shown)).get_lines() if line.get_color() == PATH_COLOR]
    expected = [placed.position(dot.statement, dot.place) for dot in shown.dots]
    assert [tuple(row) for row in line.get_xydata().tolist()] == expected


def legend(shown: Picture) -> list[str]:
    return [text.get_text() for one in draw(shown).legends for text in one.get_texts()]


def test_legend() -> None:
    assert legend(legal_grid()) == []
    assert legend(tiled_grid()) == ["tile io = 0, jo = 0", "tile io = 0, jo = 1"]
    assert legend(illegal_seidel()) == [
        "flow dependence",
        "anti dependence",
        "output dependence",
        "witness",
    ]
    assert legend(two_statements()) == [
        "statement P",
        "statement C",
        "flow dependence",
        "order of execution",
    ]


def test_heading() -> None:
    title, subtitle = draw(illegal_seidel()).texts
    assert (title.get_text(), title.get_color()) == ("seidel: illegal", RED)
    assert subtitle.get_text().startswith("statement S at t = 3, n = 5\nreorder(")


def test_nothing_is_drawn_outside_the_figure() -> None:
    wide = picture(Schedule(grid(60, 50)), View(color=Color.NONE))
    for shown in (illegal_seidel(), two_statements(), tiled_grid(10), one_dimension(), wide):
        figure = draw(shown)
        figure.draw_without_rendering()
        box, paper = figure.get_tightbbox(), figure.get_size_inches()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= paper[0]
        assert box.y1 <= paper[1]


def test_one_instance() -> None:
    shown = picture(Schedule(grid(1, 1)), View(color=Color.ORDER))
    assert positions(axes_of(draw(shown))) == [(0.0, 0.0)]
