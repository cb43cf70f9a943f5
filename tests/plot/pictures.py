"""Pictures of small kernels for the tests of drawing."""

from polysched.plot.picture import Picture, picture
from polysched.plot.view import Color, View
from polysched.schedule.schedule import Schedule
from tests.support.kernels import chain, grid, prefix, seidel


def legal_grid() -> Picture:
    """A grid of 4 x 6 dots without dependences."""
    return picture(Schedule(grid(4, 6)))


def tiled_grid(tiles: int = 2) -> Picture:
    """A row of `tiles` tiles of two by two instances."""
    schedule = Schedule(grid(2, 2 * tiles)).tile(("i", "j"), (2, 2))
    return picture(schedule, View(color=Color.TILE))


def illegal_seidel() -> Picture:
    """A picture of a witness, with dependences of all three kinds."""
    return picture(Schedule(seidel()).reorder("i", "s"), View(sizes={"t": 3, "n": 5}))


def two_statements() -> Picture:
    """Two statements at the same places, joined in the order of execution."""
    fused = Schedule(chain(3, 3)).fuse("P.i", "C.i").fuse("P.j", "C.j")
    return picture(fused, View(has_path=True))


def one_dimension() -> Picture:
    """A recurrence run backwards."""
    return picture(Schedule(prefix()).reverse("i"))
