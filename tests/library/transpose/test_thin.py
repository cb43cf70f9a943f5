"""Few columns, split and joined, on machines with and without permutations of bytes."""

from functools import cache

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.inspect.assembly import parse
from polysched.ir.expr.dtypes import DType, u8, u16, u32, u64
from polysched.library.transpose.axes import Movement
from polysched.library.transpose.thin import (
    BlockOrder,
    Thin,
    block_order_of,
    thin_kernel,
    thin_of,
    thin_schedule,
)
from polysched.lower import compile, show
from polysched.machine.load import load_machine
from polysched.runtime.kernel import CompiledKernel
from tests.library.transpose.copies import MACHINES
from tests.library.transpose.fenced import fenced
from tests.support.differential import NO_CACHE, assert_agrees
from tests.support.effort import covering


@cache
def compiled(
    dtype: DType,
    columns: int,
    joins: bool,
    machine: str,
    tile_order: BlockOrder = BlockOrder(),  # noqa: B008
) -> tuple[CompiledKernel, int]:
    """The copy and the fewest rows that it takes."""
    target = load_machine(machine)
    lanes = target.lanes(dtype.bits)
    schedule = thin_schedule(thin_kernel(dtype, columns, lanes, joins=joins), lanes, tile_order)
    return compile(schedule, target, cache=NO_CACHE), lanes


def assert_moves(run: CompiledKernel, columns: int, rows: int, *, joins: bool) -> None:
    """Fail unless three images are moved and nothing outside of the two arrays is touched."""
    element = run.signature.arrays[0].dtype.numpy()
    shape = thin = Thin(3, rows, columns, joins)
    for at_end in (False, True):
        _, x = fenced(thin.source, element, at_end=at_end)
        _, y = fenced(thin.target, element, at_end=at_end)
        x[...] = np.random.default_rng(rows).integers(0, 1 << 63, x.shape).astype(element)
        run(x, y)
        given = x.reshape((3, columns, rows) if joins else (3, rows, columns))
        expected = given.swapaxes(1, 2).reshape(shape.target)
        np.testing.assert_array_equal(y, expected, f"{rows} rows of {columns}")


@covering(
    1,
    joins=[False, True],
    **{"dtype, columns": [(u8, 3), (u8, 16), (u16, 2), (u16, 7), (u32, 4), (u32, 9), (u64, 5)]},
)
def test_types(dtype: DType, columns: int, joins: bool) -> None:
    run, lanes = compiled(dtype, columns, joins, "host")
    for rows in (lanes, lanes + 1, 2 * lanes - 1, 2 * lanes, 5 * lanes + 3):
        assert_moves(run, columns, rows, joins=joins)


@covering(1, machine=[one for one in MACHINES if one != "host"], joins=[False, True])
def test_machines(machine: str, joins: bool) -> None:
    for dtype, columns in ((u8, 3), (u32, 4), (u64, 2)):
        run, lanes = compiled(dtype, columns, joins, machine)
        for rows in (lanes, lanes + 1, 3 * lanes - 1, 4 * lanes):
            assert_moves(run, columns, rows, joins=joins)


@pytest.mark.parametrize(
    "tile_order", [BlockOrder("image"), BlockOrder("block"), BlockOrder("block", streamed=True)]
)
@pytest.mark.parametrize("joins", [False, True])
def test_tile_orders(tile_order: BlockOrder, joins: bool) -> None:
    run, lanes = compiled(u16, 3, joins, "host", tile_order)
    for rows in (lanes, 7 * lanes + 5):
        assert_moves(run, 3, rows, joins=joins)


def test_no_element_is_loaded_by_itself() -> None:
    schedule = thin_schedule(thin_kernel(u8, 3, 64, joins=False), 64, BlockOrder())
    function, *_ = parse(show(schedule, "asm", "znver5"))
    counts = [loop.counts for loop in function.loops if loop.is_innermost and loop.counts.shuffles]
    assert counts
    assert all((one.gathers, one.masked, one.shuffles) == (0, 0, 6) for one in counts)


@pytest.mark.parametrize("joins", [False, True])
def test_scheduled(joins: bool) -> None:
    schedule = thin_schedule(thin_kernel(u16, 3, 8, joins=joins), 8, BlockOrder())
    assert_agrees(schedule, *({"e0": images, "e1": rows} for images, rows in ((1, 8), (2, 19))))


def test_movements() -> None:
    assert thin_of(Movement((50, 3), (1, 0)), 16, 32) == Thin(1, 50, 3, joins=False)
    assert thin_of(Movement((3, 50), (1, 0)), 16, 32) == Thin(1, 50, 3, joins=True)
    assert thin_of(Movement((2, 3, 50), (0, 2, 1)), 16, 32) == Thin(2, 50, 3, joins=True)
    assert thin_of(Movement((50, 16), (1, 0)), 16, 32) == Thin(1, 50, 16, joins=False)
    for few in ((15, 3), (50, 17), (3, 3)):
        assert thin_of(Movement(few, (1, 0)), 16, 32) is None
    assert thin_of(Movement((50, 9), (1, 0)), 16, 16) is None
    assert thin_of(Movement((50, 5), (1, 0)), 4, 32) is None
    assert thin_of(Movement((50, 2, 3), (2, 1, 0)), 16, 32) is None
    assert thin_of(Movement((50,), (0,)), 16, 32) is None


def test_block_order_of_threads_and_caches() -> None:
    thin = Thin(3, 50, 2, joins=False)
    assert block_order_of(thin, 1000, 1, 4000) == BlockOrder()
    assert block_order_of(thin, 2000, 1, 4000) == BlockOrder(streamed=True)
    assert block_order_of(thin, 1000, 3, 4000) == BlockOrder("image")
    assert block_order_of(thin, 1000, 4, 4000) == BlockOrder("block")


@pytest.mark.parametrize(("columns", "lanes"), [(1, 8), (3, 0)])
def test_no_columns(columns: int, lanes: int) -> None:
    with pytest.raises(
        KernelError, match="thin transpose: . columns, . lanes; expected at least 2"
    ):
        thin_kernel(u16, columns, lanes, joins=False)
