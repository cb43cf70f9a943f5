"""The loops that a tile is written down as."""

from polysched.ir.core.kernel import Access, Array, Role
from polysched.ir.core.tree import LoopKind, TransposeStrategy
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.expressions import Constant, Index, Load
from polysched.loops.ir.nodes import Allocate, Assign, For, Interleaving, Transposition, walk
from polysched.vector.passes.columns import Column
from polysched.vector.passes.tile_writing import TileWriter

LANES = 8
LANE = Index("lane")


def array(name: str, *shape: int) -> Array:
    extents = tuple(map(Constant, shape))
    return Array(name, f32, extents, Role.OUTPUT, tuple(f"d{at}" for at in range(len(shape))))


def columns(count: int, *, is_dense: bool = False) -> tuple[TileWriter, list[Column]]:
    """Copies of ``y[number, lane] = x[lane, number]``; dense: ``x[count * lane + number]``."""
    x = array("x", count * LANES) if is_dense else array("x", LANES, 100)
    arrays = {"x": x, "y": array("y", count, LANES)}
    made = []
    for number in range(count):
        at = Constant(number)
        place = (LANE * count + number,) if is_dense else (LANE, at)
        assign = Assign("S", (), Access("y", (at, LANE)), Load("x", place, f32))
        ends = Constant(0), Constant(LANES)
        loop = For("lane", "lane", *ends, 1, LoopKind.VECTOR, assign, LANES)
        made.append(Column(None, loop, assign, arrays))
    return TileWriter(arrays), made


def test_rows_are_loaded_before_the_copies_take_columns() -> None:
    writer, copies = columns(4)
    loop = writer.tile(copies, copies[0].loads, None, TransposeStrategy.NETWORK)
    assert list(writer.tiles) == ["tile0.rows", "tile0.columns"]
    assert [one.array for one in walk(loop) if isinstance(one, Allocate)] == list(writer.tiles)
    whole = [one for one in walk(loop) if isinstance(one, Assign)]
    loaded = [one for one in whole if one.statement == "load"]
    assert [str(one.value) for one in loaded] == [
        f"x[{at}, (0 + tile.lane)]" for at in range(LANES)
    ]
    taken = [str(one.value) for one in whole if one.statement == "S"]
    assert taken == [f"tile0.columns[{number}, lane]" for number in range(4)]


def test_a_store_puts_rows_behind_the_copies() -> None:
    writer, copies = columns(4)
    turned = []
    for number, one in enumerate(copies):
        place = Access("x", (LANE, Constant(number)))
        assign = Assign("S", (), place, Load("y", (Constant(number), LANE), f32))
        turned.append(Column(None, one.loop, assign, one.arrays))
    loop = writer.tile(turned, [], turned[0].store, TransposeStrategy.SHUFFLE_1D)
    (node,) = (one for one in walk(loop) if isinstance(one, Transposition))
    assert (node.rows, node.columns) == ("tile0.columns", "tile0.rows")
    assert node.strategy is TransposeStrategy.SHUFFLE_1D
    names = [one.statement for one in walk(loop) if isinstance(one, Assign)]
    assert [*dict.fromkeys(names)] == ["S", "transpose", "store"]


def test_rows_without_gaps_are_whole_vectors() -> None:
    writer, copies = columns(3, is_dense=True)
    loop = writer.tile(copies, copies[0].loads, None, TransposeStrategy.NETWORK)
    (node,) = (one for one in walk(loop) if isinstance(one, Transposition))
    assert node.interleaving is Interleaving.SPLIT
    loaded = [one for one in walk(loop) if isinstance(one, Assign) and one.statement == "load"]
    assert len(loaded) == 3  # vectors, where there are 8 rows


def test_rows_without_gaps_are_transposed_where_that_takes_fewer_shuffles() -> None:
    writer, copies = columns(7, is_dense=True)
    loop = writer.tile(copies, copies[0].loads, None, TransposeStrategy.NETWORK)
    (node,) = (one for one in walk(loop) if isinstance(one, Transposition))
    assert node.interleaving is None
    loaded = [one for one in walk(loop) if isinstance(one, Assign) and one.statement == "load"]
    assert len(loaded) == LANES
