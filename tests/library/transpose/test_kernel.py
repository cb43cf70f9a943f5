import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import u16
from polysched.ir.semantics.reference import run_reference
from polysched.library.transpose.kernel import transpose_kernel
from polysched.library.transpose.schedule import IN_CACHE, transpose_schedule
from tests.support.differential import assert_agrees


@pytest.mark.parametrize("order", [(1, 0), (0, 2, 1), (2, 1, 0), (2, 0, 1), (0, 3, 1, 2)])
def test_what_it_computes(order: tuple[int, ...]) -> None:
    kernel = transpose_kernel(order, u16, 4)
    for extents in ((5, 9, 6, 4), (4, 8, 3, 5), (1, 4, 2, 0)):
        shape = extents[: len(order)]
        x = np.arange(np.prod(shape), dtype=np.uint16).reshape(shape)
        sizes = {f"e{axis}": extent for axis, extent in enumerate(shape)}
        made = run_reference(kernel, {"x": x}, sizes)
        np.testing.assert_array_equal(made["y"], x.transpose(order))


@pytest.mark.parametrize("order", [(1, 0), (2, 1, 0), (0, 2, 1)])
def test_scheduled(order: tuple[int, ...]) -> None:
    schedule = transpose_schedule(transpose_kernel(order, u16, 8), 8, IN_CACHE)
    sizes = [
        {f"e{axis}": extent for axis, extent in zip(range(len(order)), extents, strict=False)}
        for extents in ((9, 17, 11), (8, 16, 8), (3, 2, 5), (0, 4, 9))
    ]
    assert_agrees(schedule, *sizes)


@pytest.mark.parametrize("order", [(0,), (0, 1), (1, 0, 2), (1, 1), (2, 1)])
def test_no_order(order: tuple[int, ...]) -> None:
    with pytest.raises(KernelError, match="expected an order of two dimensions or more in which"):
        transpose_kernel(order, u16, 8)


def test_no_tile() -> None:
    with pytest.raises(KernelError, match="transpose: tiles of 0 rows; expected at least 1"):
        transpose_kernel((1, 0), u16, 0)
