import numpy as np
import pytest

from polysched.errors import KernelError, ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.library.extents import extents_of, require_sizes


def copy(parametric: bool = False) -> Kernel:
    build = KernelBuilder("copy")
    n = build.parameter("n") if parametric else 5
    x = build.input("x", f32, (n, 3), dimensions="row column")
    y = build.output("y", f32, (n, 3))
    with build.loops(i=n, j=3) as (i, j), build.statement("S"):
        y[i, j] = x[i, j]
    return build.kernel()


def test_extents_by_name() -> None:
    assert extents_of(copy(), "x", "column row", "copy") == {"row": 5, "column": 3}


@pytest.mark.parametrize(
    ("kernel", "array", "dimensions"),
    [(copy(), "z", "row column"), (copy(), "x", "row"), (copy(parametric=True), "x", "row column")],
)
def test_other_kernels(kernel: Kernel, array: str, dimensions: str) -> None:
    message = (
        f"kernel 'copy' has no array '{array}' with the dimensions {dimensions} of literal sizes; "
        r"expected a kernel of make_copy\(\)"
    )
    with pytest.raises(ScheduleError, match=message):
        extents_of(kernel, array, dimensions, "make_copy")


@pytest.mark.parametrize("size", [-1, 2.0, True, "3", None])
def test_what_is_no_size(size: object) -> None:
    with pytest.raises(KernelError, match=f"blur: rows is {size!r}; expected an integer >= 0"):
        require_sizes("blur", columns=3, rows=size)


def test_sizes() -> None:
    require_sizes("blur", rows=0, columns=np.int64(4))
    with pytest.raises(KernelError, match="blur: rows is 0; expected an integer >= 1"):
        require_sizes("blur", least=1, rows=0)
