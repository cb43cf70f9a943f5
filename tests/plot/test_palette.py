from dataclasses import replace

from polysched.plot.palette import PLAIN, colors, is_dark, legend_tiles
from polysched.plot.view import Color
from tests.plot.pictures import legal_grid, tiled_grid


def test_later_dots_are_lighter() -> None:
    shown = colors(legal_grid())
    assert len(set(shown)) == 24
    assert is_dark(shown[0])
    assert not is_dark(shown[-1])


def test_one_color() -> None:
    assert set(colors(replace(legal_grid(), color=Color.NONE))) == {PLAIN}


def test_dots_of_one_tile_have_one_color_of_their_own() -> None:
    shown = tiled_grid(5)
    pairs = {(dot.tile, color) for dot, color in zip(shown.dots, colors(shown), strict=True)}
    assert len(pairs) == 5
    assert len({color for _, color in pairs}) == 5
    assert set(legend_tiles(shown).items()) == pairs


def test_neighboring_tiles_differ_where_there_are_more_than_colors() -> None:
    shown = tiled_grid(30)
    by_tile = dict(zip((dot.tile for dot in shown.dots), colors(shown), strict=True))
    assert len(by_tile) == 30
    assert all(by_tile[0, j] != by_tile[0, j + 1] for j in range(29))
    assert legend_tiles(shown) == {}


def test_no_tiles_in_the_legend_if_colors_tell_the_order() -> None:
    assert legend_tiles(legal_grid()) == {}
