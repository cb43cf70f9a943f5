from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import KernelError
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32, i64
from polysched.ir.expr.expressions import Load


def test_subscripting_reads_an_element() -> None:
    build = KernelBuilder("k")
    x = build.input("x", i32, (4, 4), values=(0, 9))
    with build.loops(i=4) as i:
        element = x[i, 0]
    assert (str(element), element.dtype) == ("x[i, 0]", i32)
    assert element.values == x.array.values
    assert element.location is not None
    assert Path(element.location.file).name == "test_array_handle.py"


def test_assigning_declares_a_statement() -> None:
    build = KernelBuilder("k")
    y = build.output("y", i64, (4,))
    with build.loops(i=4) as i:
        y[i] = i
    assert [*map(str, build.kernel().statements.values())] == ["y: y[i] = i"]


def test_an_array_cannot_be_iterated_over() -> None:
    y = KernelBuilder("k").output("y", i64, (4,))
    with pytest.raises(KernelError, match="array 'y' cannot be iterated over; subscript it inside"):
        list(y)


@pytest.mark.parametrize(
    "use",
    [
        lambda x, y: y + x,
        lambda x, y: 2 * y,
        lambda x, y: np.float32(2) * y,
        lambda x, y: -y,
        lambda x, y: y < x,
        lambda x, y: y @ y,
        lambda x, y: np.sqrt(y),
    ],
)
def test_no_operation_is_of_whole_arrays(use: Callable[[Load, ArrayHandle], object]) -> None:
    build = KernelBuilder("k")
    y = build.output("y", f32, (4, 4), dimensions="r c")
    with (
        build.loops(i=4, j=4) as (i, j),
        pytest.raises(
            KernelError, match=r"array 'y' cannot stand in an .* elements, y\[r, c\], in"
        ),
    ):
        use(y[i, j], y)


def test_an_array_where_an_element_is_expected() -> None:
    build = KernelBuilder("k")
    y = build.output("y", f32, (4,))
    with (
        build.loops(i=4) as i,
        pytest.raises(KernelError, match=r"^array 'y' of type ArrayHandle cannot .* as A\[i, j\]$"),
    ):
        y[i] = y[i] + y
