"""Which copy makes a movement: numpy's, a plain one, few columns at a time, or tiles."""

from dataclasses import replace

import pytest

from polysched.ir.expr.dtypes import DType, f32, f64, u8
from polysched.library.transpose.axes import simplest
from polysched.library.transpose.compiled import compiled_for, tile_order_for
from polysched.machine.load import load_machine


@pytest.mark.parametrize(
    ("shape", "order", "source"),
    [
        ((40, 50), (1, 0), (40, 50)),  # tiles
        ((40, 50), (0, 1), (2000,)),  # nothing moves
        ((100, 3), (1, 0), (1, 300)),  # few columns
        ((4, 5, 64), (1, 0, 2), (4, 5, 64)),  # rows that stay rows
    ],
)
def test_the_form_in_which_a_copy_takes_the_array(
    shape: tuple[int, ...], order: tuple[int, ...], source: tuple[int, ...]
) -> None:
    made = compiled_for(simplest(shape, order), f32, 1, load_machine())
    assert made is not None
    assert made.source_shape == source
    assert made.is_copy is (order == (0, 1))
    assert not made.kernel.is_threaded


def test_what_is_left_to_numpy() -> None:
    machine = load_machine()
    # A copy that does not fit the second cache, here one of a KiB.
    small = replace(machine, caches=tuple(replace(one, bytes=1024) for one in machine.caches[:2]))
    assert compiled_for(simplest((40, 50), (0, 1)), f32, 1, small) is None


def test_threads_share_what_is_large() -> None:
    made = compiled_for(simplest((1024, 1024), (1, 0)), f32, 2, load_machine())
    assert made is not None
    assert made.kernel.is_threaded


@pytest.mark.parametrize(
    ("shape", "dtype", "rows", "columns"),
    [
        ((1024, 512), f32, 8, 4),
        ((4096, 100), u8, 8, 1),
        ((1024, 512), f64, None, None),  # as many rows as ways
        ((512, 1024), f32, None, None),  # 2 KiB apart: two sets
        ((1024, 60), f32, None, None),  # too narrow
        ((1024, 4096), f32, None, None),  # from memory
    ],
)
def test_tiles_that_overfill_a_set_are_collected(
    shape: tuple[int, ...], dtype: DType, rows: int | None, columns: int | None
) -> None:
    """A way of the preset's first cache holds 4 KiB, a set of it 8 lines."""
    machine = load_machine("skylake-avx512")
    tile_order = tile_order_for(simplest(shape, (1, 0)), dtype, 1, machine)
    assert tile_order.collected is (rows is not None)
    if tile_order.collected:
        assert (tile_order.rows, tile_order.columns) == (rows, columns)
        assert replace(tile_order, threaded=True) == tile_order_for(
            simplest(shape, (1, 0)), dtype, 2, machine
        )
